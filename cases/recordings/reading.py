"""Reading recordings, and refusing what is none: verdicts rest on them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from cases.case import parse_product
from cases.recordings.store import FOLDER, SCHEMA, Provenance, Recording, RecordingError

Row = TypeVar("Row", Provenance, Recording)


@cache
def load_recordings(folder: Path = FOLDER) -> tuple[tuple[Provenance, tuple[Recording, ...]], ...]:
    """All recordings in ``folder``, with their provenance, by file name. Raises RecordingError for another file."""
    return tuple(_read(path) for path in sorted(folder.glob("*.json")))


def _read(path: Path) -> tuple[Provenance, tuple[Recording, ...]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA}")
        rows = tuple(_recording(row) for row in document["recordings"])
        return _checked(Provenance(**document["provenance"])), rows
    except KeyError as error:
        said = f"it has no {error}"
    except (OSError, ValueError, TypeError, RecursionError) as error:
        said = str(error)
    raise RecordingError(
        f"the recordings in {path.name!r} cannot be read ({said}): take the file out of {str(path.parent)!r}, or make "
        "it anew with `conformance record`"
    )


def _recording(row: dict[str, Any]) -> Recording:
    recording = _checked(Recording(**{**row, "pins": tuple(row["pins"])}))
    parse_product(recording.id)
    return recording


TYPES: dict[str, tuple[type, ...]] = {"plan": (int, type(None)), "pins": (tuple,), "seed": (int,)}
"""Types of the fields that are no strings."""


def _checked(row: Row) -> Row:
    for name, value in vars(row).items():
        if not isinstance(value, TYPES.get(name, (str,))) or isinstance(value, bool):
            raise TypeError(f"{value!r} is no {name}")
    return row


@cache
def recorded_libraries() -> frozenset[tuple[str, str]]:
    """(architecture, cuBLAS version) pairs that recordings exist for. Raises RecordingError for another file."""
    return frozenset((provenance.arch, provenance.cublas) for provenance, _ in load_recordings())
