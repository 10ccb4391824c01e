"""A file to start from: a kernel that is right as it stands, with everything that it may say of itself as comments."""

from __future__ import annotations

import os.path
import shlex
from pathlib import Path

from conformance.errors import UsageError

HERE = Path(__file__).resolve().parent
NAME = "my_kernel.py"
FORMS = {"function": "a_function.py", "class": "a_class.py"}


def start_backend(path: Path, form: str) -> Path:
    """Write a kernel of the ``form`` to ``path``, a file or a folder; returns the file.

    Raises UsageError where something stands there already, and where nothing can be written.
    """
    file = path / NAME if os.path.isdir(path) else path
    if file.suffix != ".py" or not str(file).isprintable():
        raise UsageError(f"{str(path)!r} is no folder and no file of Python: write {str(path.with_suffix('.py'))!r}")
    if os.path.lexists(file):
        raise UsageError(f"{str(file)!r} exists already and stays as it is: name another file")
    text = (HERE / FORMS[form]).read_text(encoding="utf-8").replace(NAME, shlex.quote(str(file)))
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(
            f"{str(file)!r} cannot be written ({error.strerror}): name a file in a folder of yours"
        ) from None
    return file


def next_command(file: Path) -> str:
    """What to type next."""
    return f"conformance run --backend {shlex.quote(str(file))} --profile quick"
