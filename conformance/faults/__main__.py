"""`python -m conformance.faults [PROFILE]`: which seeded faults a profile catches, and whether the right kernels pass.

Every case of the profile is tried on every fault that no earlier case has caught, on the CPU or the GPU that is here.
"""

from __future__ import annotations

import sys
import time

import torch

from cases import PROFILES, plan
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.execute import run_case
from conformance.faults import FAULTS, HONEST
from conformance.probe import parse_device, probe


def main(profile: str, limit: int) -> int:
    """Print what becomes of each kernel; exit code 1 when a fault survives or a right kernel fails."""
    device = parse_device(None)
    platform = probe(device)
    kinds = ("", "cuda") if device.type == "cuda" else ("",)
    faults = {name: fault for name, fault in FAULTS.items() if getattr(fault, "needs", "") in kinds}
    backends = {name: Backend(fault.build(), spec=name) for name, fault in faults.items()}
    backends |= {name: Backend(variant.build(), spec=name) for name, variant in HONEST.items()}
    caught: dict[str, tuple[str, str]] = {}
    started = time.perf_counter()
    cases = [case for case in plan(profile) if case.problem.macs <= limit]  # type: ignore[arg-type]
    for case in cases:
        for name, backend in backends.items():
            if name in caught:
                continue
            dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
            record = run_case(Assignment.of(case, backend, platform), seed=0, device=device)
            torch.set_default_dtype(dtype)
            torch.set_num_threads(threads)
            torch.backends.cuda.matmul.allow_tf32 = False
            if record.verdict == "failed":
                caught[name] = (record.check, f"{record.reason}: {record.id}")
    seconds = time.perf_counter() - started
    for name, (check, where) in sorted(caught.items(), key=lambda item: item[1][0]):
        sys.stdout.write(f"{name:44} {check:28} {where}\n")
    survivors = [name for name in faults if name not in caught]
    alarms = [name for name in HONEST if name in caught]
    sys.stdout.write(f"survivors: {', '.join(survivors) or 'none'}\nfalse alarms: {', '.join(alarms) or 'none'}\n")
    sys.stdout.write(
        f"{profile}: {len(faults) - len(survivors)} of {len(faults)} faults caught, {len(HONEST) - len(alarms)} of "
        f"{len(HONEST)} right kernels pass, {len(cases)} cases up to {limit} multiply-accumulates, {seconds:.0f} s, "
        f"{platform.path}, torch {platform.torch_version}\n"
    )
    return int(bool(survivors or alarms))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] not in PROFILES:
        sys.exit(f"unknown profile {sys.argv[1]!r}; choose one of {', '.join(PROFILES)}")
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "quick", 1 << 25))
