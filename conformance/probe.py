"""What this machine is: a parsed platform, and the paths that platforms open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import UsageError, unknown

if TYPE_CHECKING:
    import torch

KINDS = ("cuda", "rocm", "xpu", "mps", "cpu")


@dataclass(frozen=True)
class Platform:
    """One device as the capability table sees it. ``runtime`` is the CUDA or ROCm version torch was built with."""

    kind: str
    arch: str
    torch_version: str
    runtime: str = ""
    device_name: str = ""

    @property
    def spelled(self) -> str:
        """Kind and architecture as the command line takes them, ``cuda/sm90``."""
        return f"{self.kind}/{self.arch}"

    @property
    def path(self) -> str:
        """The one path of `PATHS` that cases on this platform exercise."""
        return next(name for name, path in PATHS.items() if path.holds(self))


@dataclass(frozen=True)
class Path:
    """A way through torch that only some hardware opens; also a pytest marker."""

    holds: Callable[[Platform], bool]
    needs: str


PATHS = {
    # Equality, never "at least": Blackwell is newer than Hopper and lacks the block-scaled kernels.
    "sm90": Path(lambda p: p.kind == "cuda" and p.arch == "sm90", "an NVIDIA Hopper GPU (compute capability 9.0)"),
    "non_sm90": Path(lambda p: p.kind == "cuda" and p.arch != "sm90", "an NVIDIA GPU that is not Hopper"),
    "rocm": Path(lambda p: p.kind == "rocm", "an AMD GPU and a ROCm build of torch"),
    "xpu": Path(lambda p: p.kind == "xpu", "an Intel GPU and an XPU build of torch"),
    "mps": Path(lambda p: p.kind == "mps", "an Apple GPU"),
    "cpu": Path(lambda p: p.kind == "cpu", "any machine, with --device cpu"),
}


def parse_device(text: str | None) -> torch.device:
    """The device named ``text``, or the accelerator of this machine, or its CPU. Raises UsageError with choices."""
    import torch

    present = available_devices()
    if text is None:
        return torch.device(present[0])
    try:
        device = torch.device(text)
    except RuntimeError:
        raise unknown("device", text, present) from None
    if device.type not in present:
        raise UsageError(f"device {text!r} is not available here: choose one of {', '.join(present)}")
    counts = {"cuda": torch.cuda.device_count, "xpu": torch.xpu.device_count}
    count = counts.get(device.type, lambda: 1)()
    if device.index is not None and device.index >= count:
        raise UsageError(f"device {text!r} is not available here: this machine has {count} of them")
    return device


def available_devices() -> list[str]:
    """Device types of this machine, accelerators first; never raises and initialises nothing on a GPU."""
    import torch

    tests: dict[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "xpu": torch.xpu.is_available,
        "mps": torch.backends.mps.is_available,
    }
    return [name for name, is_available in tests.items() if is_available()] + ["cpu"]


def probe(device: torch.device) -> Platform:
    """The `Platform` of ``device``."""
    import torch

    version = torch.__version__
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        if torch.version.hip:
            arch = torch.cuda.get_device_properties(device).gcnArchName.split(":")[0]
            return Platform("rocm", arch, version, torch.version.hip, name)
        major, minor = torch.cuda.get_device_capability(device)
        return Platform("cuda", f"sm{major}{minor}", version, torch.version.cuda or "", name)
    if device.type == "xpu":
        name = torch.xpu.get_device_name(device)
        return Platform("xpu", name, version, torch.version.xpu or "", name)
    return Platform(device.type, _processor(), version, device_name=_processor_name())


def driver_version(platform: Platform) -> str:
    """Version of the NVIDIA driver, empty where there is none to ask."""
    if platform.kind != "cuda":
        return ""
    try:
        with open("/sys/module/nvidia/version", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def _processor() -> str:
    import platform

    return platform.machine() or "unknown"


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return _processor()
