"""Loads the suite's plugin in a checkout that is not installed; an installed one is loaded by its entry point."""

pytest_plugins = ["conformance.plugin", "pytester"]
