"""The command line. Importing it, and `--help`, need no torch."""

from __future__ import annotations

import sys
from typing import NoReturn

from conformance.commands.app import app
from conformance.conclude import MISUSED
from conformance.errors import UsageError
from conformance.processors import wait_politely
from conformance.terminal import plain

# In this order they stand in `--help`.
from conformance.commands import judging, reports, kernels, census  # isort: skip

__all__ = ["app", "census", "judging", "kernels", "main", "reports"]


def main() -> NoReturn:
    """Entry point: a `UsageError` becomes one sentence and exit code 2."""
    from conformance.siblings import claim_siblings

    try:
        claim_siblings()
        wait_politely()
        app(prog_name="conformance")
    except UsageError as error:
        sys.stderr.write(f"conformance: {plain(str(error))}\n")
        sys.exit(MISUSED)
    except BrokenPipeError:
        sys.exit(0)
    sys.exit(0)
