"""What a kernel can do to the process that it runs in. Needs no torch, so that a process to do it in starts at once."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

FOREVER = 1000


def segfault() -> None:
    ctypes.string_at(0)


def abort() -> None:
    os.abort()


def leave_with_0() -> None:
    os._exit(0)


def leave_with_3() -> None:
    os._exit(3)


def exit_by_exception() -> None:
    sys.exit(3)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt_itself() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(FOREVER)


def hang() -> None:
    while True:
        time.sleep(0.1)


def hang_with_the_lock() -> None:
    """In C, with the interpreter's lock in hand: no other thread of Python runs any more."""
    ctypes.PyDLL(None).sleep(FOREVER)


def hang_deaf() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            time.sleep(0.1)
        except BaseException:
            continue


def hang_unwatched() -> None:
    """Take the watchdog's file away, and its timer."""
    import faulthandler

    faulthandler.cancel_dump_traceback_later()
    ctypes.PyDLL(None).sleep(FOREVER)


def run_out_of_memory() -> None:
    raise MemoryError("no memory left for a workspace")


def leave_a_child() -> None:
    subprocess.Popen([sys.executable, "-S", "-c", f"import time; time.sleep({FOREVER})"])


def leave_a_child_and_die() -> None:
    leave_a_child()
    abort()


def go_elsewhere() -> None:
    place = tempfile.mkdtemp()
    os.chdir(place)
    os.rmdir(place)


def close_all_files() -> None:
    os.closerange(0, 4096)


def close_most_files() -> None:
    os.closerange(3, 4096)


def set_an_alarm() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.01)


def crash_later() -> None:
    """Return, and end the process when something else is at work."""
    threading.Thread(target=lambda: (time.sleep(0.2), segfault()), daemon=True).start()


def close_all_files_and_hang() -> None:
    close_all_files()
    hang()
