"""The lines that run a case again, safe to paste into a shell whatever a report names its backends and cases."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property

from conformance.html.inert import member
from conformance.records import Line
from conformance.subjects.kinds import KERNEL, LINEAR, QUANTISER, kind_of

BACKEND, CASE, OPTION = 0, 1, 2
"""What stands in a command for the subject, for the case, and for the option that names such a subject."""


OPTIONS = {kind.prefix.rstrip("/"): kind.option for kind in (KERNEL, QUANTISER, LINEAR)}
"""By how an id begins; those of kernels begin in many ways, and have the option of the empty word."""


@dataclass(frozen=True)
class Reproduction:
    """How the cases of a report with this header are run again."""

    header: Line

    @cached_property
    def commands(self) -> list[list[str | int]]:
        """The two lines in pieces: texts, and `BACKEND`, `CASE` and `OPTION` where those words belong, quoted."""
        seed = self.header["seed"]
        options = f" --seed {seed}" if seed else ""
        if "--device" in member(self.header, "command", list[str]()):
            options += f" --device {shlex.quote(str(self.header.get('device', '')))}"
        return [
            ["conformance run ", OPTION, " ", BACKEND, " --case ", CASE, options],
            ["conformance explain ", CASE, " ", OPTION, " ", BACKEND, options],
        ]

    @cached_property
    def specs(self) -> dict[str, str]:
        """From the name of each backend to the quoted word that names it on a command line.

        Kernel B that a comparison sets against kernel A goes by the name ``A → B`` there.
        """
        specs = member(self.header, "specs", dict[str, str]())
        names = {name: name.split(" → ")[-1] for name in self.header["backends"]}
        return {name: shlex.quote(str(specs.get(own, own))) for name, own in names.items()}

    def of(self, line: Line) -> list[str]:
        """Both lines for a case."""
        backend = self.specs.get(line["backend"], shlex.quote(line["backend"]))
        case = shlex.quote(member(line, "reproduce", "") or line["id"])
        words = {BACKEND: backend, CASE: case, OPTION: kind_of(line["id"]).option}
        return ["".join(words[part] if isinstance(part, int) else part for part in parts) for parts in self.commands]
