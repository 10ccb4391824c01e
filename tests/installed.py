"""The distribution as it is shipped: built once a session, and installed where nothing of the checkout can be seen."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTEST = "import sys\nfrom pytest import main\nsys.exit(main())\n"
"""What pip writes for `pytest`: a script, so that the working folder is not where modules are looked for first."""


@dataclass(frozen=True)
class Distributions:
    """A wheel and a source distribution."""

    wheel: Path
    sdist: Path

    @classmethod
    def built_from(cls, source: Path, folder: Path) -> Distributions:
        """Both, as a frontend builds them from ``source``, in ``folder``."""
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
        subprocess.run(command, cwd=source, check=True, capture_output=True)
        (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        return cls(wheel, sdist)

    def files(self) -> dict[str, bytes]:
        """What the wheel holds, by name."""
        with zipfile.ZipFile(self.wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def unpacked(self, folder: Path) -> Path:
        """The source tree of the sdist, in ``folder``."""
        with tarfile.open(self.sdist) as archive:
            # Late releases of 3.10 and 3.11 have filters, too, and earlier ones do not.
            archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # type: ignore[arg-type]
        (tree,) = folder.iterdir()
        return tree


@dataclass(frozen=True)
class Installation:
    """A virtual environment with the wheel; what the wheel needs is shared with the environment of the tests."""

    folder: Path

    @classmethod
    def of(cls, wheel: Path, folder: Path) -> Installation:
        """Install ``wheel`` into a new environment in ``folder``."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self = cls(folder)
        install = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet", "--no-deps"]
        subprocess.run([*install, "--no-index", str(wheel)], check=True, env=self.environment, capture_output=True)
        # A folder on the path, whose own .pth files are not read: an editable install in it stays out of sight.
        (self.packages / "shared.pth").write_text(sysconfig.get_path("purelib"))
        (self.scripts / "pytest").write_text(f"#!{self.python}\n{PYTEST}")
        (self.scripts / "pytest").chmod(0o755)
        return self

    @property
    def scripts(self) -> Path:
        """The folder of commands."""
        return self.folder / "bin"

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.scripts / "python"

    @property
    def packages(self) -> Path:
        """The folder of packages."""
        return Path(sysconfig.get_path("purelib", "venv", vars={"base": str(self.folder)}))

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a shell in which it is activated."""
        theirs = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        return {**theirs, "PATH": f"{self.scripts}{os.pathsep}{os.environ['PATH']}"}

    def run(self, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run ``command`` in ``cwd``."""
        return subprocess.run(command, cwd=cwd, env=self.environment, capture_output=True, text=True, check=False)
