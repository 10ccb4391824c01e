"""Reading what somebody names: files and pipes, and no device, which may have no end."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read_file(path: Path) -> bytes:
    """What the file or pipe ``path`` holds. Raises OSError where it cannot be read, and for a device."""
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "it is a device, and no file", str(path))
    return path.read_bytes()
