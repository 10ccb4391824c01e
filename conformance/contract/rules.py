"""What is owed where one thing in a raw call of torch's own APIs is spoiled: rules by API, platform and version.

The lines of CUDA speak of Hopper, where a plain call computes. Where it is refused, that check may come first.
"""

from __future__ import annotations

from dataclasses import dataclass

from cases import Problem
from cases.rules import RULES
from conformance.contract import refusals
from conformance.contract.promises import Absent, Compute, Promise, Refuse, RightOrRefused, refuse
from conformance.contract.row import Api, Evidence
from conformance.contract.table import CPUS, H200, promise_of
from conformance.probe import Platform
from conformance.versions import in_range


@dataclass(frozen=True)
class RuleRow:
    """One line of the table: the rules, where it applies, what is promised there, and how we know."""

    rules: tuple[str, ...]
    api: Api
    kind: str
    promise: Promise
    evidence: Evidence
    source: str
    torch: str = ""

    def applies(self, rule: str, api: str, platform: Platform) -> bool:
        """Whether this line speaks of ``rule`` in a call of ``api`` on ``platform``."""
        here = (self.api, self.kind) == (api, platform.kind) and rule in self.rules
        return here and in_range(platform.torch_version, self.torch)


SCALE_DTYPES = ("scales-fp16", "scales-bf16", "scales-fp64")
EMPTY = ("m-zero", "n-zero", "k-zero")
OUTS = ("out-fp8", "out-none", "out-fp64")
BIASES = ("bias-fp32", "bias-of-other-dtype")
RIGHT = ("bias-right", "a-rows-padded")

