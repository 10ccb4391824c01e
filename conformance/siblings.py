"""`reference` and `cases` are common folder names: make sure that ours are the ones imported.

Both are installed beside `conformance`. A finder restricted to these two names looks there first, so that a folder of
the same name in the working directory cannot get in the way; one that was imported already is told apart and named.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from conformance.errors import UsageError

HOME = Path(__file__).resolve().parent.parent
NAMES = ("reference", "cases")


class SiblingFinder(MetaPathFinder):
    """Finds the two packages beside `conformance`, and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of ``fullname`` when it is one of the two, else None."""
        if fullname not in NAMES or path is not None:
            return None
        return PathFinder.find_spec(fullname, [str(HOME)], target)


def claim_siblings() -> None:
    """Bind the names to our packages. Raises UsageError when another module already has one of them."""
    for name in NAMES:
        module = sys.modules.get(name)
        if module is not None and not _is_ours(module, name):
            raise UsageError(
                f"another package named {name!r} was imported first ({getattr(module, '__file__', None)}): "
                "run the suite in a process of its own, `conformance run`, or from another folder"
            )
    # First of all: pytest's own finder, which came since, looks for what is installed with a plugin wherever it can.
    sys.meta_path[:] = [SiblingFinder(), *(each for each in sys.meta_path if not isinstance(each, SiblingFinder))]


def are_claimed() -> bool:
    """Whether the names mean our packages in this process from now on."""
    return any(isinstance(finder, SiblingFinder) for finder in sys.meta_path)


def hidden_by_ours(path: Path) -> str:
    """The name of ours that the package of the file ``path`` has, too, or nothing: it could not be imported here."""
    package = ""
    for folder in path.parents:
        if not (folder / "__init__.py").exists():
            break
        package = folder.name
    return package if package in NAMES and HOME not in path.parents and are_claimed() else ""


def _is_ours(module: ModuleType, name: str) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve().parent == HOME / name
