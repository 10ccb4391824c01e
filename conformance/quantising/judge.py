"""From what a quantiser returned to a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from cases import QuantCase
from cases.quantising.places import note
from conformance.measure import SHOWN, ordered
from conformance.quantising.legal import VARIANTS, Legal
from conformance.received import Unusable, received
from conformance.tiers import Judgement, failed, sentence
from conformance.verdict import Measured, Reason, WrongElement
from reference.formats import decode

ROUNDED_TO = 4
"""Rows to which TMA-aligned scales are padded."""


@dataclass(frozen=True)
class Pair:
    """Codes and scales as they came, of the form that was asked for."""

    codes: Tensor
    scales: Tensor

    @property
    def results(self) -> tuple[Tensor, Tensor]:
        """Both."""
        return self.codes, self.scales


def judge_form(case: QuantCase, x: Tensor, returned: object) -> Judgement | Pair:
    """The pair that came for ``x`` as it was handed over, or what is wrong with its form."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        return failed("not-a-pair", f"a {type(returned).__name__} came, not codes and scales")
    codes, scales = map(received, returned)
    for name, one in (("codes", codes), ("scales", scales)):
        if isinstance(one, Unusable):
            return failed(one.reason, f"of the {name}, {one.what}")
    assert isinstance(codes, Tensor)
    assert isinstance(scales, Tensor)
    pair, shape = Pair(codes.detach(), scales.detach()), _scale_shape(case, x)
    for name, one, form, dtype in (
        ("codes", codes, tuple(x.shape), Legal(case, x).kind.dtype),
        ("scales", scales, shape, torch.float32),
    ):
        if tuple(one.shape) != form:
            return failed("wrong-shape", f"the {name} have shape {tuple(one.shape)}, not {form}")
        if one.dtype != dtype:
            return failed("wrong-dtype", f"the {name} are {one.dtype}, not {dtype}")
        if one.device != x.device:
            return failed("wrong-device", f"the {name} are on {one.device}, not on {x.device}")
    return _judge_strides(case, pair) or pair


def _scale_shape(case: QuantCase, x: Tensor) -> tuple[int, ...]:
    if case.granularity.is_of_tokens:
        return (*x.shape[:-1], case.granularity.groups(1, x.shape[-1])[1])
    return case.granularity.groups(*x.shape)


