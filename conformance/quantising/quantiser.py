"""A quantiser: any function, or object with functions, that turns x into FP8 codes and their scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError, unknown
from conformance.quantising.legal import VARIANTS
from conformance.subjects.kinds import QUANTISER
from conformance.subjects.subject import Subject, lacking
from reference.formats import FORMATS

if TYPE_CHECKING:
    from torch import Tensor

    from cases import QuantCase

TOKENS, BLOCKS = "per_token_group_quant_fp8", "per_block_quant_fp8"
KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "column-major": ("column_major_scales",),
    "tma-aligned": ("column_major_scales", "tma_aligned_scales"),
    "ue8m0": ("use_ue8m0",),
}
"""What an option sets to True."""


class Quantiser(Subject):
    """A function ``f(x, group_size, ...)`` or ``f(w, block_size, ...)``, or an object with either or both under the
    names of the reference. Raises UsageError where it is neither.

    Options are found by signature: ``dtype``, ``column_major_scales``, ``tma_aligned_scales`` and ``use_ue8m0``.
    ``arithmetic`` may declare a variant of `VARIANTS`, which is then held to every bit.
    """

    kind = QUANTISER

    def __init__(self, subject: Any, *, spec: str) -> None:
        super().__init__(subject, spec=spec)
        self._functions = self._found()
        self.arithmetic: str | None = getattr(subject, "arithmetic", None)
        if self.arithmetic is not None and self.arithmetic not in VARIANTS:
            raise unknown(f"arithmetic of the quantiser {spec!r}:", str(self.arithmetic), VARIANTS)

    def _found(self) -> dict[bool, Callable[..., Any]]:
        """By whether they quantise tokens: the functions that there are."""
        methods = {name == TOKENS: getattr(self.subject, name, None) for name in (TOKENS, BLOCKS)}
        found = {tokens: method for tokens, method in methods.items() if callable(method)}
        if not found and callable(self.subject):
            blocks = lacking(self.subject, "block_size") is None and lacking(self.subject, "group_size") is not None
            found = {not blocks: self.subject}
        if not found:
            raise UsageError(
                f"quantiser {self.spec!r} is no function and has no method {TOKENS}: "
                f"write {TOKENS}(x, group_size, eps=1e-10, dtype=None, column_major_scales=False, "
                "tma_aligned_scales=False, use_ue8m0=False), which returns codes and scales"
            )
        return found

    def quantises(self, case: QuantCase) -> bool:
        """Whether it has a function for what ``case`` quantises, activations or weights."""
        return case.granularity.is_of_tokens in self._functions

    def why_not(self, case: QuantCase) -> str | None:
        """Why it cannot be asked what ``case`` asks, as a sentence, or None."""
        if not self.quantises(case):
            return f"{self.name}: it has no {TOKENS if case.granularity.is_of_tokens else BLOCKS}."
        missing = lacking(self._functions[case.granularity.is_of_tokens], *self._keywords(case))
        return f"{self.name}: it takes no {missing}." if missing else None

    def _keywords(self, case: QuantCase) -> dict[str, Any]:
        """What ``case`` cannot be asked without."""
        asked: dict[str, Any] = {name: True for option in case.options for name in KEYWORDS.get(option, ())}
        return asked if case.target == "e4m3fn" else {**asked, "dtype": FORMATS[case.target].dtype}

    def call(self, case: QuantCase, x: Tensor) -> object:
        """Quantise ``x``; whatever comes or is raised is the caller's to judge."""
        function = self._functions[case.granularity.is_of_tokens]
        asked = self._keywords(case)
        # Said where it can be: engines have defaults of their own, by platform and by what is installed.
        for name, value in {"dtype": FORMATS[case.target].dtype, "use_ue8m0": False}.items():
            if lacking(function, name) is None:
                asked.setdefault(name, value)
        one = case.granularity
        return function(x, one.columns if one.is_of_tokens else (one.rows, one.columns), **asked)
