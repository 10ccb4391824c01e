"""What torch's own APIs owe, by platform and version."""

from __future__ import annotations

from conformance.contract.promises import (
    UNDECLARED,
    Absent,
    Compute,
    Declined,
    Promise,
    Refuse,
    RightOrRefused,
    describe_promise,
)
from conformance.contract.refusals import Refusal
from conformance.contract.table import TABLE, promise_of, row_for

__all__ = [
    "TABLE",
    "UNDECLARED",
    "Absent",
    "Compute",
    "Declined",
    "Promise",
    "Refusal",
    "Refuse",
    "RightOrRefused",
    "describe_promise",
    "promise_of",
    "row_for",
]
