"""A plan shared out over several machines, and their reports joined again."""
