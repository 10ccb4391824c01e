"""Memory that calls have in common: recycled blocks, results that are kept, operands behind the same pointers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import torch
from torch import Tensor

from conformance.calling import Outcome, watch
from conformance.presentation import Presented, present
from conformance.scenarios.called import Called
from conformance.scenarios.contents import edited, negated, other, overwrite, rescaled
from conformance.scenarios.repeating import call_count
from conformance.scenarios.seen import Seen, form, odd, owes_bits, settle
from conformance.tiers import Judgement, failed
from conformance.trial import Trial
from reference.splitk import same_bits

ROUNDS = 12
POISON = (0xFF, 0x7E)
"""NaN in most formats; 448 in e4m3fn and 8.5e37 in float32."""
SMALL = (512, 4096, 1 << 20)
"""Bytes of blocks that every kernel may ask for."""


def churn(first: Called) -> Judgement:
    """Call with two contents in recycled memory while blocks around them are taken, poisoned and given back."""
    second = Called.of(other(first.trial))
    verdict = odd("with other contents", second)
    return verdict or settle(first, _rounds((first, second)), owed=owes_bits(first.trial))


def _rounds(bases: Sequence[Called]) -> Iterator[Seen]:
    rounds = min(ROUNDS, call_count(bases[0].trial))
    blocks: list[Tensor] = []
    kept: list[Seen] = []
    for i in range(rounds):
        base = bases[i % 2]
        seen = Seen(f"in round {i + 1} of {rounds}", base, _round(base.trial, blocks))
        if i % 3 == 0:
            kept.append(replace(seen, label=f"the result of round {i + 1}, kept to the end"))
        yield seen
        del seen
    yield from kept


def _round(trial: Trial, blocks: list[Tensor]) -> Outcome:
    """One call; its operands are gone afterwards."""
    presented = present(trial.operands)
    return watch(lambda: _amid(trial, presented, blocks), presented, trial.problem)


def _amid(trial: Trial, presented: Presented, blocks: list[Tensor]) -> object:
    """Call among taken and freed blocks, and poison what the kernel gave back before anything waits for it."""
    blocks += _poisoned(trial, POISON[0])
    del blocks[::2]
    came = trial.assignment.backend.apply(presented.tensors, trial.problem)
    blocks += _poisoned(trial, POISON[1])
    del blocks[1:]
    return came


def _poisoned(trial: Trial, octet: int) -> list[Tensor]:
    """Blocks as large as the operands, as they are in float32, and as the result."""
    problem = trial.problem
    sizes = {tensor.nbytes for tensor in trial.operands.tensors}
    sizes |= {4 * tensor.numel() for tensor in trial.operands.tensors}
    sizes |= {problem.m * problem.n * size for size in (2, 4)}
    return [torch.full((size,), octet, dtype=torch.uint8, device=trial.device) for size in (*sorted(sizes), *SMALL)]


def kept_results(first: Called) -> Judgement:
    """Keep the results of some calls with two contents: no two lie in the same memory, and none changes."""
    second = Called.of(other(first.trial))
    verdict = odd("with other contents", second)
    if verdict is not None:
        return verdict
    calls = [_Kept.of(called) for called in (first, second, first, second)]
    said = _shared(calls) or _changed(calls)
    if said:
        return failed("results-shared", said, first.judgement.measured)
    seen = (Seen(f"call {i + 2}", one.base, one.outcome) for i, one in enumerate(calls))
    return settle(first, seen, owed=owes_bits(first.trial))


@dataclass(frozen=True)
class _Kept:
    """A call whose result is kept as it came, and a copy of what it was where it has the form of a result."""

    base: Called
    outcome: Outcome
    copy: Tensor | None

    @classmethod
    def of(cls, base: Called) -> _Kept:
        outcome = base.trial.call()
        came, like = outcome.returned, base.output
        if isinstance(came, Tensor) and like is not None and form(came) == form(like):
            return cls(base, outcome, came.detach().clone())
        return cls(base, outcome, None)

    @property
    def extent(self) -> tuple[int, int]:
        """Address of the first element, and the one behind the last: results may be parts of one storage."""
        came = self.outcome.returned
        if not isinstance(came, Tensor) or not came.numel():
            return 0, 0
        last = sum((size - 1) * stride for size, stride in zip(came.shape, came.stride(), strict=True))
        return came.data_ptr(), came.data_ptr() + (last + 1) * came.element_size()


def _shared(calls: Sequence[_Kept]) -> str:
    for (i, one), (j, another) in combinations(enumerate(calls), 2):
        (start, stop), (begin, end) = one.extent, another.extent
        if max(start, begin) < min(stop, end):
            return f"the results of calls {i + 2} and {j + 2} lie in the same memory"
    return ""


def _changed(calls: Sequence[_Kept]) -> str:
    for i, one in enumerate(calls):
        came = one.outcome.returned
        if one.copy is not None and isinstance(came, Tensor) and not bool(same_bits(one.copy, came).all()):
            return f"the result of call {i + 2} was changed by a later one"
    return ""


def last_rows_edited(first: Called) -> Judgement:
    """Call with operands of which one differs from the first ones in its last row or lane alone."""
    for label, trial in edited(first.trial):
        verdict = odd(f"with another {label.removeprefix('the ')}", Called.of(trial))
        if verdict is not None:
            return verdict
    return first.judgement


def same_pointers(first: Called) -> Judgement:
    """Overwrite operands in place: everything, then scales alone, then data alone, then everything again."""
    presented = present(first.trial.operands)
    second = other(first.trial)
    third = rescaled(second)
    contents = {
        "in the memory of the next calls": first.trial,
        "with other data and scales behind the same pointers": second,
        "with other scales alone behind the same pointers": third,
        "with other data alone behind the same pointers": negated(third),
        "with the first data and scales again behind the same pointers": first.trial,
    }
    for label, trial in contents.items():
        overwrite(presented, trial.operands)
        verdict = odd(label, Called.of(trial, trial.call(presented)))
        if verdict is not None:
            return verdict
    return first.judgement
