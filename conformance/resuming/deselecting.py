"""Leaving out, in whichever process collects, the cases whose lines are kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from conformance.hooks import Key
from conformance.items import key_of

TOLD = "conformance_kept"
"""What a worker is told. It must not look into the report, which grows: all workers have to collect the same."""


class Deselecting:
    """A pytest plugin of the controller and of its workers."""

    def __init__(self, kept: Iterable[Key]) -> None:
        self._kept = frozenset(kept)

    @classmethod
    def told(cls, workerinput: dict[str, Any]) -> Deselecting:
        """As the controller told a worker."""
        return cls((backend, id_) for backend, id_ in workerinput.get(TOLD, ()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker."""
        node.workerinput[TOLD] = [list(key) for key in sorted(self._kept)]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is kept, after all that selects."""
        left_out = [item for item in items if key_of(item.nodeid) in self._kept]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if key_of(item.nodeid) not in self._kept]
