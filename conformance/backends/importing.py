"""From the place of a subject to what stands there: modules by their names, files by their paths."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os.path
import re
import sys
import traceback
from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.backends.candidates import the_kernel_in
from conformance.backends.names import Place
from conformance.errors import UsageError, nearest, unknown
from conformance.foreign import attempt


def find(place: Place) -> tuple[Any, str]:
    """What stands at ``place``, and the name that it has there. Raises UsageError where nothing does."""
    module = _file(place.file, place.named) if place.file else _module(place)
    attribute = place.attribute or the_kernel_in(module, place.spec)
    done = attempt(lambda: attrgetter(attribute)(module))
    if isinstance(done.error, AttributeError):
        raise unknown(f"attribute of {_called(place)}", attribute, [n for n in vars(module) if n[0] != "_"])
    if done.error is not None:
        raise UsageError(f"{place.named}: {attribute} cannot be read ({_said(done.error)})") from done.error
    return done.value, attribute.rpartition(".")[2]


def _called(place: Place) -> str:
    return f"file {str(place.file)!r}" if place.file else f"module {place.module}"


def _module(place: Place) -> ModuleType:
    if place.is_typed:
        _let_import_from(Path.cwd())
    done = attempt(lambda: importlib.import_module(place.module))
    if done.error is not None:
        raise UsageError(
            f"{place.named}: module {place.module!r} cannot be imported ({_said(done.error)})"
        ) from done.error
    assert done.value is not None
    return done.value


def _let_import_from(folder: Path) -> None:
    """Make what lies in ``folder`` importable, behind everything that is installed, so that it shadows nothing."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _file(path: Path, named: str) -> ModuleType:
    """The module that the file is, under a private name; the same one again while the file is the same."""
    if not os.path.isfile(path) or path.suffix != ".py":
        raise _no_file(path, named)
    done = attempt(path.read_bytes)
    if done.error is not None:
        raise UsageError(f"{named}: the file cannot be read ({_said(done.error)})") from done.error
    place = path.resolve()
    name = _private_name(place, done.value or b"")
    if name not in sys.modules:
        _let_import_from(place.parent)
        _execute(place, name, named)
    return sys.modules[name]


def _private_name(place: Path, source: bytes) -> str:
    digest = hashlib.blake2b(str(place).encode(errors="surrogateescape") + b"\0" + source, digest_size=8).hexdigest()
    return f"_conformance_{re.sub(r'[^0-9A-Za-z]', '_', place.stem)}_{digest}"


def _execute(place: Path, name: str, named: str) -> None:
    described = importlib.util.spec_from_file_location(name, place)
    assert described is not None
    assert described.loader is not None
    # Known by its name while it runs, as dataclasses, pickles and compilers want it.
    module = sys.modules[name] = importlib.util.module_from_spec(described)
    with _nothing_cached():
        done = attempt(partial(described.loader.exec_module, module))
    if done.error is not None:
        del sys.modules[name]
        line = _line_in(place, done.error)
        where = f", line {line}" if line else ""
        raise UsageError(f"{named} cannot be imported ({_said(done.error)}{where}){_hint(done.error)}")


@contextlib.contextmanager
def _nothing_cached() -> Iterator[None]:
    """Write no bytecode beside somebody's file: a run writes to the folder of its report alone."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _said(error: BaseException) -> str:
    """The class of ``error`` and its text in one line; of a syntax error what is wrong, since the line comes apart."""
    text = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line_in(place: Path, error: BaseException) -> int | None:
    """The line of the file at which it went wrong."""
    if isinstance(error, SyntaxError) and error.filename == str(place):
        return error.lineno
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(place)]
    return frames[-1].lineno if frames else None


def _hint(error: BaseException) -> str:
    if isinstance(error, ImportError) and "relative import" in str(error):
        return ": it is a part of a package, so name it as package.module:attribute"
    if isinstance(error, SystemExit):
        return ": what a script does belongs under `if __name__ == '__main__':`"
    return ""


def _no_file(path: Path, named: str) -> UsageError:
    if os.path.isdir(path):
        files = sorted(each.name for each in path.glob("*.py"))
        inside = f", one of {', '.join(files[:8])}" if files else ""
        return UsageError(f"{named} is a folder: name a file in it{inside}")
    files = [str(each) for each in sorted(path.parent.glob("*.py"))]
    said = nearest(str(path), files) or ": name a file that ends in .py, and its kernel behind a colon"
    return UsageError(f"{named}: there is no file {str(path)!r} of Python{said}")
