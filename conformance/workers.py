"""Worker processes that share the processors, and a bar that shows how far they are."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from typing import TypeVar

from conformance.processors import share_among
from conformance.siblings import claim_siblings

K = TypeVar("K")
T = TypeVar("T")


def pool_of(workers: int) -> Executor:
    """So many processes, none of which has seen anything of this one; a single worker is a thread of this one."""
    if workers == 1:
        return ThreadPoolExecutor(1)
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(workers,))


def _begin(workers: int) -> None:
    """A process of its own knows nothing of this one: our packages, before any job is unpickled, and its share."""
    claim_siblings()
    share_among(workers)


def as_done(jobs: Mapping[Future[T], K], what: str) -> Iterator[tuple[K, T]]:
    """Each job's key with its result, in the order in which they end; a terminal shows how many of ``what`` have."""
    for job in counted(as_completed(jobs), what, len(jobs)):
        yield jobs[job], job.result()


def counted(things: Iterable[T], what: str, total: int) -> Iterable[T]:
    """The ``things``, one by one; a terminal shows on stderr how many of ``total`` are done."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(things, what, total, console=console, disable=not console.is_terminal)
