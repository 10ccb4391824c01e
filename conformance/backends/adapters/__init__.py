"""Kernels of other packages as backends: thin, and silent until they are asked."""
