"""What a process of pytest is: one that hands out cases to workers, a worker that is watched, or both in one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.collecting import names_us
from conformance.errors import UsageError
from conformance.pytest_options import are_given
from conformance.siblings import claim_siblings

if TYPE_CHECKING:
    from conformance.isolation.guard import Guard
    from conformance.session import Session

GUARD: pytest.StashKey[Guard] = pytest.StashKey()


def is_worker(config: pytest.Config) -> bool:
    """Whether this is a process of pytest-xdist: those send their reports to the controller, which keeps the books."""
    return hasattr(config, "workerinput")


def is_isolated(config: pytest.Config) -> bool:
    """Whether this process hands out cases of ours to workers, and so imports no kernel before they have done it."""
    option = config.option
    hands_out = not is_worker(config) and getattr(option, "dist", "no") != "no" and getattr(option, "tx", None)
    return bool(hands_out) and (are_given(config) or names_us(config))


def _claim_names() -> None:
    """Have our packages under their names. Raises pytest.UsageError where others have them already."""
    try:
        claim_siblings()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def isolate(config: pytest.Config, session: Callable[[], Session]) -> None:
    """Look after the workers that this process hands cases to; the ``session`` is opened when it is asked for."""
    _claim_names()
    from conformance.isolation.controller import Isolation

    if config.option.maxworkerrestart is None:
        # Each worker that is lost costs a case its verdict, or ends the run: there is nothing to be bounded.
        config.option.maxworkerrestart = str(sys.maxsize)
    plugins = config.pluginmanager
    isolation = Isolation(session, plugins, config.option.conformance_timeout)
    plugins.register(isolation, "conformance-isolation")


def guard(config: pytest.Config) -> None:
    """Watch over this process from here on: importing a kernel can end it already."""
    diary = config.workerinput.get("conformance_diary")  # type: ignore[attr-defined]
    if diary:
        _claim_names()
        from conformance.isolation.guard import Guard
        from conformance.isolation.worker import Watched

        config.stash[GUARD] = Guard(Path(diary), config.option.conformance_timeout)
        config.pluginmanager.register(Watched(config.stash[GUARD]), "conformance-watched")
