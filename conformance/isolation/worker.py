"""The worker's side of the plugin: a guard over every case that is run here."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from conformance.foreign import error_line
from conformance.isolation.guard import Guard
from conformance.items import key_of


class Watched:
    """A pytest plugin of a process that runs cases."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Note that there is a plan."""
        self.guard.opened()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch over a case, all that pytest does with it included."""
        key = key_of(item.nodeid)
        if key is None:
            return (yield)
        from conformance.plugin import session_of

        with self.guard.over(key, session_of(item.config).device.type):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Leave: kernels take away what pytest needs to go on, and then another process has to."""
        self.guard.leave("breakdown", f"it cannot go on: {error_line(excinfo.value)}")
