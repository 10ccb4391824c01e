"""Every planned product on every backend: right, refused as the contract says, or declared unsupported."""

from __future__ import annotations

import pytest

from conformance.verdict import CaseRecord


def test_product(record: CaseRecord) -> None:
    """The verdict as pytest's outcome: unsupported skips with its reason, a wrong result or refusal fails."""
    __tracebackhide__ = True
    _end_as(record)


def test_generated(batch_record: CaseRecord) -> None:
    """The same for a batch of generated cases."""
    __tracebackhide__ = True
    _end_as(batch_record)


def _end_as(record: CaseRecord) -> None:
    __tracebackhide__ = True
    if record.verdict == "unsupported":
        pytest.skip(record.reason)
    if record.verdict == "known-deviation":
        pytest.xfail(f"{record.deviation}: {record.reason}")
    if record.verdict in ("failed", "stale-deviation"):
        pytest.fail(f"{record.reason}: {record.detail}", pytrace=False)
    assert record.verdict in ("passed", "rejected")
