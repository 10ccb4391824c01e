"""Finding quantisers and linears: built in by name, anyone's as backends are found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from conformance.backends.names import SPELLINGS, place_of
from conformance.backends.registry import load_object
from conformance.errors import unknown
from conformance.subjects.subject import Subject

if TYPE_CHECKING:
    from conformance.linears.linear import Linear
    from conformance.quantising.quantiser import Quantiser

QUANTISERS: Mapping[str, str] = {"reference-quantiser": "conformance.quantising.built_in:ReferenceQuantiser"}
LINEARS: Mapping[str, str] = {"reference-linear": "conformance.linears.built_in:ReferenceLinear"}
"""Built in, by name."""
Kind = TypeVar("Kind", bound=Subject)


def load_quantisers(specs: tuple[str, ...]) -> tuple[Quantiser, ...]:
    """The quantisers that ``specs`` name. Raises UsageError."""
    from conformance.quantising.quantiser import Quantiser

    return tuple(_load(Quantiser, spec, QUANTISERS) for spec in dict.fromkeys(specs))


def _load(kind: type[Kind], spec: str, built_in: Mapping[str, str]) -> Kind:
    place = place_of(built_in.get(spec, spec), kind.kind.noun)
    if place is None:
        raise unknown(kind.kind.noun, spec, [*built_in, *SPELLINGS])
    return kind(load_object(place), spec=spec)


def load_linears(specs: tuple[str, ...]) -> tuple[Linear, ...]:
    """The linears that ``specs`` name. Raises UsageError."""
    from conformance.linears.linear import Linear

    return tuple(_load(Linear, spec, LINEARS) for spec in dict.fromkeys(specs))
