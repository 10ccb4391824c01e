"""A backend whose kernel is a function of a package that need not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from conformance.backends.limits import Platforms, why_not_on
from conformance.backends.optional import OptionalFunction, Package
from conformance.backends.padding import versions
from conformance.probe import Platform

if TYPE_CHECKING:
    from conformance.backends.asking import Answer

LAID_OUT: Mapping[str, object] = {"operand_checks": False}
"""What all declare: operands are laid out for the package here, so that no refusal of malformed ones is its own."""


class Borrowed:
    """What all of them answer; in ``capabilities`` they say what they take, and themselves hand the operands over.

    ``places`` are the functions that are needed, the kernel first, each by the places where versions have it;
    ``source`` is where its call was read.
    """

    name: str
    source: str
    package: ClassVar[Package]
    places: ClassVar[tuple[tuple[str, ...], ...]]
    platforms: ClassVar[Platforms]
    recipes: ClassVar[tuple[str, ...]] = ("1x128-128x128",)
    capabilities: ClassVar[Mapping[str, object]] = LAID_OUT

    def __init__(self) -> None:
        self.functions = tuple(OptionalFunction(self.package, places) for places in self.places)

    def describe(self) -> dict[str, str]:
        """The call, and the versions of the package and of torch."""
        call = self.places[0][0].replace(":", ".")
        version = (self.package.version or "of unknown version") if self.package.is_installed else "not installed"
        return {"call": call, self.package.name: version, **versions()}

    def is_supported(self, platform: Platform) -> Answer:
        """Whether the package is there and has the functions, and the platform is one of the kernel's."""
        reason = self.functions[0].missing or why_not_on(platform, self.platforms)
        # A platform without a name is described and not here: a plan, for which nothing is imported.
        if reason is None and platform.device_name:
            reason = next((function.unavailable for function in self.functions if function.unavailable), None)
        return reason is None, reason

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T``; raises whatever the package raises, and UnavailableError where it is not there."""
        return self.multiply(A.contiguous(), B.contiguous(), As, Bs, out_dtype, recipe)

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """The call of the package, for contiguous A and B."""
        raise NotImplementedError

    @property
    def kernel(self) -> Any:
        """The kernel itself. Raises UnavailableError where it is not to be had."""
        return self.functions[0].load()
