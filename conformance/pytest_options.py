"""The --conformance-* options of pytest, and the request that they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.isolation.limits import DEFAULT
from conformance.siblings import claim_siblings

if TYPE_CHECKING:
    from conformance.request import Request


def add_options(parser: pytest.Parser) -> None:
    """Add the --conformance-* options."""
    group = parser.getgroup("conformance", "conformance of block-scaled FP8 matmul")
    many: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
    subject = "a name, module:attribute, or a file"
    group.addoption("--conformance-backend", help=f"backend to judge: {subject}", **many)
    group.addoption("--conformance-quantiser", help=f"quantiser to judge: {subject}", **many)
    group.addoption("--conformance-linear", help=f"end-to-end linear to judge: {subject}", **many)
    group.addoption("--conformance-device", metavar="DEVICE", help="torch device (default: this machine's accelerator)")
    group.addoption("--conformance-profile", default="standard", metavar="PROFILE", help="quick, standard or full")
    group.addoption("--conformance-seed", type=int, default=0, metavar="S", help="suite seed (default 0)")
    group.addoption("--conformance-report", type=Path, metavar="DIR", help="folder for report.jsonl")
    group.addoption("--conformance-require", help="platform path that must have been exercised", **many)
    group.addoption("--conformance-case", help="case id; repeat for several, instead of a profile", **many)
    group.addoption("--conformance-model", type=Path, metavar="FILE", help="judge the layers of this config.json")
    group.addoption("--conformance-tp", type=int, default=1, metavar="N", help="tensor-parallel ranks of the model")
    group.addoption(
        "--conformance-deviations", type=Path, help="ledger of known deviations, beside the shipped", **many
    )
    group.addoption("--conformance-quarantined", action="store_true", help="run what could harm the device, too")
    group.addoption("--conformance-examples", type=int, metavar="COUNT", help="generated cases")
    group.addoption("--conformance-shard", metavar="I/N", help="share I of N of the plan; `conformance merge` joins")
    group.addoption(
        "--conformance-timeout", type=float, default=DEFAULT, metavar="S", help="seconds of a case in a worker; 0: any"
    )
    group.addoption("--conformance-resume", action="store_true", help="go on with the report in --conformance-report")
    group.addoption("--conformance-baseline", type=Path, metavar="FILE", help="report to compare this run with")


def are_given(config: pytest.Config) -> bool:
    """Whether any of our options was given; nobody else's session imports more than this module."""
    defaults = {
        "conformance_profile": "standard",
        "conformance_seed": 0,
        "conformance_tp": 1,
        "conformance_quarantined": False,
        "conformance_timeout": DEFAULT,
        "conformance_resume": False,
    }
    ours = {name: value for name, value in vars(config.option).items() if name.startswith("conformance_")}
    return any(value not in (None, [], defaults.get(name)) for name, value in ours.items())


def request_of(config: pytest.Config) -> Request:
    """The options of ``config`` as a `Request`. Raises UsageError where a foreign package has our packages' names."""
    claim_siblings()
    from conformance.request import Request
    from conformance.shards.share import Shard

    option = config.option
    return Request(
        backends=tuple(option.conformance_backend),
        device=option.conformance_device,
        profile=option.conformance_profile,
        seed=option.conformance_seed,
        report=option.conformance_report,
        require=tuple(option.conformance_require),
        cases=tuple(option.conformance_case),
        model=option.conformance_model,
        tp=option.conformance_tp,
        examples=option.conformance_examples,
        deviations=tuple(option.conformance_deviations),
        quarantined=option.conformance_quarantined,
        shard=Shard.parse(option.conformance_shard) if option.conformance_shard else None,
        baseline=option.conformance_baseline,
        quantisers=tuple(option.conformance_quantiser),
        linears=tuple(option.conformance_linear),
    )
