"""Platforms that nobody has to have: descriptions of the machines that the contract speaks of.

A wheel of torch is built for one CUDA version; the default ones decide what most people have.
"""

from __future__ import annotations

from conformance.errors import UsageError, unknown
from conformance.probe import Platform
from conformance.versions import in_range

RELEASES = ("2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")
"""The releases of torch that the contract describes, the last patch of each as far as it was looked at."""
DEVICES = {
    "cuda": ("sm80", "sm89", "sm90", "sm100", "sm103", "sm120"),
    "rocm": ("gfx942", "gfx950"),
    "xpu": ("bmg",),
    "mps": ("arm64",),
    "cpu": ("x86_64",),
}
"""Architectures by kind of platform."""


def default_runtime(kind: str, torch: str) -> str:
    """The CUDA or ROCm version that a wheel of this torch is built for where nobody asks for another one."""
    if kind == "rocm":
        return "7.0"
    if kind != "cuda":
        return ""
    return "12.8" if in_range(torch, "<2.11") else "13.0" if in_range(torch, "<2.15") else "13.2"


def described(text: str, torch: str, runtime: str | None = None) -> Platform:
    """The platform called ``text``, ``kind`` or ``kind/arch`` as in ``cuda/sm90``, under this torch.

    ``runtime`` is that of the default wheel where it is not given. Raises UsageError that names the nearest kind.
    """
    kind, _, arch = text.partition("/")
    if kind not in DEVICES:
        raise unknown("platform", kind, tuple(DEVICES))
    if not arch and len(DEVICES[kind]) > 1:
        raise UsageError(f"{kind!r} has several architectures: write {kind}/ and one of {', '.join(DEVICES[kind])}")
    return Platform(kind, arch or DEVICES[kind][0], torch, default_runtime(kind, torch) if runtime is None else runtime)


def every_platform(torch: str) -> tuple[Platform, ...]:
    """All described platforms under one torch, with default wheels."""
    return tuple(described(f"{kind}/{arch}", torch) for kind, archs in DEVICES.items() for arch in archs)
