"""`conformance record`: add hardware recordings for the library at hand."""

from __future__ import annotations

import datetime
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from torch import Tensor

from cases import Case
from cases.operands import Operands, build_operands
from cases.recordings import Provenance, Recording, save_recordings
from cases.recordings.selection import to_record
from cases.recordings.store import pack
from conformance.backends.padding import versions
from conformance.backends.protocol import Backend
from conformance.diagnosis.variants import variations
from conformance.foreign import attempt, error_line
from conformance.outputs import check_output, writing
from conformance.presentation import present
from conformance.probe import driver_version
from conformance.request import Request
from conformance.session import Session
from reference import SM90, Arithmetic, emulate_block_scaled_mm, infer_split_k
from reference.splitk import same_bits


def record(request: Request, path: Path) -> int:
    """Record every case of the selection that the backends compute; returns how many, and writes no empty file.

    Raises UsageError for a wrong request or a ``path`` that cannot be written.
    """
    session = Session.open(request)
    check_output(path, "recordings")
    found = [r for backend in session.backends for r in _record(backend, session)]
    if found:
        with writing(path, "recordings"):
            save_recordings(path, _provenance(session), found)
    return len(found)


def _provenance(session: Session) -> Provenance:
    named = " ".join(f"--backend {shlex.quote(backend.spec)}" for backend in session.backends)
    return Provenance(
        gpu=session.platform.device_name,
        arch=session.platform.arch,
        driver=driver_version(session.platform),
        torch=session.platform.torch_version,
        cublas=versions().get("cublas", ""),
        date=datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        command=f"conformance record FILE {named}",
    )


def _record(backend: Backend, session: Session) -> Iterator[Recording]:
    for case in to_record(backend.name):
        if backend.can_implement(case.problem)[0]:
            operands = build_operands(case, seed=session.seed, device=session.device)
            done = attempt(partial(backend.apply, present(operands).tensors, case.problem))
            if isinstance(done.value, Tensor) and done.value.shape == (case.problem.m, case.problem.n):
                yield _recording(backend, case, operands, done.value, session.seed)
            else:  # a refusal is no recording; say so and go on
                came = error_line(done.error) if done.error else "no such matrix came"
                sys.stderr.write(f"{backend.name} {case.id}: {came}\n")


def _recording(backend: Backend, case: Case, operands: Operands, out: Tensor, seed: int) -> Recording:
    fit = infer_split_k(*operands.tensors, out, recipe=case.problem.recipe)
    if fit.plan is None:
        sys.stderr.write(f"{backend.name} {case.id}: {fit.explained} of {fit.total} elements are explained\n")
    pins = pinned(case, operands, out, fit.plan) if fit.plan is not None else ()
    return Recording(case.id, backend.name, operands.digest, pack(out), fit.plan, pins, seed)


def pinned(case: Case, operands: Operands, out: Tensor, plan: int) -> tuple[str, ...]:
    """The parameters of SM90 whose every other value gives other bits than ``out``."""

    def gives(arithmetic: Arithmetic) -> bool:
        other = emulate_block_scaled_mm(
            *operands.tensors, recipe=case.problem.recipe, out_dtype=out.dtype, arithmetic=arithmetic, split_k=plan
        )
        return bool(same_bits(other, out).all())

    return tuple(
        name
        for name, others in variations(SM90, case.problem.recipe).items()
        if not any(gives(other) for other in others)
    )
