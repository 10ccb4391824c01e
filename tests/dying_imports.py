"""A kernel whose module ends the process that imports it."""

from __future__ import annotations

import deaths

deaths.leave_with_3()
