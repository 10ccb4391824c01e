"""The claims about a kernel that a report has evidence for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cases import Problem
from cases.problem import OPERAND_FORMATS, OUT_DTYPES
from cases.scenarios import COMPILE, DETERMINISM, GRAPHS, INVARIANCE, OPERAND_CHECKS, OUT, STRIDED
from conformance.capabilities.table import AXES, TABLE, ZERO_SIZES
from conformance.statement.claim import Claim, Said
from conformance.statement.declaration import Declaration
from conformance.statement.evidence import Tried

BEYOND = "asked for beyond its "
"""How the claim begins that what a declaration leaves out is refused."""
ASKED = (STRIDED, OUT, GRAPHS, COMPILE)
"""Capabilities that scenarios ask for, so that a refusal answers."""
SEEN = (DETERMINISM, INVARIANCE)
"""Capabilities that are seen in the bits of results."""


def claims_of(declared: Declaration, tried: Sequence[Tried]) -> tuple[Claim, ...]:
    """Everything that can be said of a kernel that ``declared`` this and was ``tried`` so."""
    return (
        Claim.of("right or refused, in every case", "owed", tried, refuses=True),
        *_of_problems(declared, tried),
        *_of_capabilities(declared, tried),
        *_of_arithmetic(declared, tried),
        *_of_rest(tried),
    )


def _of_problems(declared: Declaration, tried: Sequence[Tried]) -> Iterator[Claim]:
    """Recipes, dtypes and sizes, by the plain calls that have them."""
    said, dtypes = declared.capabilities, declared.capabilities.dtypes
    plain = [(each, each.case.problem) for each in tried if each.case is not None and each.is_plain]
    for recipe in declared.recipes:
        yield Claim.of(f"recipe {recipe}", "declared", [each for each, p in plain if p.recipe == recipe])
    for out in OUT_DTYPES:
        yield Claim.of(
            f"result {out}", _word(out, dtypes, list(OUT_DTYPES)), [each for each, p in plain if p.out == out]
        )
    for name in OPERAND_FORMATS:
        of_format = [each for each, p in plain if name in (p.a, p.b)]
        if of_format or name in dtypes:
            yield Claim.of(f"operands {name}", _word(name, dtypes, OPERAND_FORMATS), of_format)
    for axis, step in said.divisible.items():
        fitting = [each for each, p in plain if _shows_step(_size(p, axis), axis, step)]
        yield Claim.of(f"{axis.upper()} in multiples of {step}", "declared", fitting)
    for axis, most in said.largest.items():
        within = [(each, _size(p, axis)) for each, p in plain if _size(p, axis) <= most]
        note = f"the largest tried is {max((size for _, size in within), default=0)}"
        name = axis.upper() if axis in AXES else "M x N x K"
        yield Claim.of(f"{name} up to {most}", "declared", [each for each, _ in within], note)
    if said.get(ZERO_SIZES) is not False:
        yield Claim.of("M = 0", _flag(declared, ZERO_SIZES), [each for each, p in plain if p.m == 0])


def _shows_step(size: int, axis: str, step: int) -> bool:
    """Whether a size shows that multiples of ``step`` are there. Every N and K in 16s is owed by all, so others do."""
    is_more = axis != "m" and step % 16 != 0
    return size % step == 0 and not (is_more and size % 16 == 0)


def _size(problem: Problem, axis: str) -> int:
    size: int = getattr(problem, axis)
    return size


def _word(name: str, dtypes: Sequence[str], kind: Sequence[str]) -> Said:
    if not any(each in kind for each in dtypes):
        return "not limited"
    return "declared" if name in dtypes else "declined"


def _flag(declared: Declaration, name: str) -> Said:
    flag = declared.capabilities.get(name)
    return "not declared" if flag is None else "declared" if flag else "declined"


def _of_capabilities(declared: Declaration, tried: Sequence[Tried]) -> Iterator[Claim]:
    """What goes beyond plain calls, and what is left out."""
    for name in ASKED:
        if declared.capabilities.get(name) is not False:
            asked = [each for each in tried if each.case and each.case.scenario.capability == name]
            yield Claim.of(TABLE[name].words, _flag(declared, name), asked)
    for name in SEEN:
        yield _seen(name, declared, tried)
    malformed = [each for each in tried if each.case and each.case.scenario.capability == OPERAND_CHECKS]
    said: Said = "declined" if declared.capabilities.get(OPERAND_CHECKS) is False else "owed"
    yield Claim.of("malformed operands refused", said, malformed, refuses=True)
    undeclared = [name for name in ASKED if declared.capabilities.get(name) is not False]
    for name in dict.fromkeys(name for each in tried for name in each.declined if name not in undeclared):
        beyond = [each for each in tried if name in each.declined]
        yield Claim.of(f"{BEYOND}{TABLE[name].words if name in TABLE else name}", "declined", beyond)


def _seen(name: str, declared: Declaration, tried: Sequence[Tried]) -> Claim:
    """Whether a property shows in every result that was compared for it."""
    compared = [each for each in tried if _compares(each, name)]
    claim = Claim.of(TABLE[name].words, _flag(declared, name), compared)
    apart = sum(each.line.get("holds") is False for each in compared)
    if not apart or claim.evidence.count("wrong"):
        return claim
    return replace(claim, found="holds in part", note=f"{apart} of them with other bits")


def _compares(each: Tried, name: str) -> bool:
    """Whether the bits of equal calls, or of the rows of several batches, were compared there."""
    if each.case is None or each.case.scenario.kind != "state" or each.case.scenario.capability:
        return False
    is_batch = each.case.scenario.name == "batch-invariance"
    was_compared = each.line.get("holds") is not None or each.line["reason"] == "results-differ"
    return was_compared and is_batch == (name == INVARIANCE)


def _of_arithmetic(declared: Declaration, tried: Sequence[Tried]) -> Iterator[Claim]:
    """The arithmetic that is claimed, or expected of torch, and how many bits it gave."""
    held = [each for each in tried if each.line.get("arithmetic")]
    names = [str(each.line["arithmetic"]) for each in held]
    name = declared.arithmetic or next((each for each in names if each != "unconfirmed"), "")
    if not name:
        return
    counted = [each.line for each in held if each.line.get("explained") is not None]
    explained, elements = (sum(line.get(key, 0) for line in counted) for key in ("explained", "elements"))
    unconfirmed = names.count("unconfirmed")
    notes = [f"{explained:,} of {elements:,} elements to the last bit" if counted else ""]
    notes.append(f"{unconfirmed} cases not confirmed" if unconfirmed else "")
    notes.append("a model is judged by its bound, and not by itself" if declared.is_model else "")
    claim = Claim.of(f"arithmetic {name}", "declared" if declared.arithmetic else "expected", held)
    claim = replace(claim, note="; ".join(filter(None, notes)))
    yield replace(claim, found="holds in part") if unconfirmed and claim.found == "holds" else claim


def _of_rest(tried: Sequence[Tried]) -> Iterator[Claim]:
    """Refusals that a contract knows, and generated cases, where there are any."""
    refusals = [each for each in tried if str(each.line.get("expected", "")).startswith("refuse ")]
    if refusals:
        yield Claim.of("refusals of torch's contract", "owed", refusals, refuses=True)
    batches = [each for each in tried if each.line.get("check") == "generated"]
    if batches:
        drawn = sum(each.line.get("examples", 0) for each in batches)
        yield Claim.of("generated cases", "owed", batches, f"{drawn:,} drawn", refuses=True)
