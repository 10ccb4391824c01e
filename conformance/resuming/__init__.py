"""A run that goes on where an earlier one stopped."""
