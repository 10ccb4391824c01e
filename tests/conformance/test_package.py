"""What the wheel carries."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_wheel_carries_suite_recordings_and_types_and_is_small(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("scaled_mm_conformance-*.whl")

    names = set(zipfile.ZipFile(wheel).namelist())

    assert wheel.stat().st_size < 6 << 20
    for path in (
        "conformance/suite/test_products.py",
        "conformance/suite/conftest.py",
        "conformance/report.schema.json",
        "conformance/plugin.py",
        *(f"conformance/html/templates/{path.name}" for path in (ROOT / "conformance/html/templates").iterdir()),
        "cases/recordings/h200-cublas-13.1.0.3.json",
        *(f"{package}/py.typed" for package in ("conformance", "reference", "cases")),
    ):
        assert path in names
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"conformance", "reference", "cases"}
