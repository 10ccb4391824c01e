"""`python -m conformance.faults [PROFILE]`: which seeded faults a profile catches, and whether the right kernels pass.

The cases of the profile are tried from the smallest to the largest on every fault that no earlier case has caught, on
the CPU or the GPU that is here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from cases import PROFILES, Case, plan
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.execute import run_case
from conformance.faults import FAULTS, HONEST, Fault, Variant
from conformance.probe import Platform, parse_device, probe
from conformance.verdict import CaseRecord

HONEST_LIMIT = 1 << 25
"""Multiply-accumulates of the largest cases that the right kernels are tried on: they try every one of them."""


@dataclass(frozen=True)
class Census:
    """What became of each kernel: the record that failed it first, by name."""

    platform: Platform
    faults: Mapping[str, Fault]
    caught: Mapping[str, CaseRecord]

    @property
    def survivors(self) -> list[str]:
        """Faults that no case has failed."""
        return [name for name in self.faults if name not in self.caught]

    @property
    def alarms(self) -> list[str]:
        """Right kernels that a case has failed."""
        return [name for name in HONEST if name in self.caught]

    def lines(self) -> Iterator[str]:
        """Who was caught by what, and the sum of it."""
        for name, record in sorted(self.caught.items(), key=lambda item: item[1].check):
            yield f"{name:44} {record.check:28} {record.reason}: {record.id}"
        yield f"survivors: {', '.join(self.survivors) or 'none'}"
        yield f"false alarms: {', '.join(self.alarms) or 'none'}"
        found, right = len(self.faults) - len(self.survivors), len(HONEST) - len(self.alarms)
        yield f"{found} of {len(self.faults)} faults caught, {right} of {len(HONEST)} right kernels pass"


def census(cases: list[Case], device: torch.device) -> Census:
    """Try ``cases`` on every fault that ``device`` can show and on every right kernel."""
    platform = probe(device)
    faults = {name: fault for name, fault in FAULTS.items() if fault.needs in ("", "compile", device.type)}
    kernels: list[Fault | Variant] = [*faults.values(), *HONEST.values()]
    backends = {kernel.name: Backend(kernel.build(), spec=kernel.name) for kernel in kernels}
    caught: dict[str, CaseRecord] = {}
    for case in sorted(cases, key=lambda case: case.problem.macs):
        for name, backend in backends.items():
            if name in caught or (name in HONEST and case.problem.macs > HONEST_LIMIT):
                continue
            with _settings_kept():
                record = run_case(Assignment.of(case, backend, platform), seed=0, device=device)
            if record.verdict == "failed":
                caught[name] = record
    return Census(platform, faults, caught)


@contextmanager
def _settings_kept() -> Iterator[None]:
    """Put back what some faults change, so that they spoil no verdict but their own."""
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    yield
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = False


def main(profile: str) -> int:
    """Print what becomes of each kernel; exit code 1 when a fault survives or a right kernel fails."""
    started, cases = time.perf_counter(), list(plan(profile))  # type: ignore[arg-type]
    found = census(cases, parse_device(None))
    about = f"{profile}, {len(cases)} cases, {time.perf_counter() - started:.0f} s"
    sys.stdout.write("\n".join(found.lines()) + f"\n{about}, {found.platform.path}, torch {torch.__version__}\n")
    return int(bool(found.survivors or found.alarms))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] not in PROFILES:
        sys.exit(f"unknown profile {sys.argv[1]!r}; choose one of {', '.join(PROFILES)}")
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "quick"))
