"""The refusals that PyTorch's contract knows: exception type and stable text, each with its source.

Labels follow the contract page (docs/contract.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """A refusal with this ``label``: an exception named in ``types`` whose text matches ``pattern``."""

    label: str
    types: tuple[str, ...]
    pattern: str
    source: str

    def matches(self, error: BaseException) -> bool:
        """Whether ``error`` is this refusal: a class of ``types`` itself, not a subclass, and the text in it."""
        return type(error).__name__ in self.types and re.search(self.pattern, str(error), re.DOTALL) is not None

    def __str__(self) -> str:
        return f"{' or '.join(self.types)} matching {self.pattern!r} ({self.label})"


SCALING_V1 = Refusal("E0", ("RuntimeError",), r"^Invalid scaling configuration\.", "ScaledBlas.cpp, get_joint_scaling")
SCALING_V2 = Refusal("E5", ("ValueError",), r"^Invalid scaling configuration", "pytorch#176855")
SM90_ONLY = Refusal(
    "E1",
    ("NotImplementedError",),
    r"DeepSeek.*scaling.*only supported in CUDA for SM90",
    "pytorch#166639",
)
OLD_CUBLAS = Refusal("E2", ("NotImplementedError",), r"DeepSeek.*scaling requires cublasLt >= 12\.9", "pytorch#166639")
OLD_CUDA = Refusal(
    "E3",
    ("RuntimeError",),
    r"scaled_gemm with (128x128|1x128) blockwise scaling is only supported for CUDA 12\.9 and above",
    "CUDABlas.cpp, get_scale_mode",
)
CUBLAS = Refusal("E4", ("RuntimeError",), r"CUBLAS_STATUS_NOT_SUPPORTED", "CUDABlas.cpp, scaled_gemm")
ROCM = Refusal("E6", ("NotImplementedError",), r"1x128 and 128x128 scaling not available with ROCm", "pytorch#166639")
CPU_SCALING = Refusal(
    "E8",
    ("ValueError",),
    r"^Invalid scaling configuration\..*TensorWise scaling.*RowWise scaling",
    "native/Blas.cpp; seen on 2.13.0 and 2.14.1",
)
CPU_TENSORWISE_ONLY = Refusal(
    "E8a",
    ("RuntimeError",),
    r"Now _scaled_mm only supports per-tensor scaling",
    "native/mkldnn/Linear.cpp, an internal assertion; seen on 2.11.0",
)
MPS_V2 = Refusal("E9", ("ValueError",), r"MPS _scaled_mm_v2 only supports TensorWise or RowWise", "pytorch#196916")
NO_KERNEL = Refusal(
    "no-kernel",
    ("NotImplementedError",),
    r"(Could not run|not currently implemented for|is not implemented for)",
    "the dispatcher's answer where an operator has no kernel for a device",
)
ARCH = Refusal(
    "arch",
    ("RuntimeError", "NotImplementedError"),
    r"_scaled_mm.* is only supported on CUDA devices with compute capability",
    "ScaledBlasDeviceUtils, scaled_mm_arch_allowed",
)
