"""What a call can be owed: a product, a refusal, one of the two, or nothing because there is no such call."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.contract.refusals import Refusal, known_refusals


@dataclass(frozen=True)
class Compute:
    """A right product is owed. ``via`` names another recipe that the call is taken for.

    ``may_decline``: nobody but the kernel itself knows what it implements, and it was not asked beforehand, so
    NotImplementedError is an answer too.
    """

    via: str = ""
    may_decline: bool = False

    def is_broken_by(self, error: BaseException) -> bool:
        """Whether ``error`` is no answer."""
        return not (self.may_decline and isinstance(error, NotImplementedError))


@dataclass(frozen=True)
class Refuse:
    """One of ``refusals`` is owed, or any exception where none is named; with nothing touched."""

    refusals: tuple[Refusal, ...] = ()

    def accepts(self, error: BaseException) -> bool:
        """Whether ``error`` is such a refusal."""
        return not self.refusals or any(refusal.matches(error) for refusal in self.refusals)

    def is_reworded_in(self, error: BaseException) -> bool:
        """Whether ``error`` is such a refusal but for its text, and neither another known one nor one of the device.

        Another known refusal is the answer to another question: a gate that stands at the wrong place.
        """
        known = type(error).__name__ in {name for refusal in self.refusals for name in refusal.types}
        foreign = str(error).startswith("CUDA error:") or any(refusal.matches(error) for refusal in known_refusals())
        return known and not foreign

    def __str__(self) -> str:
        return " or ".join(map(str, self.refusals)) or "a refusal"


def refuse(*which: Refusal) -> Refuse:
    """The promise of one of these refusals."""
    return Refuse(which)


@dataclass(frozen=True)
class RightOrRefused:
    """Nothing is known here: a right product or any exception that leaves everything alone. ``via`` as in `Compute`.

    ``declined`` is what the kernel says against it, where it is asked for it all the same.
    """

    via: str = ""
    declined: Declined | None = None


@dataclass(frozen=True)
class Absent:
    """There is no such call, and the reason why."""

    reason: str


@dataclass(frozen=True)
class Declined(Absent):
    """The kernel itself says that it does not have this. One case of each of ``kinds`` is asked for all the same.

    A kind is the name of what is declared, and what of it is meant: ``dtypes fp32``.
    """

    kinds: tuple[str, ...]

    @property
    def by(self) -> tuple[str, ...]:
        """The names of the declarations that leave it out."""
        return tuple(dict.fromkeys(kind.partition(" ")[0] for kind in self.kinds))


Promise = Compute | Refuse | RightOrRefused | Absent


UNDECLARED = "undeclared"
"""How records spell what is owed where the kernel says that it does not have what it is asked for."""


def describe_promise(promise: Promise) -> str:
    """A promise as records spell it."""
    match promise:
        case Compute(via=via):
            return f"{via.split(':')[0]}" if via else "compute"
        case Refuse(refusals=refusals):
            return " ".join(("refuse", "/".join(dict.fromkeys(refusal.label for refusal in refusals)))).rstrip()
        case Absent():
            return "absent"
        case RightOrRefused(declined=declined) if declined:
            return UNDECLARED
        case _:
            return "right or refused"
