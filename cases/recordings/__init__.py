"""Hardware recordings: what real kernels returned, as raw bits, with where that was.

A file a library version. Operands are named by case id and seed and checked by digest; outputs are compressed raw
bytes. See docs/recordings.md for how to add one.
"""

from cases.recordings.reading import load_recordings, recorded_libraries
from cases.recordings.store import Provenance, Recording, RecordingError, save_recordings

__all__ = ["Provenance", "Recording", "RecordingError", "load_recordings", "recorded_libraries", "save_recordings"]
