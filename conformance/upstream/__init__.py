"""Upstream's choice among kernels for block-scaled FP8, as far as it decides when torch's is called."""
