"""What backends are called, and where each of them is: without importing any, so that it needs no torch."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points

from conformance.errors import unknown

BUILT_IN = {
    "torch-v1": "conformance.backends.torch_v1:TorchV1",
    "torch-v2": "conformance.backends.torch_v2:TorchV2",
    "emulated-sm90": "conformance.backends.models:EmulatedSM90",
    "native": "conformance.backends.models:Native",
}
GROUP = "conformance.backends"


def names() -> list[str]:
    """Every backend that can be asked for by a bare name."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=GROUP))]


def target_of(spec: str) -> str | None:
    """``package.module:attribute`` of the backend ``spec`` names; None for a bare name that nobody has."""
    if spec in BUILT_IN:
        return BUILT_IN[spec]
    registered = next((point.value for point in entry_points(group=GROUP) if point.name == spec), None)
    return registered or (spec if ":" in spec else None)


def check_names(specs: Iterable[str]) -> None:
    """Raise UsageError for the first of ``specs`` that names nothing."""
    for spec in specs:
        if target_of(spec) is None:
            raise unknown("backend", spec, [*names(), "package.module:attribute"])
