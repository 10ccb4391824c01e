"""What the cases of a run exercised: platform paths, and which scales by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.probe import PATHS

DID = {
    "passed": "computed",
    "rejected": "refused",
    "known-deviation": "wrong as known",
    "failed": "failed",
    "stale-deviation": "computed",
}
"""What a kernel did whose case was carried out."""
BLOCKS = "block scales"
Lines = Sequence[Mapping[str, Any]]


def exercised(lines: Lines) -> dict[str, tuple[str, ...]]:
    """The paths on which real kernels ran, with what they did there: `DID`, in one or two words each."""
    found: dict[str, set[str]] = {}
    for line in lines:
        if line["verdict"] in DID and not line.get("model") and line.get("path"):
            found.setdefault(line["path"], set()).add(DID[line["verdict"]])
    return {path: tuple(sorted(did)) for path, did in found.items()}


def told_paths(lines: Lines) -> str:
    """One line: the paths exercised, and those that were not."""
    did = exercised(lines)
    modelled = {line.get("path") for line in lines if line.get("model") and line.get("computed")} - did.keys()
    there = [f"{path} ({', '.join(what)})" for path, what in did.items()]
    absent = [f"{path} (models only)" if path in modelled else path for path in PATHS if path not in did]
    return f"exercised: {', '.join(there) or 'nothing'}; not exercised: {', '.join(absent) or 'nothing'}"


def missing(require: Sequence[str], lines: Lines) -> list[str]:
    """The paths of ``require`` on which nothing real ran, each with what it takes to exercise it."""
    did = exercised(lines)
    needs = {name: f"needs {path.needs}" for name, path in PATHS.items()}
    return [f"{path} ({needs.get(path, 'unknown')})" for path in require if path not in did]


def scales_of(line: Mapping[str, Any]) -> str:
    """The recipe of a case where one scale covers all of K, and `BLOCKS` for all the others."""
    recipe: str = line.get("recipe", "")
    return recipe if recipe in _whole_recipes() else BLOCKS


def told_scales(lines: Lines) -> str:
    """Who computed what, where it was not block scales alone: nobody has to take one for the other."""
    backends: dict[str, dict[str, None]] = {kind: {} for kind in (BLOCKS, *_whole_recipes())}
    for line in lines:
        if line.get("computed"):
            backends[scales_of(line)][line.get("backend", "")] = None
    if not any(backends[kind] for kind in _whole_recipes()):
        return ""
    told = [f"{kind} by {' and '.join(sorted(names))}" for kind, names in backends.items() if names]
    return f" (computed: {', '.join(told)})"


def _whole_recipes() -> tuple[str, ...]:
    # Not before the command line has kept a user's own `cases` folder out of the way.
    from cases.problem import WHOLE_RECIPES

    return WHOLE_RECIPES
