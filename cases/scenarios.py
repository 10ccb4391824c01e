"""Scenarios: what is done with the operands of a case, beyond one plain call.

Only names, conditions and reasons live here, so that planning needs no torch; `conformance.scenarios` carries them out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cases.problem import Problem
from cases.rules import RULES

Kind = Literal["gemm", "layout", "relation", "state", "malformed", "rule"]


def _always(_: Problem) -> str | None:
    return None


@dataclass(frozen=True)
class Scenario:
    """A way of asking for a product.

    ``gemm`` is one plain call. A ``layout`` hands the same operands over in other memory, a ``relation`` compares two
    calls whose results must agree, a ``state`` watches many calls or their surroundings, ``malformed`` operands are to
    be refused, or taken in the one sense that they have, and a ``rule`` spoils one thing in the raw call of one of
    torch's own APIs. ``capability`` is what a
    backend may declare to have or not to have: undeclared, it may refuse. ``needs_gpu`` says that a CPU has nothing
    like it; ``why_not(problem)`` says why a problem has no such scenario, or None. ``shares_scales`` says that the
    operands are not those of a plain call: all rows have the scales of the first one, on both sides. ``meaningless``
    says of malformed operands that there is no product of them at all, so that nothing but a refusal is right.
    ``beside_plain`` says that a plain call is made and another one compared with it: what the plain one owes stays
    owed whatever is declared, and where that is a refusal, there is still something to compare.
    """

    kind: Kind
    name: str
    catches: str
    capability: str = ""
    needs_gpu: bool = False
    why_not: Callable[[Problem], str | None] = _always
    shares_scales: bool = False
    meaningless: bool = False
    beside_plain: bool = False

    @property
    def prefix(self) -> str:
        """How ids begin: ``gemm``, ``layout/a-rows-padded``."""
        return f"{self.kind}/{self.name}" if self.name else self.kind

    @property
    def refuses_by_itself(self) -> bool:
        """Whether a refusal is this scenario's own, and none of the problem that a plain call shows as well."""
        return self.kind in ("malformed", "rule")


def _from(**least: int) -> Callable[[Problem], str | None]:
    """A condition: there is a row, and the sizes named are at least so large."""

    def why_not(problem: Problem) -> str | None:
        for axis, size in {"m": 1, **least}.items():
            actual = getattr(problem, axis)
            if actual < size:
                return f"it needs {axis.upper()} to be {size} at least, and it is {actual}"
        return None

    return why_not


def _of_blocks(why_not: Callable[[Problem], str | None]) -> Callable[[Problem], str | None]:
    """``why_not``, and K has blocks with scales of their own."""

    def condition(problem: Problem) -> str | None:
        if problem.has_whole_scales:
            return f"it is about K blocks, and {problem.recipe} scales have none"
        return why_not(problem)

    return condition


def _of_n_blocks(problem: Problem) -> str | None:
    """There is a row, and more than one scale of B."""
    if problem.recipe == "tensorwise":
        return "it is about N blocks, and tensorwise scales have none"
    return _from()(problem)


STRIDED, OUT, GRAPHS = "strided_operands", "out", "graph_capture"
DETERMINISM, INVARIANCE, COMPILE = "determinism", "batch_invariance", "compile"
OPERAND_CHECKS = "operand_checks"
CAPABILITIES = (STRIDED, OUT, GRAPHS, DETERMINISM, INVARIANCE, COMPILE, OPERAND_CHECKS)
"""What backends may declare in ``capabilities``, as True or False."""

