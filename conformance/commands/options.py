"""Options that several commands take.

typer reads these annotations at run time, and Python 3.10 has to understand them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

Backends = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--backend",
        metavar="B",
        help="Backend: a built-in name, an entry point, package.module:attribute, or path/to/kernel.py[:attribute].",
    ),
]
ANYONES = "package.module:attribute, or path/to/file.py:attribute"
Quantisers = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--quantiser", metavar="Q", help=f"Quantiser: reference-quantiser, {ANYONES}."),
]
Linears = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--linear", metavar="L", help=f"End-to-end linear: reference-linear, {ANYONES}."),
]
Device = Annotated[Optional[str], typer.Option(metavar="D", help="torch device; default: this machine's accelerator.")]  # noqa: UP045
Profile = Annotated[str, typer.Option(metavar="P", help="quick, standard or full.")]
Cases = Annotated[Optional[list[str]], typer.Option("--case", metavar="ID", help="One case; repeat for more.")]  # noqa: UP045
Require = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(metavar="PATH", help="Platform path that must be exercised: sm90, non_sm90, rocm, xpu, mps, cpu."),
]
Seed = Annotated[int, typer.Option(metavar="S", help="Suite seed.")]
Keyword = Annotated[Optional[str], typer.Option("-k", metavar="EXPR", help="Only cases that match, as pytest -k.")]  # noqa: UP045
Workers = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("-n", metavar="N", help="Worker processes, or auto; 0: none, so that what crashes ends the run."),
]
Timeout = Annotated[
    float,
    typer.Option(metavar="SECONDS", min=0, help="Limit of a case in a worker, and more for large ones; 0: none."),
]
Report = Annotated[Path, typer.Option(metavar="DIR", help="Folder for report.jsonl and junit.xml.")]
Model = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="CONFIG_JSON", help="Judge the layers of this Hugging Face configuration, not a profile's."),
]
Ranks = Annotated[int, typer.Option("--tp", metavar="N", help="Tensor-parallel ranks that the model is cut for.")]
Examples = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(metavar="COUNT", help="Generated cases, in batches of 100; the profile says how many otherwise."),
]
Deviations = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option(metavar="FILE", help="Ledger of known deviations, beside the shipped one; repeat for more."),
]
Quarantined = Annotated[bool, typer.Option("--quarantined", help="Run the cases that could harm the device, too.")]
On = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--on", metavar="KIND/ARCH", help="Describe that platform (cuda/sm90) instead of this machine's."),
]
Torch = Annotated[Optional[str], typer.Option("--torch", metavar="VERSION", help="Describe that torch, not this one.")]  # noqa: UP045
ShardOf = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--shard", metavar="I/N", help="Run share I of N of the plan; `conformance merge` joins the reports."),
]
BaselineFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--baseline", metavar="FILE", help="A report kept from before: what became worse since fails, too."),
]
Resume = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--resume", metavar="DIR", help="Go on with the run that reports to DIR, as it was asked for."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


Picture = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--picture", metavar="FILE", help="Draw it as well, to an .svg or .png file."),
]
