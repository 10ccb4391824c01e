"""A linear: any function, or object with one, that quantises x, multiplies, adds a bias and casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError
from conformance.subjects.kinds import LINEAR
from conformance.subjects.subject import Subject, lacking

if TYPE_CHECKING:
    from torch import Tensor

    from cases import LinearCase

METHOD = "linear"


class Linear(Subject):
    """A function ``f(x, weight, weight_scale, bias=None, out_dtype=None)``, or an object with one called `METHOD`.

    Raises UsageError where it is neither. Without ``out_dtype`` it answers in the dtype of x, which is the same.
    """

    kind = LINEAR

    def __init__(self, subject: Any, *, spec: str) -> None:
        super().__init__(subject, spec=spec)
        method = getattr(subject, METHOD, None)
        found = method if callable(method) else subject
        if not callable(found):
            raise UsageError(
                f"linear {spec!r} is no function and has no method {METHOD}: "
                f"write {METHOD}(x, weight, weight_scale, bias=None, out_dtype=None), which returns [.., N]"
            )
        self._function: Callable[..., Any] = found

    def why_not(self, case: LinearCase) -> str | None:
        """Why it cannot be asked what ``case`` asks, as a sentence, or None."""
        if case.has_bias and lacking(self._function, "bias"):
            return f"{self.name}: it takes no bias."
        return None

    def call(self, case: LinearCase, x: Tensor, weight: Tensor, weight_scale: Tensor, bias: Tensor | None) -> object:
        """Compute the linear; whatever comes or is raised is the caller's to judge."""
        said = {"bias": bias, "out_dtype": case.problem.out_dtype}
        taken = {name: value for name, value in said.items() if lacking(self._function, name) is None}
        return self._function(x, weight, weight_scale, **taken)
