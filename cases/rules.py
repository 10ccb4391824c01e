"""Rules of torch's own APIs: how one raw call is spoiled, and what a violation would let through.

Names, APIs and sizes alone; `conformance.scenarios.rules` spoils the call, `conformance.contract.rules` says what is
owed.
"""

from __future__ import annotations

from dataclasses import dataclass

from cases.problem import RECIPES, Problem

BOTH = ("v1", "v2")


@dataclass(frozen=True)
class Rule:
    """One thing that is changed in a call which is right for its API, and what is caught by that.

    ``formats`` are those of A and B, ``outs`` the output dtypes that it is tried with. ``sizes`` says what else the
    problem has to be: ``empty`` has no rows, ``ragged`` a last K block that is not whole, ``unpadded`` K blocks in a
    number that is no multiple of 4, ``square`` as many rows as columns.
    """

    name: str
    catches: str
    apis: tuple[str, ...] = BOTH
    formats: tuple[str, str] = ("e4m3fn", "e4m3fn")
    outs: tuple[str, ...] = ("bf16", "fp16")
    sizes: str = ""
    needs_gpu: bool = False

    def why_not(self, problem: Problem) -> str | None:
        """Why ``problem`` cannot show it, or None."""
        if problem.recipe != RECIPES[0] or (problem.a, problem.b) != self.formats:
            return f"it is about {RECIPES[0]} with {' and '.join(self.formats)}"
        if problem.out not in self.outs:
            return f"it is about results in {' and '.join(self.outs)}"
        if problem.m % 4 or problem.n % 16 or problem.k % 16 or problem.n_blocks < 2 or problem.k_blocks < 2:
            return "all but what is spoiled is in order: M a multiple of 4, N and K of 16, and above 128"
        if (problem.m == 0) != (self.sizes == "empty") or 0 < problem.m < 8:
            return "it needs M to be 0" if self.sizes == "empty" else "it needs M to be 8 at least"
        return self._misfit(problem)

    def _misfit(self, problem: Problem) -> str | None:
        """How the sizes are not those that it is about, or None."""
        if self.sizes == "ragged":
            return None if problem.k % 128 else "it needs a last K block that is not whole"
        if (self.sizes == "unpadded") != (problem.k_blocks % 4 != 0):
            return f"it needs K blocks in {'no' if self.sizes == 'unpadded' else 'a'} multiple of 4"
        square = problem.m == problem.n
        return None if square == (self.sizes == "square") else f"it needs M {'not ' * square}to be N"


_E5M2 = "e5m2"
_RULES = (
    # Sizes
    Rule("m-unpadded", "M that is no multiple of 4, which cuBLASLt has no kernel for"),
    Rule("n-unaligned", "N that is no multiple of 16"),
    Rule("k-unaligned", "K that is no multiple of 16"),
    Rule("k-unequal", "K of one operand that is not that of the other"),
    Rule("k-ragged", "nothing: K that is no multiple of 128 is right", sizes="ragged", apis=("v2",)),
    Rule("m-zero", "a product without rows", sizes="empty"),
    Rule("n-zero", "a product without columns"),
    Rule("k-zero", "a product of nothing, which is zero"),
    # Scales
    Rule("as-row-major", "A scales whose strides are not looked at"),
    Rule("as-rows-padded", "a leading dimension of the A scales that is not M"),
    Rule("bs-untransposed", "B scales [nb, kb] that are taken for [kb, nb]"),
    Rule("bs-padded", "K blocks of the B scales padded to 4 where none may be", sizes="unpadded", apis=("v1",)),
    Rule("bs-unpadded", "K blocks of the B scales that have to be padded to 4", sizes="unpadded", apis=("v2",)),
    Rule("padding-nan", "NaN in the padding of the B scales that is read", sizes="unpadded", apis=("v2",)),
    Rule("padding-inf", "infinity in the padding of the B scales that is read", sizes="unpadded", apis=("v2",)),
    Rule("scales-fp16", "scales of float16"),
    Rule("scales-bf16", "scales of bfloat16"),
    Rule("scales-fp64", "scales of float64"),
    Rule("scales-e8m0", "scales of float8_e8m0fnu, which belong to blocks of 32"),
    Rule("scale-on-cpu", "A scales in the memory of the host", needs_gpu=True),
    # Recipes
    Rule("recipe-blocks-twice", "128x128 scales on both sides, which no library has"),
    Rule("recipe-rowwise", "block scales that are announced as one a row", apis=("v2",)),
    Rule("swizzled", "scales that are announced as swizzled and are not", apis=("v2",)),
    Rule("contraction-unequal", "contracted dimensions of unequal size", apis=("v2",)),
    Rule("contraction-ignored", "contracted dimensions that are told and not used", apis=("v2",), sizes="square"),
    # Dtypes
    Rule("a-e5m2", "A in float8_e5m2", formats=(_E5M2, "e4m3fn")),
    Rule("both-e5m2", "both operands in float8_e5m2", formats=(_E5M2, _E5M2)),
    Rule("out-fp8", "a result in float8_e4m3fn"),
    Rule("out-none", "no output dtype, which is that of A"),
    Rule("out-fp64", "a result in float64"),
    Rule("out-given", "nothing: `out` is written and returned", apis=("v1",)),
    Rule("out-of-other-dtype", "an `out` that has another dtype than asked for", apis=("v1",)),
    # Epilogue
    Rule("bias-right", "nothing: a bias of the output dtype is added"),
    Rule("bias-fp32", "a bias of float32"),
    Rule("bias-of-other-dtype", "a bias of float16 to bfloat16, or the other way round"),
    Rule("bias-to-fp32", "a bias to a result in float32", outs=("fp32", "fp32")),
    Rule("bias-short", "a bias with an element too few"),
    Rule("fast-accum", "fast accumulation, which block scales do not have"),
    # Layouts of A and B
    Rule("a-rows-padded", "nothing: a leading dimension of A above K is right"),
    Rule("b-rows-padded", "nothing: a leading dimension of B above K is right"),
    Rule("a-column-major", "A that is column-major"),
    Rule("b-row-major", "B [K, N] that is row-major"),
    Rule("a-offset-8", "A that starts 8 bytes behind a boundary of 16"),
)
RULES = {rule.name: rule for rule in _RULES}
"""Every rule by the name in its ids."""
