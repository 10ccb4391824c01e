"""Seeded faults: right in most calls. Counters stand in for the timing that decides it in the field."""

from __future__ import annotations

from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, Step, fault

RACES: Family = "races"


class _Counted(Kernel):
    """A kernel that knows which of its calls this is, from 1."""

    def __init__(self) -> None:
        self.calls = 0

    def run(self, call: Call) -> Tensor:
        self.calls += 1
        return super().run(call)


@fault(
    "sparse-wrong-element",
    family=RACES,
    source="tritonbench PR 1163",
    what="In every seventh call one element, in turn, misses the first K block.",
)
class _SparseWrongElement(_Counted):
    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        total = super().add(total, term, step)
        if self.calls % 7 == 0 and total.numel() and step.block == 0:
            total.view(-1)[self.calls * 31 % total.numel()] -= term.reshape(-1)[self.calls * 31 % total.numel()]
        return total


@fault(
    "row-near-16-edge",
    family=RACES,
    source="aiter#3261",
    what="In every fifth call row 15 of each second fragment of 16 is scaled as the row after it.",
)
class _RowNear16Edge(_Counted):
    def row_scales(self, call: Call) -> Tensor:
        rows = call.rows()
        late = (rows % 32 == 15) & (rows < call.m - 1) & (self.calls % 5 == 0)
        return call.As[rows + late.long()]


@fault(
    "stale-scales-of-previous-call",
    family=RACES,
    source="flashinfer#2708",
    what="Every fourth call starts before the scales are there and takes those of the call before, if of one shape.",
)
class _StaleScalesOfPreviousCall(_Counted):
    before: Tensor | None = None

    def row_scales(self, call: Call) -> Tensor:
        before, self.before = self.before, call.As.clone()
        fits = before is not None and before.shape == call.As.shape and self.calls % 4 == 0
        return before if fits and before is not None else call.As


@fault(
    "intermittent-zero-rows",
    family=RACES,
    source="FlyDSL#969",
    what="With M not a multiple of 16, every third call from the fourth on loses the first column of the last tile.",
)
class _IntermittentZeroRows(_Counted):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total).clone()
        if call.m % 16 and self.calls > 3 and self.calls % 3 == 0:
            out[call.m // 16 * 16 :, :1] = 0
        return out


@fault(
    "order-varies-between-calls",
    family=RACES,
    source="HipKittens#32",
    what="Workers add their sums in order of arrival: every second call accumulates K blocks backwards, undeclared.",
)
class _OrderVariesBetweenCalls(_Counted):
    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[:: -1 if self.calls % 2 == 0 else 1]


@fault(
    "barrier-flag-wraps",
    family=RACES,
    source="DeepGEMM#451",
    what="A flag of four bits counts calls, and on its wrap the last K block is not waited for.",
)
class _BarrierFlagWraps(_Counted):
    def steps(self, call: Call) -> list[Step]:
        steps = super().steps(call)
        return steps[:-1] if self.calls % 16 == 0 else steps
