"""The suite's own test modules: they judge backends, and ship in the wheel."""
