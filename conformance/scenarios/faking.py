"""The call on fake operands, which have no contents: what torch.compile and torch.export believe of a kernel.

Both trace with fake tensors first, and rely on what comes of that: on shape and dtype, and on strides, which inductor
asserts (`assert_size_stride`). Source: torch/_subclasses/fake_tensor.py; `torch.library.opcheck` compares the same for
single operators.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch._functorch import config as tracing
from torch._subclasses.fake_tensor import FakeTensorMode

from cases import Problem
from cases.scenarios import COMPILE
from conformance.backends.protocol import Backend
from conformance.foreign import attempt, error_line
from conformance.presentation import present
from conformance.scenarios.seen import form
from conformance.tiers import Judgement, failed
from conformance.trial import Finding, Trial


@dataclass(frozen=True)
class Answer:
    """What came of a call, in words and numbers alone, so that nothing fake outlives the comparison.

    ``form`` is what results have to share, None for a refusal; ``brief`` and ``full`` say it.
    """

    form: tuple[object, ...] | None
    brief: str
    full: str

    @classmethod
    def of(cls, came: object) -> Answer:
        """The answer that an exception or a result is."""
        if isinstance(came, BaseException):
            said = f"raises {error_line(came)}"
            return cls(None, said, said)
        if not isinstance(came, Tensor):
            said = f"gives a {type(came).__name__}, not a tensor"
            return cls((type(came),), said, said)
        if came.layout != torch.strided:
            said = f"gives a tensor of layout {came.layout}"
            return cls((came.layout,), said, said)
        brief = f"gives {list(came.shape)} {str(came.dtype).removeprefix('torch.')}"
        return cls(_form(came), brief, f"{brief}, strides {tuple(came.stride())}, on {came.device}")


def faked(trial: Trial) -> Finding:
    """Call eagerly and with fake operands; both give results of one form, or both refuse."""
    presented = present(trial.operands)
    outcome = trial.call(presented)
    judgement = trial.judge(outcome)
    if judgement.verdict != "failed":
        eager = Answer.of(outcome.returned if outcome.raised is None else outcome.raised)
        backend = trial.assignment.backend
        judgement = _compare(backend, judgement, eager, believed(backend, presented.tensors, trial.problem))
    return Finding.of(judgement, outcome)


def believed(backend: Backend, tensors: Sequence[Tensor], problem: Problem) -> Answer:
    """The answer to fake operands with the shapes, strides, dtypes and devices of ``tensors``."""
    with _faking():
        # New ones and no conversions: the mode never sees a tensor of ours.
        a, b, sa, sb = (torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device) for x in tensors)
        done = attempt(lambda: backend.product(problem)(a, b, sa, sb))
        return Answer.of(done.value if done.error is None else done.error)


def _compare(backend: Backend, judgement: Judgement, eager: Answer, fake: Answer) -> Judgement:
    """The verdict on two answers of which the eager one is right."""
    if fake.form == eager.form:
        # Which words a fake kernel refuses with is nobody's promise.
        return judgement if eager.form is None else replace(judgement, holds=True)
    if fake.form is None and not (backend.api or backend.capabilities.get(COMPILE)):
        # It does not let itself be traced, so nobody is told anything wrong.
        return Judgement("rejected", detail=f"eager {eager.brief}, fake {fake.brief}", holds=False)
    told = (eager.brief, fake.brief) if None in (eager.form, fake.form) else (eager.full, fake.full)
    return failed("fake-differs", f"eager {told[0]}, fake {told[1]}")


def _form(x: Tensor) -> tuple[object, ...]:
    """Shape, dtype, device and the strides that say something: not those of one element, nor of none."""
    strides = [stride if size > 1 else None for size, stride in zip(x.shape, x.stride(), strict=True)]
    return *form(x), tuple(strides if x.numel() else ())


@contextmanager
def _faking() -> Iterator[None]:
    """Tensors made here are fake; whatever was set is set again afterwards.

    Unless torch is told otherwise, the pointer of a fake tensor is 0, and a kernel that follows it takes the process
    along. Real tensors that a kernel keeps are workspaces, and what it has compiled is traced through, as in a trace.
    """
    log = logging.getLogger("torch._subclasses.fake_tensor")
    was_disabled = log.disabled
    # It logs the whole stack of every refusal.
    log.disabled = True
    try:
        with (
            warnings.catch_warnings(),
            tracing.patch(fake_tensor_allow_unsafe_data_ptr_access=False),
            torch.compiler.set_stance("force_eager"),
            FakeTensorMode(allow_non_fake_inputs=True),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = was_disabled
