"""How many workers a session of the suite has, and which device and processors each takes; a part of the plugin.

Like `conformance.plugin` it is loaded in every pytest of the environment, and imports nothing heavy by itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from conformance.collecting import names_us
from conformance.errors import UsageError
from conformance.isolation.roles import is_isolated
from conformance.processors import share_among, wait_politely

ENVIRONMENT = "conformance_environment"
"""What a worker is told to set before it looks at its device."""


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """Bound the workers of ``-n auto`` by what devices and memory carry, where kernels are judged."""
    processors = yield
    if not names_us(config):
        return processors
    wait_politely()
    from conformance.crew import crew

    try:
        return crew(processors, config.option.conformance_device)
    except UsageError:
        return 1  # which says it


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker one of the devices of this machine; a single one has the first, as a run without workers has.

    Kernels are not imported for that, and what is wrong with the device that is named the worker says itself.
    """
    if is_isolated(node.config) and node.workerinput["workercount"] > 1:
        from conformance.devices import settings_for

        number = int(node.gateway.id.removeprefix("gw"))
        with contextlib.suppress(UsageError):
            node.workerinput[ENVIRONMENT] = settings_for(number, node.config.option.conformance_device, os.environ)


def settle_in(told: Mapping[str, Any]) -> None:
    """Take the device and the share of processors that this worker was told to; before its device is looked at."""
    os.environ.update(told.get(ENVIRONMENT, {}))
    share_among(int(told["workercount"]))