TABLE: tuple[RuleRow, ...] = (
    # v1 on Hopper
    RuleRow(("m-unpadded",), "v1", "cuda", refuse(refusals.CUBLAS_HEURISTIC), "measured", H200),
    RuleRow(("n-unaligned",), "v1", "cuda", refuse(refusals.N16_V1), "measured", H200),
    RuleRow(("k-unaligned",), "v1", "cuda", refuse(refusals.K16_V1), "measured", H200),
    RuleRow(("k-unequal",), "v1", "cuda", refuse(refusals.UNEQUAL_V1), "measured", H200),
    RuleRow(("m-zero",), "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200),
    RuleRow(("n-zero",), "v1", "cuda", Compute(), "measured", H200, torch="==2.11.*"),
    RuleRow(("k-zero",), "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200, torch="==2.11.*"),
    RuleRow(("n-zero", "k-zero"), "v1", "cuda", RightOrRefused(), "assumed", "seen with torch 2.11 alone"),
    RuleRow(("as-row-major", "as-rows-padded"), "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200),
    RuleRow(("bs-untransposed",), "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200),
    # 2.9 asks for the padding that later ones refuse: pytorch#164953.
    RuleRow(("bs-padded",), "v1", "cuda", RightOrRefused(), "read", "pytorch#164953", torch="<2.10"),
    RuleRow(("bs-padded",), "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200),
    RuleRow(SCALE_DTYPES, "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200),
    RuleRow(("scales-e8m0",), "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200),
    RuleRow(("recipe-blocks-twice",), "v1", "cuda", refuse(refusals.SCALING_V1), "measured", H200),
    RuleRow(("scale-on-cpu",), "v1", "cuda", refuse(refusals.DEVICE), "measured", H200),
    RuleRow(("a-e5m2", *RIGHT), "v1", "cuda", Compute(), "measured", H200),
    RuleRow(("both-e5m2",), "v1", "cuda", refuse(refusals.TWO_E5M2_OLD), "measured", H200),
    RuleRow(OUTS, "v1", "cuda", refuse(refusals.CUBLAS_VALUE), "measured", H200),
    RuleRow(("out-given",), "v1", "cuda", Compute(), "measured", H200),
    RuleRow(("out-of-other-dtype",), "v1", "cuda", refuse(refusals.OUT_DTYPE), "measured", H200),
    RuleRow(BIASES, "v1", "cuda", refuse(refusals.BIAS_DTYPE_V1), "measured", H200),
    RuleRow(("bias-to-fp32",), "v1", "cuda", refuse(refusals.BIAS_FP32_V1), "measured", H200),
    RuleRow(("bias-short",), "v1", "cuda", refuse(refusals.BIAS_SIZE_V1), "measured", H200),
    RuleRow(("fast-accum",), "v1", "cuda", refuse(refusals.FAST_ACCUM), "measured", H200),
    RuleRow(("b-rows-padded",), "v1", "cuda", Compute(), "measured", H200),
    RuleRow(("a-column-major", "b-row-major"), "v1", "cuda", refuse(refusals.LAYOUT), "measured", H200),
    RuleRow(("a-offset-8",), "v1", "cuda", refuse(refusals.CUBLAS_MATMUL), "measured", H200),
    # v2 on Hopper
    RuleRow(("m-unpadded",), "v2", "cuda", refuse(refusals.CUBLAS_HEURISTIC), "measured", H200),
    RuleRow(("n-unaligned",), "v2", "cuda", refuse(refusals.N16_V2), "measured", H200),
    RuleRow(("k-unaligned",), "v2", "cuda", refuse(refusals.K16_V2), "measured", H200),
    RuleRow(("k-unequal",), "v2", "cuda", refuse(refusals.UNEQUAL_V2), "measured", H200),
    RuleRow(("k-ragged", "padding-nan", "padding-inf", *RIGHT), "v2", "cuda", Compute(), "measured", H200),
    RuleRow(EMPTY, "v2", "cuda", Compute(), "measured", H200),
    RuleRow(("as-row-major", "as-rows-padded"), "v2", "cuda", refuse(refusals.SCALE_A_STRIDES), "measured", H200),
    RuleRow(("bs-untransposed", "bs-unpadded"), "v2", "cuda", refuse(refusals.SCALE_B_SHAPE), "measured", H200),
    RuleRow((*SCALE_DTYPES, "scales-e8m0"), "v2", "cuda", refuse(refusals.SCALING_V2), "measured", H200),
    RuleRow(("scale-on-cpu",), "v2", "cuda", refuse(refusals.DEVICE), "measured", H200),
    RuleRow(("recipe-blocks-twice",), "v2", "cuda", refuse(refusals.SCALING_V2), "measured", H200),
    RuleRow(("recipe-rowwise",), "v2", "cuda", refuse(refusals.SCALING_V2, refusals.ROWWISE_SCALE), "measured", H200),
    RuleRow(("swizzled",), "v2", "cuda", Compute(), "measured", H200),
    RuleRow(("contraction-unequal",), "v2", "cuda", refuse(refusals.UNEQUAL_V2), "measured", H200, torch="<2.15"),
    RuleRow(("contraction-ignored",), "v2", "cuda", Compute(), "measured", H200, torch="<2.15"),
    RuleRow(
        ("contraction-unequal", "contraction-ignored"),
        "v2",
        "cuda",
        refuse(refusals.CONTRACTION),
        "read",
        "pytorch#197028",
    ),
    RuleRow(("a-e5m2",), "v2", "cuda", refuse(refusals.SCALING_V2), "measured", H200),
    RuleRow(("both-e5m2",), "v2", "cuda", refuse(refusals.TWO_E5M2), "measured", H200),
    RuleRow(OUTS, "v2", "cuda", refuse(refusals.CUBLAS_VALUE), "measured", H200),
    RuleRow(BIASES, "v2", "cuda", refuse(refusals.BIAS_DTYPE_V2), "measured", H200),
    RuleRow(("bias-to-fp32",), "v2", "cuda", refuse(refusals.BIAS_FP32_V2), "measured", H200),
    RuleRow(("bias-short",), "v2", "cuda", refuse(refusals.BIAS_SIZE_V2), "measured", H200),
    RuleRow(("fast-accum",), "v2", "cuda", refuse(refusals.FAST_ACCUM), "measured", H200),
    RuleRow(("b-rows-padded",), "v2", "cuda", Compute(), "measured", H200),
    RuleRow(("a-column-major", "b-row-major"), "v2", "cuda", refuse(refusals.LAYOUT), "measured", H200),
    RuleRow(("a-offset-8",), "v2", "cuda", refuse(refusals.CUBLAS_MATMUL), "measured", H200),
    # CPUs refuse block scales before they look at anything else, with these exceptions
    RuleRow(("out-of-other-dtype",), "v1", "cpu", refuse(refusals.OUT_DTYPE_CPU), "measured", CPUS, torch=">=2.12"),
    RuleRow(("k-unequal",), "v2", "cpu", refuse(refusals.UNEQUAL_V2), "measured", CPUS, torch=">=2.12"),
    RuleRow(EMPTY, "v2", "cpu", Compute(), "measured", CPUS, torch=">=2.12"),
    RuleRow(("recipe-rowwise",), "v2", "cpu", refuse(refusals.ROWWISE_SCALE), "measured", CPUS, torch=">=2.12"),
    RuleRow(("recipe-blocks-twice",), "v2", "cpu", refuse(refusals.SCALING_V2), "measured", CPUS, torch=">=2.12"),
    RuleRow(("swizzled",), "v2", "cpu", refuse(refusals.CPU_SWIZZLE), "measured", CPUS, torch=">=2.12"),
    RuleRow(("contraction-unequal",), "v2", "cpu", refuse(refusals.UNEQUAL_V2), "measured", CPUS, torch=">=2.12,<2.15"),
    RuleRow(("bias-short",), "v2", "cpu", refuse(refusals.BIAS_SIZE_V2), "measured", CPUS, torch=">=2.12"),
)
"""The first line that applies decides."""


def promise_of_rule(rule: str, api: str, platform: Platform, problem: Problem) -> Promise:
    """What ``api`` promises for a call for ``problem`` on ``platform`` that ``rule`` has spoiled."""
    plain = promise_of(api, platform, problem)
    if isinstance(plain, Absent):
        return plain
    if api not in RULES[rule].apis or (RULES[rule].needs_gpu and platform.kind == "cpu"):
        return Absent(f"rule/{rule} has no sense for {api} on {platform.kind}")
    row = next((row for row in TABLE if row.applies(rule, api, platform)), None)
    if row is not None:
        return row.promise if platform.kind == "cpu" else _either(row.promise, plain, rule)
    return _without_line(platform, plain, rule)


def _either(own: Promise, plain: Promise, rule: str) -> Promise:
    """What is owed where the check that refuses a plain call may come before or behind that of a rule."""
    if not isinstance(plain, Refuse):
        return own if isinstance(plain, Compute) else _unknown(rule)
    if isinstance(own, Refuse):
        return Refuse(tuple(dict.fromkeys((*own.refusals, *plain.refusals))))
    return plain if isinstance(own, Compute) and rule not in EMPTY else RightOrRefused()


def _without_line(platform: Platform, plain: Promise, rule: str) -> Promise:
    """What is owed of a rule that the table says nothing of."""
    if platform.kind == "cpu" and in_range(platform.torch_version, ">=2.12"):
        return plain
    # What ROCm, Intel and Apple check first has not been seen.
    return Refuse() if isinstance(plain, Refuse) and rule not in EMPTY else _unknown(rule)


def _unknown(rule: str) -> Promise:
    """What is owed where nobody has looked: a result of another dtype than any case has cannot even be judged."""
    if rule in OUTS or rule == "out-of-other-dtype":
        return Absent(f"nothing is known of rule/{rule} here")
    return RightOrRefused()
