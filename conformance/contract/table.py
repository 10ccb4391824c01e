"""What PyTorch promises for scaled FP8, by API, platform and version: the one table that expectations, marks,
the doctor and docs/contract.md are derived from.
"""

from __future__ import annotations

from cases import Problem
from cases.problem import RECIPES, WHOLE_RECIPES
from conformance.contract import refusals
from conformance.contract.promises import Absent, Compute, Promise, RightOrRefused, refuse
from conformance.contract.row import NO_WHOLE_FOUR, ONE_COLUMN, ONE_SCALE_EACH, Row
from conformance.probe import Platform

SM90 = ("sm90",)
SM80 = ("sm70", "sm75", "sm80", "sm86", "sm87")
NEWER = ("sm89", "sm100", "sm103", "sm110", "sm120", "sm121")
GFX942, GFX950 = ("gfx942",), ("gfx950",)
NO_V2 = Absent("torch.nn.functional.scaled_mm came with torch 2.10: upgrade torch, or judge torch-v1")
TENSORWISE = Compute(via="tensor-wise scaling: with one scale on each side v1 cannot tell the recipes apart")

GATE = "ScaledBlasDeviceUtils, scaled_mm_arch_allowed"
SCALE_MODE = "CUDABlas.cpp, get_scale_mode: compiled out before CUDA 12.9"
JOINT = "ScaledBlas.cpp, get_joint_scaling"
H200 = "H200, torch 2.11.0+cu130, cuBLAS 13.1.0.3"
CPUS = "CPU, torch 2.12.1, 2.13.0 and 2.14.1"
V2_ADDED = "pytorch#164141: released with 2.10"
XPU_BLOCKS = "pytorch#173630 and pytorch#176043: released with 2.13"
V1_ALONE = "ScaledBlas.cpp: v1 calls no _check_deepseek_support, so cuBLASLt finds no algorithm (pytorch#166639)"

TABLE: tuple[Row, ...] = (
    # v1, torch._scaled_mm: the recipe is inferred from the scales
    Row("v1", "cuda", refuse(refusals.ARCH), "read", GATE, SM80),
    Row("v1", "cuda", refuse(refusals.OLD_CUDA), "read", SCALE_MODE, SM90 + NEWER, runtime="<12.9"),
    Row(
        "v1",
        "cuda",
        refuse(refusals.SCALING_V1),
        "read",
        "pytorch#164953: until then B scales had to be padded to 4 K blocks, which upstream's are not",
        SM90,
        torch="<2.10",
        problems=NO_WHOLE_FOUR,
    ),
    Row("v1", "cuda", Compute(), "measured", H200, SM90),
    Row("v1", "cuda", refuse(refusals.CUBLAS), "derived", V1_ALONE, NEWER),
    Row("v1", "rocm", TENSORWISE, "derived", JOINT, problems=ONE_SCALE_EACH),
    Row("v1", "rocm", refuse(refusals.OLD_CUDA), "derived", SCALE_MODE),
    Row("v1", "xpu", TENSORWISE, "derived", JOINT, problems=ONE_SCALE_EACH),
    Row("v1", "xpu", refuse(refusals.SCALING_V1), "read", "vllm#41677: no block scales in 2.11", torch="<2.13"),
    Row("v1", "xpu", Compute(), "read", XPU_BLOCKS),
    Row("v1", "cpu", TENSORWISE, "measured", CPUS, problems=ONE_SCALE_EACH),
    Row("v1", "cpu", refuse(refusals.CPU_TENSORWISE_ONLY), "measured", "CPU, torch 2.11.0", torch="<2.12"),
    # One column has scales [M,1] and [1,1], which are taken for row-wise ones.
    Row("v1", "cpu", refuse(refusals.ROW_STRIDE), "measured", CPUS, problems=ONE_COLUMN),
    Row("v1", "cpu", refuse(refusals.CPU_SCALING), "measured", CPUS),
    Row("v1", "cpu", Compute(), "measured", CPUS, torch=">=2.12", recipes=WHOLE_RECIPES),
    Row("v1", "cpu", Compute(), "read", "pytorch#139975: released with 2.8", torch=">=2.8", recipes=("tensorwise",)),
    Row(
        "v1",
        "cpu",
        refuse(refusals.CPU_TENSORWISE_ONLY),
        "derived",
        "native/mkldnn/Linear.cpp",
        torch=">=2.8,<2.12",
        recipes=("rowwise",),
    ),
    Row("v1", "mps", refuse(refusals.NO_KERNEL), "read", "native_functions.yaml: no MPS kernel of _scaled_mm"),
    # v2, torch.nn.functional.scaled_mm: the recipe is told
    *(
        Row("v2", kind, NO_V2, "read", V2_ADDED, torch="<2.10", recipes=RECIPES)
        for kind in ("cuda", "rocm", "xpu", "cpu", "mps")
    ),
    Row("v2", "cuda", refuse(refusals.ARCH), "read", GATE, SM80),
    Row("v2", "cuda", refuse(refusals.OLD_CUBLAS), "read", "pytorch#166639", SM90, runtime="<12.9"),
    Row("v2", "cuda", Compute(), "measured", H200, SM90),
    Row("v2", "cuda", refuse(refusals.SM90_ONLY), "read", "pytorch#166639", NEWER),
    Row("v2", "rocm", refuse(refusals.SCALING_V2), "read", "pytorch#176855: MI300X, torch 2.12", GFX942),
    Row("v2", "rocm", refuse(refusals.ROCM), "read", "pytorch#166639", GFX950),
    Row("v2", "xpu", refuse(refusals.SCALING_V2), "read", "vllm#41677: no block scales in 2.11", torch="<2.13"),
    Row("v2", "xpu", Compute(), "read", XPU_BLOCKS),
    Row(
        "v2",
        "cpu",
        refuse(refusals.NO_KERNEL),
        "measured",
        "CPU, torch 2.11.0; pytorch#170670",
        torch="<2.12",
        recipes=RECIPES,
    ),
    Row("v2", "cpu", Compute(), "measured", CPUS, recipes=WHOLE_RECIPES),
    Row("v2", "cpu", refuse(refusals.CPU_SCALING), "measured", CPUS),
    Row("v2", "mps", refuse(refusals.NO_KERNEL), "read", "pytorch#196916: released with 2.15", torch="<2.15"),
    Row("v2", "mps", refuse(refusals.MPS_V2), "read", "pytorch#196916"),
)
"""Read from the top: the first line that applies decides."""


def row_for(api: str, platform: Platform, problem: Problem) -> Row | None:
    """The line that decides what ``api`` ("v1" or "v2") owes for ``problem`` on ``platform``; None where none does."""
    return next((row for row in TABLE if row.applies(api, platform, problem)), None)


def promise_of(api: str, platform: Platform, problem: Problem) -> Promise:
    """What ``api`` ("v1" or "v2") promises for ``problem`` on ``platform``; nothing is known where no line applies."""
    row = row_for(api, platform, problem)
    return row.promise if row else RightOrRefused()
