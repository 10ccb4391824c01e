"""Cleans up after a run, however it ends: a process of its own, which goes on where the run was killed.

It hears of the run's process groups on its standard input, and when that ends it ends those that are left, with all
that a kernel has started in them, and removes the folder that it was given.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path


class Keeper:
    """The run's end of it, with a ``folder`` to remove."""

    def __init__(self, folder: Path) -> None:
        # Isolated, so that it starts in a moment; in a session of its own, so that no signal to the run's ends it.
        command = [sys.executable, "-I", "-S", __file__, str(folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def keep(self, process: int) -> None:
        """Have the group that ``process`` leads ended when the run ends."""
        self._say("keep", process)

    def end(self, process: int) -> None:
        """End the group that ``process`` leads."""
        end_group(process)
        self._say("drop", process)

    def close(self) -> None:
        """End what is left, and wait until that is done."""
        with contextlib.suppress(OSError):
            self._process.communicate()

    def _say(self, word: str, process: int) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.write(f"{word} {process}\n".encode())
            self._process.stdin.flush()


def end_group(leader: int) -> None:
    """Kill ``leader`` and the process group that it leads, where there are such."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            kill(leader, signal.SIGKILL)


def lead_group() -> None:
    """Make this process the leader of a group, so that it and what it starts can be ended at once.

    Ctrl-C in a terminal then reaches the run alone, which ends its processes in its own time.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.setpgid(0, 0)


def main() -> None:
    """Do what the module says."""
    kept: set[int] = set()
    for line in sys.stdin:
        word, _, process = line.partition(" ")
        (kept.add if word == "keep" else kept.discard)(int(process))
    for process in kept:
        # No more than the group: its leader may be gone for so long that another process has its number.
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
