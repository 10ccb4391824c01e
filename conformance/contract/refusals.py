"""The refusals that PyTorch's contract knows: exception type and stable text, each with its source.

Labels follow the contract page (docs/contract.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


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
ROW_STRIDE = Refusal(
    "E8r",
    ("ValueError",),
    r"expected scale_a\.stride\(1\) to be 1",
    "native/Blas.cpp; seen on 2.12.1, 2.13.0 and 2.14.1",
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


V1, V2, EITHER = ("RuntimeError",), ("ValueError",), ("RuntimeError", "ValueError")
"""v1 refuses with TORCH_CHECK, v2 with TORCH_CHECK_VALUE; where a check is shared, or has changed, with one of both."""
SOURCE_V1, SOURCE_V2 = "ScaledBlas.cpp, _scaled_mm_out_cuda", "ScaledBlas.cpp, _scaled_mm_cuda_v2_out"
SOURCE_BLOCKS = "ScaledBlas.cpp, _scaled_block1x128_block128x128"

FAST_ACCUM = Refusal(
    "E3b",
    V1,
    r"scaled_gemm doesn't support fast accum with (128x128|1x128) blockwise scaling",
    "CUDABlas.cpp, get_scale_mode",
)
CUBLAS_HEURISTIC = Refusal(
    "E4",
    V1,
    r"CUBLAS_STATUS_NOT_SUPPORTED when calling `?cublasLtMatmulAlgoGetHeuristic",
    "CUDABlas.cpp, scaled_gemm: no kernel",
)
CUBLAS_MATMUL = Refusal(
    "E4c", V1, r"CUBLAS_STATUS_NOT_SUPPORTED when calling `?cublasLtMatmul\b", "CUDABlas.cpp, scaled_gemm: a pointer"
)
CUBLAS_VALUE = Refusal(
    "E4v", V1, r"CUBLAS_STATUS_(INVALID_VALUE|NOT_SUPPORTED)", "CUDABlas.cpp, scaled_gemm: an output dtype"
)
LAYOUT = Refusal(
    "layout",
    V1,
    r"Only multiplication of row-major and column-major matrices is supported by cuBLASLt",
    "ScaledBlas.cpp, _scaled_gemm",
)
UNEQUAL_V1 = Refusal("unequal", V1, r"mat1 and mat2 shapes cannot be multiplied", SOURCE_V1)
UNEQUAL_V2 = Refusal("unequal", V2, r"mat_a and mat_b shapes cannot be multiplied", "ScaledBlasUtils.cpp; seen on CPUs")
K16_V1 = Refusal("K16", V1, r"Expected trailing dimension of mat1 to be divisible by 16", SOURCE_V1)
K16_V2 = Refusal("K16", V2, r"Expected trailing dimension of mat1 to be divisible by 16", SOURCE_V2)
N16_V1 = Refusal("N16", V1, r"mat2 shape \(\d+x\d+\) must be divisible by 16", SOURCE_V1)
N16_V2 = Refusal("N16", V2, r"mat2 shape \(\d+x\d+\) must be divisible by 16", SOURCE_V2)
TWO_E5M2 = Refusal("e5m2", V2, r"Multiplication of two Float8_e5m2 matrices is not supported", SOURCE_V1)
TWO_E5M2_OLD = Refusal("e5m2", EITHER, TWO_E5M2.pattern, "Blas.cpp, _scaled_mm_out_cuda")
OUT_DTYPE = Refusal("out", V1, r"out_dtype must match output matrix type", SOURCE_V1)
OUT_DTYPE_CPU = Refusal("out", V2, r"out_dtype must match output matrix type", "native/Blas.cpp; seen on CPUs")
BIAS_SIZE_V1 = Refusal("bias", V1, r"Bias must be size \d+ but got \d+", SOURCE_V1)
BIAS_SIZE_V2 = Refusal("bias", V2, r"Bias must be size \d+ but got \d+", "ScaledBlasUtils.cpp; seen on CPUs")
BIAS_DTYPE_V1 = Refusal("bias", V1, r"Bias must be (BFloat16 or Half|BFloat16|Float16|Half)\b", SOURCE_V1)
BIAS_DTYPE_V2 = Refusal("bias", V2, BIAS_DTYPE_V1.pattern, SOURCE_V2)
BIAS_FP32_V1 = Refusal("bias", V1, r"Bias is not supported when out_dtype is set to Float32", SOURCE_V1)
BIAS_FP32_V2 = Refusal("bias", V2, BIAS_FP32_V1.pattern, SOURCE_V2)
SCALE_A_STRIDES = Refusal("sa", V2, r"scale_a must have strides \(1, \d+\)", SOURCE_BLOCKS)
SCALE_B_SHAPE = Refusal("sb", V2, r"scale_b must have shape \d+ x \d+ Float elements, got", SOURCE_BLOCKS)
ROWWISE_SCALE = Refusal("rowwise", V2, r"scale_a must have (shape|\d+ Float elements)", "ScaledBlas.cpp; seen on CPUs")
CPU_SWIZZLE = Refusal("swizzle", V2, r"CPU does not support swizzle", "native/Blas.cpp; seen on CPUs")
CONTRACTION = Refusal("contraction", V2, r"_scaled_mm_v2 only supports contraction_dim=\(1, 0\)", "pytorch#197028")
DEVICE = Refusal("device", V1, r"same device|is on CPU", "the dispatcher's check of devices, or checkAllSameGPU")


@cache
def known_refusals() -> tuple[Refusal, ...]:
    """All refusals of this module, by label."""
    known = [value for value in globals().values() if isinstance(value, Refusal)]
    return tuple(sorted(known, key=lambda refusal: refusal.label))
