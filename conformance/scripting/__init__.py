"""A case as a script of under 40 lines that takes torch alone: what a bug report upstream can be made of."""
