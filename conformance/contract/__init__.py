"""What torch's own APIs owe, by platform and version."""

from __future__ import annotations

from conformance.contract.promises import Absent, Compute, Promise, Refuse, RightOrRefused, describe_promise
from conformance.contract.refusals import Refusal
from conformance.contract.table import TABLE, promise_of, row_for

__all__ = [
    "TABLE",
    "Absent",
    "Compute",
    "Promise",
    "Refusal",
    "Refuse",
    "RightOrRefused",
    "describe_promise",
    "promise_of",
    "row_for",
]
