"""What a backend is, and how any object that has two attributes becomes one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cases.problem import BLOCK_RECIPES, RECIPES
from cases.scenarios import DETERMINISM, OUT
from conformance.backends.asking import Answer, Asked
from conformance.backends.convention import BLOCK_SIZE, OUT_DTYPE, RECIPE, Convention, MisfitError, convention_of
from conformance.backends.subjects import WRITE_METHOD, Function
from conformance.capabilities.declared import Capabilities
from conformance.errors import UsageError
from conformance.foreign import shortly
from conformance.probe import Platform
from reference.arithmetic import ARITHMETICS, Arithmetic
from reference.blocks import BLOCK

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from cases import Problem

Product = Callable[..., object]
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
        self._asked = Asked(subject, spec)
        self.name = self._checked_name()
        self.convention = self._checked_convention()
        self.arithmetic = self._declared_arithmetic()
        self.api: str | None = self._asked.read("api")
        self.is_model = bool(self._asked.read("is_model"))
        self.capabilities = self._declared_capabilities()
        self.recipes = self._declared_recipes()
        self.deterministic = self.capabilities.get(DETERMINISM) is not False

    def _checked_name(self) -> str:
        name = self._asked.read("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UsageError(
                f"backend {self.spec!r} needs an attribute `name` of letters, digits and . _ + -, got {shortly(name)}"
            )
        return name

    def _checked_convention(self) -> Convention:
        kernel = self._asked.read("apply_block_scaled_mm")
        if not callable(kernel):
            raise UsageError(f"backend {self.spec!r} has no method apply_block_scaled_mm: {WRITE_METHOD}")
        if isinstance(self.subject, Function):
            return self.subject.convention
        try:
            return convention_of(kernel, is_method=True)
        except MisfitError as error:
            raise UsageError(f"backend {self.spec!r}: apply_block_scaled_mm {error}; {WRITE_METHOD}") from None

    def _declared_arithmetic(self) -> Arithmetic | None:
        declared = self._asked.read("arithmetic")
        if declared is None or isinstance(declared, Arithmetic):
            return declared
        if isinstance(declared, str) and declared in ARITHMETICS:
            return ARITHMETICS[declared]
        raise UsageError(
            f"backend {self.spec!r} declares the unknown arithmetic {shortly(declared)}: "
            f"choose one of {', '.join(ARITHMETICS)}"
        )

    def _declared_capabilities(self) -> Capabilities:
        declared = self._asked.read("capabilities", {})
        if isinstance(declared, Mapping) and self._asked.read("accepts_out"):
            declared = {OUT: True, **declared}
        said = Capabilities.read(declared, self.spec)
        if said.get(OUT) and not self.convention.takes_out:
            raise UsageError(f"backend {self.spec!r} declares `out` and takes none: give its kernel an `out=None`")
        return said

    def _declared_recipes(self) -> tuple[str, ...]:
        declared = self._asked.read("recipes", BLOCK_RECIPES)
        said = tuple(declared) if isinstance(declared, tuple | list | set | frozenset) else ()
        if not said or any(name not in RECIPES for name in said):
            known, got = ", ".join(RECIPES), shortly(declared)
            raise UsageError(f"backend {self.spec!r}: `recipes` is a tuple of one or more of {known}, got {got}")
        return tuple(name for name in RECIPES if name in said)

    def describe(self) -> dict[str, str]:
        """What the subject says of itself, as text."""
        return self._asked.describe()

    @property
    def announces_problems(self) -> bool:
        """Whether the subject itself says which problems it implements, in a method or in data."""
        return self._has_own_word or self.capabilities.limits_problems

    def announces(self, problem: Problem) -> bool:
        """Whether the subject itself says that it has ``problem``, be its N or K no multiple of 16."""
        return self._has_own_word or self.capabilities.announces(problem)

    @property
    def _has_own_word(self) -> bool:
        return self._asked.read("can_implement") is not None

    def is_supported(self, platform: Platform) -> Answer:
        """The subject's answer for a platform; yes unless it says otherwise."""
        return self._asked.answer("is_supported", platform)

    def can_implement(self, problem: Problem) -> Answer:
        """The subject's answer for a problem; yes unless it says otherwise."""
        return self._asked.answer("can_implement", problem)

    def product(self, problem: Problem) -> Product:
        """The bare call for ``problem``, of A, B, As and Bs, and of `out` where there is one."""
        kernel = self.subject.apply_block_scaled_mm
        positional, named = self.convention.positional, self.convention.named
        fixed = {OUT_DTYPE: problem.out_dtype, RECIPE: problem.recipe, BLOCK_SIZE: [BLOCK, BLOCK]}

        def product(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, **more: Tensor) -> object:
            handed: dict[str, Any] = {"A": A, "B": B, "As": As, "Bs": Bs, **fixed}
            chosen = {name: handed[word] for name, word in named.items()}
            return kernel(*[handed[word] for word in positional], **chosen, **more)

        return product

    def apply(
        self, operands: tuple[Tensor, Tensor, Tensor, Tensor], problem: Problem, *, out: Tensor | None = None
    ) -> object:
        """Call the kernel, into ``out`` if there is one; what it returns or raises is the caller's to judge.

        That is a tensor that can be looked at, or an `Unusable`; or None, which with an `out` is an answer.
        """
        from conformance.received import received

        if out is None:
            return received(self.product(problem)(*operands))
        came = self.product(problem)(*operands, out=out)
        return None if came is None else received(came)
