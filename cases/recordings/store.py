"""What a recording is, and how recordings are written."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cases.case import Case, parse_product

if TYPE_CHECKING:
    from torch import Tensor

    from cases.operands import Operands

SCHEMA = 1
FOLDER = Path(__file__).parent


class RecordingError(ValueError):
    """A file of recordings that cannot be believed. The message is one sentence that a person can act on."""


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

    def operands(self) -> Operands:
        """The operands that were multiplied. Raises RecordingError where they no longer have the recorded digest."""
        from cases.operands import build_operands

        operands = build_operands(self.case, seed=self.seed)
        if operands.digest != self.input_digest:
            raise RecordingError(
                f"the recording of {self.id} was made with operands of digest {self.input_digest!r}, and they have "
                f"{operands.digest!r} here: record it anew with `conformance record`"
            )
        return operands

    def tensor(self) -> Tensor:
        """The recorded output [M, N] in its dtype, on the CPU. Raises RecordingError for bytes that are none."""
        import torch

        problem = self.case.problem
        try:
            raw = bytearray(zlib.decompress(base64.b64decode(self.output, validate=True)))
            return torch.frombuffer(raw, dtype=problem.out_dtype).reshape(problem.m, problem.n)
        except (ValueError, RuntimeError, zlib.error) as error:
            raise RecordingError(
                f"the recording of {self.id} has no output [{problem.m}, {problem.n}]: {error}"
            ) from None


def pack(output: Tensor) -> str:
    """The raw bytes of ``output``, compressed, as text."""
    import torch

    raw = output.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes()
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def save_recordings(path: Path, provenance: Provenance, recordings: Iterable[Recording]) -> None:
    """Write one file of recordings."""
    document = {"schema": SCHEMA, "provenance": asdict(provenance), "recordings": [asdict(r) for r in recordings]}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
