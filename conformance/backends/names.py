"""What backends are called, and where each of them is: without importing any, so that it needs no torch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from conformance.errors import unknown

BUILT_IN = {
    "torch-v1": "conformance.backends.torch_v1:TorchV1",
    "torch-v2": "conformance.backends.torch_v2:TorchV2",
    "emulated-sm90": "conformance.backends.models:EmulatedSM90",
    "native": "conformance.backends.models:Native",
    "compiled-native": "conformance.backends.examples.compiled_native:CompiledNative",
    "triton": "conformance.backends.examples.triton_matmul:TritonMatmul",
    "vllm-triton": "conformance.backends.adapters.vllm:VllmTriton",
    "vllm-cutlass": "conformance.backends.adapters.vllm:VllmCutlass",
    "deep-gemm": "conformance.backends.adapters.deep_gemm:DeepGemm",
    "flashinfer": "conformance.backends.adapters.flashinfer:FlashInfer",
    "transformer-engine": "conformance.backends.adapters.transformer_engine:TransformerEngine",
    "torchao": "conformance.backends.adapters.torchao:TorchAO",
    "aiter": "conformance.backends.adapters.aiter:Aiter",
}
GROUP = "conformance.backends"
SPELLINGS = ("package.module:attribute", "path/to/kernel.py:attribute")


@dataclass(frozen=True)
class Place:
    """Where a subject is: an ``attribute`` of a ``module`` or of a ``file``, "" for the one kernel in that file.

    ``spec`` is how it was asked for, as a ``noun``. ``is_typed`` says that a user spelled the place out, so that the
    working folder counts as well.
    """

    spec: str
    noun: str
    attribute: str
    module: str = ""
    file: Path | None = None
    is_typed: bool = False

    @property
    def named(self) -> str:
        """How sentences begin that are about it."""
        return f"{self.noun} {self.spec!r}"


def names() -> list[str]:
    """Every backend that can be asked for by a bare name."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=GROUP))]


def place_of(spec: str, noun: str = "backend") -> Place | None:
    """Where the ``noun`` is that ``spec`` names; None for a bare name that nobody has."""
    registered = (point.value for point in entry_points(group=GROUP) if point.name == spec)
    target = BUILT_IN.get(spec) or next(registered, None)
    if target is not None:
        module, _, attribute = target.partition(":")
        return Place(spec, noun, attribute.split("[")[0].strip(), module.strip())
    before, colon, attribute = spec.rpartition(":")
    if not (colon and is_dotted(attribute)):
        before, attribute = spec, ""
    if before.endswith(".py") or before.startswith("~") or "/" in before or os.sep in before:
        return Place(spec, noun, attribute, file=Path(os.path.expanduser(before)), is_typed=True)
    return Place(spec, noun, attribute, before, is_typed=True) if colon and before and attribute else None


def known_place(spec: str) -> Place:
    """Where the backend is that ``spec`` names. Raises UsageError with a sentence that says what to write instead."""
    place = place_of(spec)
    if place is None:
        files = [f"{spec}.py"] if spec and os.path.isfile(f"{spec}.py") else []
        raise unknown("backend", spec, [*names(), *files, *SPELLINGS])
    return place


def is_dotted(text: str) -> bool:
    """Whether ``text`` is a name in Python, or several with dots between them."""
    return all(part.isidentifier() for part in text.split("."))
