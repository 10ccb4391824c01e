"""What a backend is, and how any object that has two attributes becomes one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cases.problem import BLOCK_RECIPES, RECIPES
from cases.scenarios import DETERMINISM, OUT
from conformance.capabilities.declared import Capabilities
from conformance.errors import UsageError
from conformance.probe import Platform
from reference.arithmetic import ARITHMETICS, Arithmetic

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from cases import Problem

Answer = tuple[bool, str | None]
"""Yes, or no with the reason as a sentence."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


class Kernel(Protocol):
    """The least that a subject has to offer; see docs/backends.md for what it may add."""

    name: str

    def apply_block_scaled_mm(
        self,
        A: Tensor,
        B: Tensor,
        As: Tensor,
        Bs: Tensor,
        *,
        out_dtype: torch.dtype,
        recipe: str = "1x128-128x128",
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T`` with block scales, [M, N] in ``out_dtype``."""
        ...


class Backend:
    """A subject with every optional part filled in. Raises UsageError where a required one is missing or unusable."""

    def __init__(self, subject: Any, *, spec: str) -> None:
        self.subject = subject
        self.spec = spec
        self.name = self._checked_name()
        if not callable(getattr(subject, "apply_block_scaled_mm", None)):
            raise UsageError(
                f"backend {spec!r} has no method apply_block_scaled_mm: "
                "write apply_block_scaled_mm(self, A, B, As, Bs, *, out_dtype, recipe='1x128-128x128')"
            )
        self.arithmetic = self._declared_arithmetic()
        self.api: str | None = getattr(subject, "api", None)
        self.is_model = bool(getattr(subject, "is_model", False))
        self.capabilities = self._declared_capabilities()
        self.recipes = self._declared_recipes()
        self.deterministic = self.capabilities.get(DETERMINISM) is not False

    def _checked_name(self) -> str:
        name = getattr(self.subject, "name", None)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UsageError(
                f"backend {self.spec!r} needs an attribute `name` of letters, digits and . _ + -, got {name!r}"
            )
        return name

    def _declared_arithmetic(self) -> Arithmetic | None:
        declared = getattr(self.subject, "arithmetic", None)
        if declared is None or isinstance(declared, Arithmetic):
            return declared
        if declared in ARITHMETICS:
            return ARITHMETICS[declared]
        raise UsageError(
            f"backend {self.spec!r} declares the unknown arithmetic {declared!r}: "
            f"choose one of {', '.join(ARITHMETICS)}"
        )

    def _declared_capabilities(self) -> Capabilities:
        declared = getattr(self.subject, "capabilities", {})
        if isinstance(declared, Mapping) and getattr(self.subject, "accepts_out", False):
            declared = {OUT: True, **declared}
        return Capabilities.read(declared, self.spec)

    def _declared_recipes(self) -> tuple[str, ...]:
        declared = getattr(self.subject, "recipes", BLOCK_RECIPES)
        said = tuple(declared) if isinstance(declared, tuple | list | set | frozenset) else ()
        if not said or any(name not in RECIPES for name in said):
            raise UsageError(
                f"backend {self.spec!r}: `recipes` is a tuple of one or more of {', '.join(RECIPES)}, got {declared!r}"
            )
        return tuple(name for name in RECIPES if name in said)

    def describe(self) -> dict[str, str]:
        """What the subject says of itself, as text."""
        said = self._ask("describe")
        if not isinstance(said, dict | None):
            raise UsageError(f"backend {self.name!r}: describe() must return a dict of strings, got {said!r}")
        return {str(k): str(v) for k, v in (said or {}).items()}

    @property
    def announces_problems(self) -> bool:
        """Whether the subject itself says which problems it implements, in a method or in data."""
        return getattr(self.subject, "can_implement", None) is not None or self.capabilities.limits_problems

    def announces(self, problem: Problem) -> bool:
        """Whether the subject itself says that it has ``problem``, be its N or K no multiple of 16."""
        asked = getattr(self.subject, "can_implement", None) is not None
        return asked or self.capabilities.announces(problem)

    @property
    def takes_out(self) -> bool:
        """Whether the kernel has a parameter `out` by name."""
        return _accepts(self.subject.apply_block_scaled_mm, "out", by_name=True)

    def is_supported(self, platform: Platform) -> Answer:
        """The subject's answer for a platform; yes unless it says otherwise."""
        return self._answer("is_supported", platform)

    def can_implement(self, problem: Problem) -> Answer:
        """The subject's answer for a problem; yes unless it says otherwise."""
        return self._answer("can_implement", problem)

    def _answer(self, method: str, about: object) -> Answer:
        answer = self._ask(method, about)
        if answer is None and getattr(self.subject, method, None) is None:
            return True, None
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], bool):
            return answer[0], None if answer[0] else str(answer[1] or "no reason given")
        raise UsageError(
            f"backend {self.name!r}: {method} must return (True, None) or (False, 'reason'), got {answer!r}"
        )

    def _ask(self, method: str, *about: object) -> Any:
        """What an optional method of the subject returns, None where there is none; UsageError where it raises."""
        ask = getattr(self.subject, method, None)
        try:
            return ask(*about) if ask is not None else None
        except Exception as error:  # a user's method may raise anything
            raise UsageError(f"backend {self.name!r}: {method} fails ({type(error).__name__}: {error})") from error

    def apply(
        self, operands: tuple[Tensor, Tensor, Tensor, Tensor], problem: Problem, *, out: Tensor | None = None
    ) -> object:
        """Call the kernel, into ``out`` if there is one; what it returns or raises is the caller's to judge."""
        arguments = self.arguments(problem)
        if out is not None:
            arguments["out"] = out
        return self.subject.apply_block_scaled_mm(*operands, **arguments)

    @property
    def takes_recipe(self) -> bool:
        """Whether the kernel is told the recipe."""
        return _accepts(self.subject.apply_block_scaled_mm, "recipe")

    def arguments(self, problem: Problem) -> dict[str, Any]:
        """What the kernel takes beside the operands of ``problem``."""
        arguments: dict[str, Any] = {"out_dtype": problem.out_dtype}
        if self.takes_recipe:
            arguments["recipe"] = problem.recipe
        return arguments


def _accepts(method: Any, name: str, *, by_name: bool = False) -> bool:
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return not by_name
    return any(p.name == name or (p.kind is p.VAR_KEYWORD and not by_name) for p in parameters)
