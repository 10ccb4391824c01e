"""Reports and comparisons as pages: one self-contained file each, readable without a network. Needs no torch."""
