"""What is right: FP8 formats, quantisers, the reference matmul, the exact oracle, its bounds, the SM90 bit model."""

from reference.arithmetic import ARITHMETICS, SM90, Arithmetic
from reference.bound import Expectation, error_bound, expect
from reference.emulate import emulate_block_scaled_mm
from reference.formats import FORMATS, Format, clamping_cast, decode, format_of
from reference.native import native_w8a8_block_matmul
from reference.oracle import exact_block_matmul
from reference.quantise import per_block_quant_fp8, per_token_group_quant_fp8
from reference.rounding import round_to
from reference.splitk import Fit, infer_split_k

__all__ = [
    "ARITHMETICS",
    "FORMATS",
    "SM90",
    "Arithmetic",
    "Expectation",
    "Fit",
    "Format",
    "clamping_cast",
    "decode",
    "emulate_block_scaled_mm",
    "error_bound",
    "exact_block_matmul",
    "expect",
    "format_of",
    "infer_split_k",
    "native_w8a8_block_matmul",
    "per_block_quant_fp8",
    "per_token_group_quant_fp8",
    "round_to",
]
