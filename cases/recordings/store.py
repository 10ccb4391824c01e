"""Reading and writing recordings."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cases.case import Case, parse_product

if TYPE_CHECKING:
    from torch import Tensor

SCHEMA = 1
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Provenance:
    """Where recordings come from."""

    gpu: str
    arch: str
    driver: str
    torch: str
    cublas: str
    date: str
    command: str


@dataclass(frozen=True)
class Recording:
    """One output: of which case and seed, by which backend, with the digest of its inputs and its raw bytes.

    ``plan`` is the split of K that explained it when it was made, ``pins`` names the parameters of the arithmetic whose
    every other value gives other bits.
    """

    id: str
    backend: str
    input_digest: str
    output: str
    plan: int | None
    pins: tuple[str, ...]
    seed: int = 0

    @property
    def case(self) -> Case:
        """The case whose operands were multiplied."""
        return parse_product(self.id)

    def tensor(self) -> Tensor:
        """The recorded output [M, N] in its dtype, on the CPU."""
        import torch

        problem = self.case.problem
        raw = bytearray(zlib.decompress(base64.b64decode(self.output)))
        return torch.frombuffer(raw, dtype=problem.out_dtype).reshape(problem.m, problem.n)


def pack(output: Tensor) -> str:
    """The raw bytes of ``output``, compressed, as text."""
    import torch

    raw = output.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes()
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def save_recordings(path: Path, provenance: Provenance, recordings: Iterable[Recording]) -> None:
    """Write one file of recordings."""
    document = {"schema": SCHEMA, "provenance": asdict(provenance), "recordings": [asdict(r) for r in recordings]}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


@cache
def load_recordings(folder: Path = FOLDER) -> tuple[tuple[Provenance, tuple[Recording, ...]], ...]:
    """All recordings in ``folder``, with their provenance, in the order of their file names."""
    return tuple(_read(path) for path in sorted(folder.glob("*.json")))


def _read(path: Path) -> tuple[Provenance, tuple[Recording, ...]]:
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = (Recording(**{**row, "pins": tuple(row["pins"])}) for row in document["recordings"])
    return Provenance(**document["provenance"]), tuple(rows)


@cache
def recorded_libraries() -> frozenset[tuple[str, str]]:
    """(architecture, cuBLAS version) pairs that recordings exist for."""
    return frozenset((provenance.arch, provenance.cublas) for provenance, _ in load_recordings())
