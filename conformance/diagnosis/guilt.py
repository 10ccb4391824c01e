"""Whether the error of a result is that of one K block: lost, counted again, or scaled by another number."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.diagnosis.naming import Specimen
from conformance.diagnosis.reading import Reading
from reference import Expectation
from reference.blocks import BLOCK
from reference.formats import decode

FEWEST = 8
"""Wrong elements below which a single factor fits some block by chance."""


def guilty_block(right: Reading, expected: Expectation, out: Tensor, wrong: Tensor) -> tuple[int, float] | None:
    """The K block whose product, times one factor, is the error of the ``wrong`` elements; None where there is none.

    A factor of -1 is a block that is lost, 1 one that is counted twice. What a right kernel may be off by, and a unit
    of the output dtype, is what a factor has to explain the error to.
    """
    specimen = Specimen.of(out, wrong)
    there = specimen.wrong & torch.isfinite(specimen.out)
    if right.sa.shape[0] < 2 or int(there.sum()) < FEWEST:
        return None
    value, slack = (x[specimen.rows][:, specimen.cols] for x in (expected.exact, expected.error))
    error = (specimen.out.double() - value)[there]
    unit = torch.finfo(out.dtype).eps * torch.maximum(specimen.out.double().abs(), value.abs())[there]
    room = 2 * unit + slack[there]
    products = _products(right.at(specimen.rows, specimen.cols))[:, there]
    fits = [(block, factor) for block, product in enumerate(products) if (factor := _factor(error, product, room))]
    return fits[0] if len(fits) == 1 else None


def _products(reading: Reading) -> Tensor:
    """The scaled product of every K block, float64 [kb, rows, columns]."""
    blocks = zip(
        torch.split(reading.A, BLOCK, 1), torch.split(reading.B, BLOCK, 1), reading.sa, reading.sb, strict=True
    )
    return torch.stack([decode(a).double() @ decode(b).double().t() * sa[:, None] * sb for a, b, sa, sb in blocks])


def _factor(error: Tensor, product: Tensor, room: Tensor) -> float | None:
    # By the largest product the factor is known best.
    largest = product.abs().argmax()
    if not torch.isfinite(product).all() or product[largest] == 0:
        return None
    # A block that is lost or counted again is told as that, where the error is known no better.
    for factor in (-1.0, 1.0, float(error[largest] / product[largest])):
        if bool(((error - factor * product).abs() <= room).all()):
            return factor
    return None
