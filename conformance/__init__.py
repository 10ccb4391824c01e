"""A conformance suite for block-scaled FP8 matmul: judges torch._scaled_mm and any other backend.

Importing this, or `conformance.plugin`, needs no torch.
"""

__version__ = "0.1.0"