def _judge_strides(case: QuantCase, pair: Pair) -> Judgement | None:
    """Whether the scales lie as asked; a stride along an axis of one element is never walked."""
    scales, actual = pair.scales, pair.scales.stride()
    rows = scales.shape[0]
    if "tma-aligned" in case.options:
        owed: tuple[int, ...] = (1, -(-rows // ROUNDED_TO) * ROUNDED_TO)
    elif "column-major" in case.options:
        owed = (1, rows)
    else:
        owed = tuple(prod(scales.shape[axis + 1 :]) for axis in range(scales.ndim))
    walked = [axis for axis, size in enumerate(scales.shape) if size > 1 and scales.numel()]
    if any(actual[axis] != owed[axis] for axis in walked):
        return failed("wrong-strides", f"the scales {tuple(scales.shape)} have strides {actual}, not {owed}")
    return None


def judge_values(case: QuantCase, x: Tensor, pair: Pair, declared: str | None) -> tuple[Judgement, Tensor]:
    """The verdict on a pair of the right form for ``x`` [rows, columns], and the mask of the wrong scales or codes.

    A ``declared`` variant has to give every scale and every code.
    """
    legal = Legal(case, x)
    scales = pair.scales.reshape(legal.groups.shape)
    values = decode(pair.codes.contiguous()).reshape(x.shape)
    wrong = legal.wrong_scales(scales)
    if wrong.any():
        measured = _measured(scales, legal.scales("division"), wrong, _distance(scales, legal.scales("division")))
        return _wrong("wrong-scales", "scales", measured, case), wrong
    right = legal.codes(scales)
    for reason, wrong in (
        ("not-finite-lost", legal.lost(values, scales)),
        ("wrong-codes", legal.wrong_codes(values, scales)),
    ):
        if wrong.any():
            expected = torch.where(x.isfinite(), right, x.float())
            measured = _measured(values, expected, wrong, _steps(legal, values, right))
            return _wrong(reason, "codes", measured, case), wrong  # type: ignore[arg-type]
    return _variant(legal, values, scales, declared)


def _variant(legal: Legal, values: Tensor, scales: Tensor, declared: str | None) -> tuple[Judgement, Tensor]:
    """Which variant gives every bit, where one does; a declared one has to."""
    by_scales = {variant: (scales == legal.scales(variant)) | legal.poisoned for variant in VARIANTS}
    clean = ~legal.groups.spread(legal.poisoned)
    by_codes = {variant: (values == legal.codes(scales, variant)) | ~clean for variant in VARIANTS}
    judged = (declared,) if declared else VARIANTS
    found = {variant: int(by_scales[variant].sum()) + int(by_codes[variant].sum()) for variant in judged}
    best = max(found, key=lambda variant: found[variant])
    total = scales.numel() + values.numel()
    right, nothing = legal.codes(scales), torch.zeros_like(clean)
    measured = _measured(values, right, nothing, _steps(legal, values, right))
    named = {
        "arithmetic": best if found[best] == total else _mixed(by_scales, by_codes),
        "explained": found[best],
        "elements": total,
        "tier": "bits" if declared else "exact",
    }
    measured = Measured(**{**vars(measured), **named})
    if declared and found[best] < total:
        wrong = ~by_codes[declared]
        said = f"{declared} explains {found[best]} of {total} scales and codes"
        return failed("unexplained-bits", said, measured), wrong if wrong.any() else ~by_scales[declared]
    return Judgement("passed", measured=measured), nothing


def _mixed(by_scales: dict[str, Tensor], by_codes: dict[str, Tensor]) -> str:
    """The variant of the scales and that of the codes, where they are not one."""
    told = [next((name for name, same in side.items() if same.all()), "approximate") for side in (by_scales, by_codes)]
    return f"scales {told[0]}, codes {told[1]}"


def _wrong(reason: Reason, what: str, measured: Measured, case: QuantCase) -> Judgement:
    said = note(case)
    return failed(reason, f"{sentence(measured, what)}; {said}" if said else sentence(measured, what), measured)


def _measured(actual: Tensor, expected: Tensor, wrong: Tensor, distance: Tensor) -> Measured:
    worst = int(distance.argmax()) if distance.numel() else 0
    worst_ulp = int(distance.flatten()[worst]) if distance.numel() else 0
    return Measured(
        tier="exact",
        elements=actual.numel(),
        wrong=int(wrong.sum()),
        not_finite=int((~actual.isfinite()).sum()),
        worst_ulp=worst_ulp,
        worst_at=divmod(worst, actual.shape[1]) if worst_ulp else None,
        rel_diff=None,
        first_wrong=tuple(
            WrongElement(r, c, *(float(side[r, c]).hex() for side in (actual, expected)))
            for r, c in wrong.nonzero()[:SHOWN].tolist()
        ),
    )


def _distance(scales: Tensor, right: Tensor) -> Tensor:
    return torch.where(scales.isfinite(), (ordered(scales) - ordered(right)).abs(), 0)


def _steps(legal: Legal, values: Tensor, right: Tensor) -> Tensor:
    """How many codes lie between what came and what is right."""
    table = legal.kind.values[:128].to(values.device)
    table = table[table.isfinite()].contiguous()

    def place(x: Tensor) -> Tensor:
        return torch.copysign(torch.searchsorted(table, x.abs().contiguous()).float(), x)

    told = values.isfinite() & ~legal.groups.spread(legal.poisoned)
    return torch.where(told, (place(values) - place(right)).abs(), 0).long()
