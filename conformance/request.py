"""What was asked for, as it was typed: checked as far as that needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cases import PROFILES, Case, parse_case, plan
from conformance.errors import UsageError, unknown
from conformance.probe import PATHS


@dataclass(frozen=True)
class Request:
    """Backends, device, profile or single cases, seed, report folder and required paths of one session."""

    backends: tuple[str, ...] = ()
    device: str | None = None
    profile: str = "standard"
    seed: int = 0
    report: Path | None = None
    require: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for the first part that names nothing there is."""
        if self.profile not in PROFILES:
            raise unknown("profile", self.profile, PROFILES)
        for name in self.require:
            if name not in PATHS:
                raise unknown("platform path", name, PATHS)
        if self.seed < 0:
            raise UsageError(f"the seed must not be negative, got {self.seed}")
        self.chosen_cases()

    def chosen_cases(self) -> tuple[Case, ...]:
        """The cases named one by one, or the plan of the profile."""
        if not self.cases:
            return plan(self.profile)  # type: ignore[arg-type]
        try:
            return tuple(parse_case(text) for text in dict.fromkeys(self.cases))
        except ValueError as error:
            raise UsageError(str(error)) from None