PLAIN = Scenario("gemm", "", "anything wrong in one plain call")
_LAYOUTS = (
    Scenario("layout", "as-row-major", "A scales taken for column-major whatever their strides", STRIDED),
    Scenario(
        "layout", "as-padded", "a leading dimension of the A scales that is ignored, its padding that is read", STRIDED
    ),
    Scenario("layout", "bs-column-major", "B scales taken for row-major whatever their strides", STRIDED),
    Scenario(
        "layout", "bs-padded", "a leading dimension of the B scales that is ignored, its padding that is read", STRIDED
    ),
    Scenario(
        "layout", "as-rows-padded", "the same where A scales are row-major: their other leading dimension", STRIDED
    ),
    Scenario(
        "layout",
        "bs-columns-padded",
        "the same where B scales are column-major: their other leading dimension",
        STRIDED,
    ),
    Scenario("layout", "a-rows-padded", "a leading dimension of A that is ignored, row padding that is read", STRIDED),
    Scenario("layout", "b-rows-padded", "a leading dimension of B that is ignored, row padding that is read", STRIDED),
    Scenario("layout", "a-rows-strided", "rows of A taken for neighbours in memory", STRIDED),
    Scenario("layout", "b-rows-strided", "rows of B taken for neighbours in memory", STRIDED),
    Scenario("layout", "a-column-major", "A taken for row-major whatever its strides", STRIDED),
    Scenario("layout", "b-column-major", "B taken for row-major whatever its strides", STRIDED),
    Scenario("layout", "scales-strided", "scales taken for dense", STRIDED),
    Scenario(
        "layout",
        "scales-expanded",
        "one scale a K block for all rows, expanded with stride 0",
        STRIDED,
        shares_scales=True,
    ),
    Scenario("layout", "offset-16", "a storage offset that is ignored; operands on 16-byte boundaries only", STRIDED),
    Scenario(
        "layout", "offset-1", "operands on any byte, scales on any float: wide loads that round addresses down", STRIDED
    ),
    Scenario("layout", "poison-nan", "bytes around an operand that reach a sum, be it multiplied by zero"),
    Scenario("layout", "poison-inf", "the same, for kernels that wash NaN away"),
    Scenario("layout", "poison-huge", "the same, with the largest finite codes and scales"),
    Scenario("layout", "out-given", "an `out` that is not the one written, or not written in full", OUT),
    Scenario("layout", "out-padded", "an `out` whose leading dimension is ignored, or written between its rows", OUT),
)
_RELATIONS = (
    Scenario("relation", "permute-rows", "a row treated by its place", why_not=_from(m=2)),
    Scenario("relation", "permute-columns", "a column treated by its place inside an N block", why_not=_from(n=2)),
    Scenario("relation", "permute-n-blocks", "an N block treated by its place", why_not=_from(n=256)),
    Scenario(
        "relation", "permute-k-in-groups", "a K lane treated by its place inside a group of 32", why_not=_from(k=2)
    ),
    Scenario("relation", "negate-a", "arithmetic that treats the two signs differently", why_not=_from()),
    Scenario(
        "relation", "negate-lanes", "a sign lost or applied once: lanes of both operands flipped", why_not=_from()
    ),
    Scenario(
        "relation", "move-power-of-two", "a scale whose exponent is lost: 2^e moved from A to B scales", why_not=_from()
    ),
    Scenario("relation", "scale-row", "a row whose result does not follow its scales", why_not=_from()),
    Scenario("relation", "scale-n-block", "an N block whose result does not follow its scales", why_not=_of_n_blocks),
    Scenario(
        "relation", "zero-block", "the scale of a block of zeros that reaches the result", why_not=_of_blocks(_from())
    ),
    Scenario("relation", "append-zero-k", "K blocks of zeros that change the result", why_not=_of_blocks(_from())),
    Scenario("relation", "permute-k-blocks", "a K block treated by its place", why_not=_from(k=256)),
    Scenario("relation", "permute-k", "K lanes treated by their place, across groups", why_not=_from(k=33)),
    Scenario("relation", "split-k-in-two", "a sum over K that two calls do not give", why_not=_of_blocks(_from(k=129))),
)
_STATES = (
    Scenario("state", "repeat", "a race that hits one call in many"),
    Scenario("state", "interleaved", "scratch memory, caches or flags that other products leave behind"),
    Scenario("state", "churn", "memory that is freed before the kernel has read it; results in recycled memory"),
    Scenario("state", "kept-results", "two calls that share the memory of their results"),
    Scenario("state", "same-pointers", "anything cached by address: other data and scales behind the same pointers"),
    Scenario("state", "edited", "anything cached by a part of its contents: one operand differs in its last row alone"),
    Scenario("state", "restrided", "anything cached by shape: a plain call after operands of other strides"),
    Scenario("state", "surroundings", "global flags, default dtype, random numbers or devices that a call changes"),
    Scenario("state", "batch-invariance", "nothing: reports whether a row depends on the number of rows beside it"),
    Scenario("state", "compiled", "a result under torch.compile that is not the eager one", COMPILE),
    Scenario(
        "state", "compiled-autotune", "the same, with every template that max-autotune tries", COMPILE, needs_gpu=True
    ),
    Scenario(
        "state",
        "fake",
        "a fake kernel that says otherwise than the eager one, which torch.compile and torch.export believe",
        COMPILE,
        beside_plain=True,
    ),
    Scenario("state", "second-stream", "work on another stream than the current one", needs_gpu=True),
    Scenario("state", "behind-producer", "operands read before the kernel that makes them is done", needs_gpu=True),
    Scenario(
        "state", "graph-replay", "pointers, flags or scales that a captured graph keeps stale", GRAPHS, needs_gpu=True
    ),
    Scenario("state", "graph-pair", "two products in one graph that share a workspace", GRAPHS, needs_gpu=True),
)
_BLOCKS = _of_blocks(_from(n=129, k=129))
_MALFORMED = (
    Scenario(
        "malformed",
        "unequal-k",
        "K taken from one operand while the other has another",
        OPERAND_CHECKS,
        meaningless=True,
    ),
    Scenario(
        "malformed",
        "as-short",
        "A scales with a K block too few, read past their end",
        OPERAND_CHECKS,
        why_not=_BLOCKS,
        meaningless=True,
    ),
    Scenario(
        "malformed",
        "bs-short",
        "B scales with an N block too few, read past their end",
        OPERAND_CHECKS,
        why_not=_BLOCKS,
        meaningless=True,
    ),
    Scenario(
        "malformed",
        "as-transposed",
        "A scales [kb,M] that are counted and not looked at",
        OPERAND_CHECKS,
        why_not=_BLOCKS,
    ),
    Scenario(
        "malformed",
        "bs-per-column",
        "B scales [N,kb] of which the first N blocks are read",
        OPERAND_CHECKS,
        why_not=_BLOCKS,
    ),
    Scenario("malformed", "scales-int32", "scales of 32-bit integers whose bits are taken for float32", OPERAND_CHECKS),
    Scenario("malformed", "scales-float64", "scales of float64 whose bytes are taken for float32", OPERAND_CHECKS),
    Scenario("malformed", "codes-as-bytes", "FP8 codes in uint8 that are taken for numbers", OPERAND_CHECKS),
)
_RULES = tuple(
    Scenario("rule", rule.name, rule.catches, needs_gpu=rule.needs_gpu, why_not=rule.why_not) for rule in RULES.values()
)
SCENARIOS = {s.prefix: s for s in (PLAIN, *_LAYOUTS, *_RELATIONS, *_STATES, *_MALFORMED, *_RULES)}
"""Every scenario by the way its ids begin."""
