"""Files that commands write: refused before the work where they cannot be, and one sentence where it fails after it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conformance.errors import UsageError


def check_output(path: Path, what: str, suffixes: Sequence[str] = ()) -> None:
    """Raise UsageError where ``what`` cannot become the file ``path``, or where that ends in none of ``suffixes``."""
    if suffixes and path.suffix not in suffixes:
        raise UsageError(f"{what} cannot be {str(path)!r}: name a file that ends in {' or '.join(suffixes)}")
    # Not by Path, some of whose questions raise where a name is too long.
    if os.path.isdir(path) or not path.name or not os.path.isdir(path.parent):
        raise UsageError(f"{what} cannot be written to {str(path)!r}: name a file in a folder that exists")
    try:
        path.lstat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _not_written(path, what, error) from error


@contextmanager
def writing(path: Path, what: str) -> Iterator[None]:
    """Raise UsageError for an OSError within."""
    try:
        yield
    except OSError as error:
        raise _not_written(path, what, error) from error


def _not_written(path: Path, what: str, error: OSError) -> UsageError:
    return UsageError(f"{what} cannot be written to {str(path)!r} ({error.strerror}): name another file")
