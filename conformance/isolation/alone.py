"""Cases in a fresh process that has run nothing else, one after the other."""

from __future__ import annotations

import itertools
import json
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.hooks import Key
from conformance.isolation.death import Death, explain_death, kills_for_memory
from conformance.isolation.diary import Page
from conformance.isolation.keeper import Keeper
from conformance.isolation.limits import GRACE

if TYPE_CHECKING:
    from conformance.request import Request
    from conformance.session import Session

Line = dict[str, Any]
ENTRY = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from conformance.isolation.alone import main; main()"
)
PAUSE = 0.05
"""Seconds between two looks at a process that runs."""
COUNT = itertools.count()


@dataclass(frozen=True)
class Ran:
    """The records of the cases that came to their end, in their order; and the death of the process, if it died."""

    lines: Sequence[Line]
    death: Death | None


@dataclass(frozen=True)
class Terms:
    """Seconds for a case; how many ``workers`` share the processors; seconds to ``linger`` after the last case."""

    timeout: float
    workers: int
    linger: float = 0.0


def run_alone(request: Request, keys: Sequence[Key], terms: Terms, *, folder: Path, keeper: Keeper) -> Ran:
    """Run the cases ``keys`` of ``request`` in a process of their own."""
    diary = folder / f"alone{next(COUNT)}"
    records = diary.with_suffix(".jsonl")
    asked = replace(request, cases=tuple(dict.fromkeys(id_ for _, id_ in keys)), shard=None, baseline=None, report=None)
    killed = kills_for_memory()
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    keeper.keep(process.pid)
    try:
        assert process.stdin
        with process.stdin as pipe:
            for what in (sys.path, (asked, tuple(keys), diary, records, terms)):
                pickle.dump(what, pipe)
        was_late = await_end(process, diary)
    finally:
        keeper.end(process.pid)
        process.wait()
    lines = [json.loads(text) for text in _whole_lines(records)]
    if process.returncode == 0 and len(lines) == len(keys):
        return Ran(lines, None)
    lacked = kills_for_memory() > killed
    return Ran(lines, explain_death(Page.read(diary), process.returncode, was_late=was_late, lacked_memory=lacked))


def _whole_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def await_end(process: subprocess.Popen[bytes], diary: Path) -> bool:
    """Wait for ``process``; returns whether that lasted longer than its ``diary`` says that its case may."""
    while process.poll() is None:
        if is_late(Page.read(diary)):
            return True
        time.sleep(PAUSE)
    return False


def is_late(page: Page) -> bool:
    """Whether the process with this ``page`` should have ended itself some time ago."""
    return page.deadline is not None and time.monotonic() > page.deadline + GRACE


def main() -> None:
    """Be that process: read on standard input what to run, and write each record as it is made."""
    from conformance.siblings import claim_siblings

    claim_siblings()
    request, keys, diary, records, terms = pickle.load(sys.stdin.buffer)
    from conformance.isolation.guard import Guard, believed
    from conformance.processors import share_among, wait_politely

    guard = Guard(diary, terms.timeout)
    wait_politely()
    from conformance.session import Session

    share_among(terms.workers)
    session = Session.open(request)
    guard.check(session.device)
    guard.opened()
    for key in keys:
        with guard.over(key, session.device.type), believed(session.device):
            line = _judge(session, key)
        with records.open("a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
    time.sleep(terms.linger)


def _judge(session: Session, key: Key) -> Line:
    from conformance.execute import run_known
    from conformance.generated import Drawing, run_batch

    about: dict[str, Any] = {"seed": session.seed, "device": session.device}
    work = session.find(key)
    if isinstance(work, Drawing):
        return run_batch(work, session.ledger, **about).to_json()
    return run_known(work, session.ledger, **about).record.to_json()
