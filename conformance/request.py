"""What was asked for, as it was typed: checked as far as that needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cases import PROFILES, AnyCase, Case, LinearCase, QuantCase, parse_case, plan
from cases.layers import read_model
from cases.linears import linears
from cases.plan import GENERATED, model_cases
from cases.quantising import quantisations
from cases.strategies import EXAMPLES, Batch, parse_batch
from conformance.errors import UsageError, unknown
from conformance.form import LARGEST
from conformance.probe import PATHS
from conformance.records import lies_in
from conformance.shards.share import Shard
from conformance.subjects.kinds import KERNEL, LINEAR, QUANTISER, kind_of

MOST_EXAMPLES = 1_000_000
"""Generated cases of one run: days on any machine."""


@dataclass(frozen=True)
class Request:
    """Subjects, device, profile or single cases, seed, report folder and required paths of one session.

    ``deviations`` are ledgers beside the shipped one; ``quarantined`` asks for the cases that could harm the device.
    ``backends`` are none, too, where ``quantisers`` or ``linears`` alone are to be judged.
    ``shard`` is the share of the plan that is to be run, all of it where it is None, ``baseline`` a report to compare
    with.
    """

    backends: tuple[str, ...] = ()
    device: str | None = None
    profile: str = "standard"
    seed: int = 0
    report: Path | None = None
    require: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    model: Path | None = None
    tp: int = 1
    examples: int | None = None
    deviations: tuple[Path, ...] = ()
    quarantined: bool = False
    shard: Shard | None = None
    baseline: Path | None = None
    quantisers: tuple[str, ...] = ()
    linears: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for the first part that names nothing there is."""
        if self.profile not in PROFILES:
            raise unknown("profile", self.profile, PROFILES)
        for name in self.require:
            if name not in PATHS:
                raise unknown("platform path", name, PATHS)
        if self.seed < 0:
            raise UsageError(f"the seed must not be negative, got {self.seed}")
        if self.seed >= LARGEST:
            raise UsageError(f"the seed must be below 2^63, got {self.seed}")
        if self.tp < 1:
            raise UsageError(f"--tp is a number of ranks from 1, got {self.tp}")
        if self.cases and self.model is not None:
            raise UsageError("--case names cases one by one, and --model those of a model: choose one")
        if self.tp > 1 and self.model is None:
            raise UsageError("--tp cuts the layers of a model: name its configuration with --model CONFIG_JSON")
        if self.examples is not None and not 0 <= self.examples <= MOST_EXAMPLES:
            raise UsageError(f"--examples takes a number from 0 to {MOST_EXAMPLES}, got {self.examples}")
        if self.baseline and self.report and lies_in(self.baseline, self.report):
            raise UsageError(
                f"the report of this run would replace the baseline {str(self.baseline)!r}: keep it elsewhere"
            )
        self._check_kinds()

    def _check_kinds(self) -> None:
        """Every case that is named, or a batch of them, has to have somebody who is asked it."""
        self.chosen_cases()
        asked = {KERNEL: self.judges_kernels, QUANTISER: bool(self.quantisers), LINEAR: bool(self.linears)}
        for text in self.cases:
            kind = kind_of(text)
            if not asked[kind]:
                raise UsageError(f"the case {text!r} is for a {kind.noun}: name one with {kind.option}")

    @property
    def judges_kernels(self) -> bool:
        """Whether kernels are judged: those named, or the usual ones where nothing is named at all."""
        return bool(self.backends) or not (self.quantisers or self.linears)

    def chosen_cases(self) -> tuple[Case, ...]:
        """The products named one by one, the layers of a model, or the plan of the profile."""
        if self.cases:
            return tuple(case for case in self._named() if isinstance(case, Case))
        if not self.judges_kernels:
            return ()
        try:
            if self.model is not None:
                return model_cases(read_model(self.model), self.tp, self.profile)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return plan(self.profile)

    def chosen_quantisations(self) -> tuple[QuantCase, ...]:
        """The cases for quantisers, named one by one or those of the profile."""
        if self.cases:
            return tuple(case for case in self._named() if isinstance(case, QuantCase))
        return quantisations(self.profile) if self.quantisers else ()

    def chosen_linears(self) -> tuple[LinearCase, ...]:
        """The cases for linears, named one by one or those of the profile."""
        if self.cases:
            return tuple(case for case in self._named() if isinstance(case, LinearCase))
        return linears(self.profile) if self.linears else ()

    def _named(self) -> tuple[AnyCase, ...]:
        try:
            return tuple(parse_case(text) for text in dict.fromkeys(self.cases) if parse_batch(text) is None)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def chosen_batches(self) -> tuple[Batch, ...]:
        """The batches of generated cases: those named, or as many as the profile or ``examples`` asks for."""
        if self.cases:
            return tuple(batch for text in dict.fromkeys(self.cases) if (batch := parse_batch(text)))
        if not self.judges_kernels or (self.examples is None and self.model is not None):
            return ()
        wanted = GENERATED[self.profile] if self.examples is None else self.examples
        return tuple(Batch(seed) for seed in range(-(-wanted // EXAMPLES)))
