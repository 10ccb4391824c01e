"""From the name of a report to its parsed lines, of which nothing is known yet."""

from __future__ import annotations

import contextlib
import gzip
import json
import stat
import zlib
from pathlib import Path
from typing import Any, NoReturn

from conformance.errors import UsageError, nearest

FILE = "report.jsonl"


class BadReportError(UsageError):
    """A report that cannot be read: the message names the file and what is wrong with it."""


def find_report(path: Path) -> Path:
    """The file of the report ``path``, which may be the folder that it lies in. Raises BadReportError."""
    try:
        path = path / FILE if path.is_dir() else path
        mode = path.stat().st_mode
    except FileNotFoundError:
        _not_there(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise BadReportError(f"the report {str(path)!r} is a device, and no file")
    return path


def _not_there(path: Path) -> NoReturn:
    if path.name == FILE and path.parent.is_dir():
        raise BadReportError(f"the folder {str(path.parent)!r} holds no {FILE}: name the folder of a run's --report")
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = [each.name for each in path.parent.iterdir()]
    hint = nearest(path.name, names, lambda name: str(path.parent / name))
    raise BadReportError(f"there is no report {str(path)!r}{hint}")


def parse_report(path: Path) -> list[Any]:
    """The JSON values of the lines of ``path``, at least one.

    A run that was killed leaves its last line cut: what follows the last line break may be anything, and is left out
    where it is no JSON. Raises BadReportError for everything else that is none.
    """
    try:
        *whole, last = _unpacked(path).split(b"\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadReportError(f"the report {str(path)!r} is damaged: {error}") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    lines = [_parse(text, f"line {number} of the report {str(path)!r}") for number, text in enumerate(whole, 1)]
    try:
        lines += [_parse(last, f"line {len(whole) + 1} of the report {str(path)!r}")] if last else []
    except BadReportError:
        if not lines:
            raise
    if not lines:
        raise BadReportError(f"the report {str(path)!r} is empty: its run did not get as far as a header line")
    return lines


def _unpacked(path: Path) -> bytes:
    """What ``path`` holds; one that was kept as ``.gz`` is unpacked."""
    packed = path.read_bytes()
    return gzip.decompress(packed) if path.suffix == ".gz" else packed


def _parse(text: bytes, where: str) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise BadReportError(f"{where} is damaged: it is no text ({error.reason} at byte {error.start})") from error
    except (ValueError, RecursionError) as error:
        raise BadReportError(f"{where} is damaged: {error}") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _unreadable(path: Path, error: OSError) -> BadReportError:
    return BadReportError(f"the report {str(path)!r} cannot be read ({error.strerror})")
