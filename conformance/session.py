"""What one session judges: backends, device, profile, seed, selection; resolved once and checked at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cases import PROFILES, Case, parse_case, plan
from conformance.backends.registry import load_backends
from conformance.errors import UsageError, unknown
from conformance.probe import PATHS, Platform, parse_device, probe

if TYPE_CHECKING:
    import torch

    from conformance.backends.protocol import Backend
    from conformance.execute import Assignment


@dataclass(frozen=True)
class Request:
    """What was asked for, as it was typed; nothing is resolved and nothing heavy imported yet."""

    backends: tuple[str, ...] = ()
    device: str | None = None
    profile: str = "standard"
    seed: int = 0
    report: Path | None = None
    require: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for what is wrong before torch is imported."""
        if self.profile not in PROFILES:
            raise unknown("profile", self.profile, PROFILES)
        for name in self.require:
            if name not in PATHS:
                raise unknown("platform path", name, PATHS)
        self.chosen_cases()
        if self.seed < 0:
            raise UsageError(f"the seed must not be negative, got {self.seed}")

    def chosen_cases(self) -> tuple[Case, ...]:
        """The cases named one by one, or the plan of the profile."""
        if not self.cases:
            return plan(self.profile)  # type: ignore[arg-type]
        try:
            return tuple(parse_case(text) for text in dict.fromkeys(self.cases))
        except ValueError as error:
            raise UsageError(str(error)) from None


@dataclass(frozen=True)
class Session:
    """A request with its device, platform and backends."""

    request: Request
    device: torch.device
    platform: Platform
    backends: tuple[Backend, ...]

    @classmethod
    def open(cls, request: Request) -> Session:
        """Resolve ``request``. Raises UsageError for anything in it that does not exist here."""
        request.check()
        device = parse_device(request.device)
        platform = probe(device)
        return cls(request, device, platform, load_backends(request.backends or default_backends(platform)))

    @property
    def seed(self) -> int:
        """The suite seed."""
        return self.request.seed

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """Every planned case of every backend; the backends of one case stand together, so inputs are built once."""
        from conformance.execute import Assignment

        return tuple(
            Assignment.of(case, backend, self.platform)
            for case in self.request.chosen_cases()
            for backend in self.backends
        )


def default_backends(platform: Platform) -> tuple[str, ...]:
    """Torch's two APIs, and the emulated SM90 where there is no real one."""
    return ("torch-v1", "torch-v2") if platform.path == "sm90" else ("torch-v1", "torch-v2", "emulated-sm90")
