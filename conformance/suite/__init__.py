"""The suite's own test modules: they judge backends, and ship in the wheel."""

from conformance.siblings import claim_siblings

# A module that is named by its path is imported before the plugin is asked anything.
claim_siblings()
