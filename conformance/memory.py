"""How much memory of the machine this process may still take, as far as the system tells."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def free_memory(root: Path = ROOT) -> int | None:
    """Bytes that can be had without swapping, within the limits of the control groups above; None where nothing tells.

    What the system keeps of files counts as free: it is given up when memory is asked for. Control groups of version 2
    count (https://docs.kernel.org/admin-guide/cgroup-v2.html, memory.max), as batch systems and containers set them.
    """
    sizes = [size for size in (_of_machine(root), *_of_groups(root)) if size is not None]
    return min(sizes, default=None)


def _of_machine(root: Path) -> int | None:
    found = re.search(r"^MemAvailable: +(\d+) kB$", _text(root / "proc/meminfo"), re.MULTILINE)
    if found:
        return int(found[1]) << 10
    if root == ROOT and "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", ()):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_groups(root: Path) -> Iterator[int]:
    """What is left in each control group that has a limit and this process in it, or in a group below it."""
    own = re.search(r"^0::/(.*)$", _text(root / "proc/self/cgroup"), re.MULTILINE)
    top = root / "sys/fs/cgroup"
    group = top / (own[1] if own else "")
    for place in (group, *group.parents):
        if place.is_relative_to(top):
            limit, used = _text(place / "memory.max"), _text(place / "memory.current")
            files = re.search(r"^inactive_file (\d+)$", _text(place / "memory.stat"), re.MULTILINE)
            if limit.strip().isdecimal() and used.strip().isdecimal():
                yield max(0, int(limit) - int(used) + (int(files[1]) if files else 0))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
