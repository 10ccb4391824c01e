"""A plugin that runs a session in another order: ``PYTEST_PLUGINS=shuffled``, with the seed in ``SHUFFLED``.

Workers hear of both from the environment, so that all have one order.
"""

from __future__ import annotations

import os
import random

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    random.Random(int(os.environ["SHUFFLED"])).shuffle(items)
