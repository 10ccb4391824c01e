"""Kinds of subject. The id of a case says for which one it is, so that readers of reports need no more than that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """What one kind is called, which option names one, how the ids of its cases begin, and what it does to computed."""

    noun: str
    option: str
    prefix: str
    missing: str


KERNEL = Kind("backend", "--backend", "", "no product was computed")
QUANTISER = Kind("quantiser", "--quantiser", "quantise/", "nothing was quantised")
LINEAR = Kind("linear", "--linear", "linear/", "no linear was computed")


def kind_of(id_: str) -> Kind:
    """The kind of subject that the case is for."""
    return next((kind for kind in (QUANTISER, LINEAR) if id_.startswith(kind.prefix)), KERNEL)
