"""What hardware was recorded, as far as verdicts rest on it."""

from __future__ import annotations

from cases.recordings import RecordingError, recorded_libraries
from conformance.errors import UsageError


def check_recordings() -> None:
    """Raise UsageError for a file of recordings that cannot be read: what kernels are held to follows from them."""
    try:
        recorded_libraries()
    except RecordingError as error:
        raise UsageError(str(error)) from None
