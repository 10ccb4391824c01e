"""Which cases a profile tries, and in which order: cases that share input bytes stand together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, get_args

from cases.case import Case
from cases.families import FAMILIES, PLANNED
from cases.ids import AnyCase
from cases.layers import left_out, shards
from cases.sections import FULL, QUICK, SECTIONS, STANDARD, fill
from cases.survey import survey

Profile = Literal["quick", "standard", "full", "survey"]
PROFILES: tuple[str, ...] = get_args(Profile)
DEPTH = {"quick": QUICK, "standard": STANDARD, "full": FULL}
BLIND = {
    "quick": "K above 1040 beyond the upstream shape, most M and N, real layers, torch.compile, all but two lanes of "
    "the code pairs",
    "standard": "weights above 2^23 codes, M above 4097 beyond the M sweep, sizes above 2^31, more than a few seeds",
    "full": "sizes above 2^33; whatever the generated cases did not draw",
    "survey": "exact families, scenarios: it holds an arithmetic against hardware and nothing else",
}
"""What each profile cannot see."""

GENERATED = {"quick": 0, "standard": 300, "full": 10_000, "survey": 0}
"""Generated cases of each profile."""


@lru_cache(maxsize=8)
def sections(profile: Profile = "standard") -> dict[str, tuple[Case, ...]]:
    """The cases of ``profile`` by section, each case in the first section that has it."""
    if profile == "survey":
        return {"survey": tuple(dict.fromkeys(survey(tuple(FAMILIES[name] for name in PLANNED))))}
    taken: set[str] = set()
    found: dict[str, tuple[Case, ...]] = {}
    for section in SECTIONS.values():
        cases = {case.id: case for level, case in section.cases() if level <= DEPTH[profile] and case.id not in taken}
        taken.update(cases)
        found[section.name] = tuple(cases.values())
    return found


@lru_cache(maxsize=8)
def plan(profile: Profile = "standard") -> tuple[Case, ...]:
    """The cases of ``profile``, without repeats, those with the same input bytes next to one another."""
    by_inputs: dict[str, list[Case]] = {}
    for cases in sections(profile).values():
        for case in cases:
            by_inputs.setdefault(case.inputs, []).append(case)
    return tuple(case for group in by_inputs.values() for case in group)


def section_of(case: AnyCase) -> str:
    """The section of the full plan, or of the survey, that has ``case``; empty where none has."""
    if not isinstance(case, Case):
        return case.section
    return _places().get(case.id, "")


@lru_cache(maxsize=1)
def _places() -> dict[str, str]:
    return {
        case.id: name for profile in ("survey", "full") for name, cases in sections(profile).items() for case in cases
    }


def model_cases(config: Mapping[str, object], tp: int, profile: str) -> tuple[Case, ...]:
    """The layers of a user's model on one of ``tp`` ranks, for M as in decoding and, in ``full``, prefill.

    Raises ValueError where ``tp`` ranks leave no layer.
    """
    cut = shards(config, tp)
    if not cut:
        raise ValueError(f"no layer of this model can be cut for {tp} ranks: {left_out(config, tp)[0].reason}")
    sizes = {"quick": (1,), "standard": (1, 7, 83)}.get(profile, (1, 2, 7, 8, 64, 83, 512, 4096, 8192))
    families = ("tagged-integers", "integer-codes", "quantised-outliers")
    return tuple(case for s in cut for m in sizes for case in fill((m, s.n, s.k), families, ("bf16",)))
