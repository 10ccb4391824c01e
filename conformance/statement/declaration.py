"""What a kernel declared, as the header of a report has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.capabilities.declared import Capabilities
from conformance.errors import UsageError
from conformance.records import Line


@dataclass(frozen=True)
class Declaration:
    """``recipes``, ``capabilities`` and ``arithmetic`` of a backend, "" where it claims none.

    ``lacking`` says why nothing of that can be read, where it cannot.
    """

    recipes: tuple[str, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    arithmetic: str = ""
    is_model: bool = False
    lacking: str = ""

    @classmethod
    def of(cls, header: Line, backend: str) -> Declaration:
        """What ``backend`` declared in the run of this ``header``."""
        said = header.get("declared", {}).get(backend)
        if said is None:
            return cls(lacking="the report does not say what was declared: run it again with this suite")
        try:
            capabilities = Capabilities.read(said.get("capabilities", {}), backend)
        except UsageError as error:
            return cls(lacking=f"what was declared cannot be read: {error}")
        recipes = said.get("recipes")
        named = tuple(str(recipe) for recipe in recipes) if isinstance(recipes, list) else ()
        arithmetic = said.get("arithmetic")
        return cls(named, capabilities, arithmetic if isinstance(arithmetic, str) else "", said.get("model") is True)


def declared_by(backend: Any) -> dict[str, Any]:
    """What the header says of a `conformance.backends.protocol.Backend`."""
    return {
        "recipes": list(backend.recipes),
        "capabilities": backend.capabilities.to_json(),
        **({"arithmetic": backend.arithmetic.name} if backend.arithmetic else {}),
        "model": backend.is_model,
    }
