"""What one backend declares, checked, and what it excludes thereby."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cases.problem import OPERAND_FORMATS, OUT_DTYPES
from conformance.capabilities.table import (
    AXES,
    DIVISIBLE,
    DTYPES,
    LARGEST,
    SPELLINGS,
    TABLE,
    ZERO_SIZES,
    Capability,
)
from conformance.errors import UsageError, nearest
from conformance.foreign import attempt, shortly

if TYPE_CHECKING:
    from cases import Problem

MOST = 1 << 62
"""No size is as large, and no report takes a larger integer."""


@dataclass(frozen=True)
class Exclusion:
    """Why a problem is none of the kernel's: the ``capability``, what of it (``kind``), and how it is said."""

    capability: str
    kind: str
    said: str


@dataclass(frozen=True)
class Capabilities:
    """What a backend declares. A flag that it does not name is neither true nor false."""

    flags: Mapping[str, bool] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    divisible: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, declared: object, spec: str) -> Capabilities:
        """What the backend ``spec`` has as `capabilities`. Raises UsageError, naming the nearest that exists."""
        said = attempt(lambda: dict(declared)).value if isinstance(declared, Mapping) else None
        if said is None:
            raise UsageError(
                f"backend {spec!r}: `capabilities` is a dict from names to what is declared, got {shortly(declared)}; "
                f"there are {', '.join(TABLE)}"
            )
        flags: dict[str, bool] = {}
        data: dict[str, Any] = {}
        for name, value in said.items():
            row = _row(name, spec)
            read = READERS[row.form](value, row, spec)
            (data if row.limits else flags)[row.name] = read
        return cls(flags, **data)

    def get(self, name: str) -> bool | None:
        """Whether the flag ``name`` is declared True or False; None where it is not declared."""
        return self.flags.get(name)

    @property
    def limits_problems(self) -> bool:
        """Whether the backend says in data which problems it implements."""
        return bool(self.dtypes or self.divisible or self.largest)

    def announces(self, problem: Problem) -> bool:
        """Whether sizes that are no multiples of 16 are among those that it says it has."""
        return all(axis in self.divisible for axis in ("n", "k") if getattr(problem, axis) % 16)

    def exclusions(self, problem: Problem) -> tuple[Exclusion, ...]:
        """Everything declared that leaves ``problem`` out."""
        return tuple(_exclusions(self, problem))

    def to_json(self) -> dict[str, Any]:
        """What is declared, as a report's header has it: in the order of the table."""
        data = {DTYPES: list(self.dtypes), DIVISIBLE: dict(self.divisible), LARGEST: dict(self.largest)}
        said = {**{name: value for name, value in data.items() if value}, **self.flags}
        return {name: said[name] for name in TABLE if name in said}


def _exclusions(declared: Capabilities, problem: Problem) -> Iterator[Exclusion]:
    for dtype in _not_among(declared.dtypes, problem):
        yield Exclusion(DTYPES, f"{DTYPES} {dtype}", f"no {dtype} ({', '.join(declared.dtypes)})")
    for axis, step in declared.divisible.items():
        if getattr(problem, axis) % step:
            yield Exclusion(DIVISIBLE, f"{DIVISIBLE} {axis}", f"multiples of {step} alone for {axis.upper()}")
    for axis, most in declared.largest.items():
        if getattr(problem, axis) > most:
            yield Exclusion(LARGEST, f"{LARGEST} {axis}", f"nothing above {_sized(axis, most)}")
    if problem.m == 0 and declared.get(ZERO_SIZES) is False:
        yield Exclusion(ZERO_SIZES, ZERO_SIZES, f"no {TABLE[ZERO_SIZES].words}")


def _sized(axis: str, size: int) -> str:
    return f"{axis.upper()} = {size}" if axis in AXES else f"{size} multiply-accumulates"


def _not_among(dtypes: Collection[str], problem: Problem) -> Iterator[str]:
    """The dtypes of ``problem`` that are left out: a kind of which none is named is not limited."""
    for kind, own in ((OUT_DTYPES, (problem.out,)), (OPERAND_FORMATS, (problem.a, problem.b))):
        if any(name in kind for name in dtypes):
            yield from dict.fromkeys(name for name in own if name not in dtypes)


def _row(name: object, spec: str) -> Capability:
    row = TABLE.get(name) if isinstance(name, str) else None
    if row is None:
        near = nearest(_spelled(name), list(TABLE)) or f"; there are {', '.join(TABLE)}"
        raise UsageError(f"backend {spec!r} declares the unknown capability {shortly(name)}{near}")
    return row


def _spelled(name: object) -> str:
    return name if isinstance(name, str) else shortly(name)


def _flag(value: object, row: Capability, spec: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"backend {spec!r}: the capability {row.name!r} is True or False, got {shortly(value)}")
    return value


def _dtypes(value: object, row: Capability, spec: str) -> tuple[str, ...]:
    """Names in the order of the table; torch's own dtypes are names, too."""
    if not isinstance(value, tuple | list | set | frozenset) or not value:
        raise UsageError(
            f"backend {spec!r}: the capability {row.name!r} is a tuple of one or more of {', '.join(row.keys)}, "
            f"got {shortly(value)}"
        )
    said = [_spelled(each).removeprefix("torch.") for each in value]
    for name in said:
        if name not in SPELLINGS:
            raise _unknown(name, "dtype", row, spec, list(SPELLINGS))
    named = {SPELLINGS[name] for name in said}
    return tuple(name for name in row.keys if name in named)


def _sizes(value: object, row: Capability, spec: str) -> dict[str, int]:
    if not isinstance(value, Mapping) or not value:
        raise UsageError(
            f"backend {spec!r}: the capability {row.name!r} is a dict from one or more of {', '.join(row.keys)} "
            f"to whole numbers from 1, got {shortly(value)}"
        )
    for axis, size in value.items():
        if axis not in row.keys:
            raise _unknown(_spelled(axis), "size", row, spec, row.keys)
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size < MOST:
            got = shortly(size)
            raise UsageError(f"backend {spec!r}: {row.name!r} has a whole number from 1 for {axis!r}, got {got}")
    return {axis: value[axis] for axis in row.keys if axis in value}


def _unknown(name: str, what: str, row: Capability, spec: str, choices: Sequence[str]) -> UsageError:
    near = nearest(name, choices) or f"; there are {', '.join(row.keys)}"
    return UsageError(f"backend {spec!r}: the capability {row.name!r} names the unknown {what} {name!r}{near}")


READERS: Mapping[str, Callable[[object, Capability, str], Any]] = {"flag": _flag, "dtypes": _dtypes, "sizes": _sizes}
"""How each form of a declaration is read."""
