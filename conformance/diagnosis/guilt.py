"""Whether the error of a result is that of one K block: lost, counted again, or scaled by another number."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from conformance.diagnosis.naming import Specimen
from conformance.diagnosis.reading import Reading
from reference.blocks import BLOCK
from reference.formats import decode

FEWEST = 8
"""Wrong elements below which a single factor fits some block by chance."""


def guilty_block(right: Reading, out: Tensor, wrong: Tensor) -> tuple[int, float] | None:
    """The K block whose product, times one factor, is the error of the ``wrong`` elements; None where there is none.

    A factor of -1 is a block that is lost, 1 one that is counted twice. What a right kernel may be off by, and a unit
    of the output dtype, is what a factor has to explain the error to. All is looked at in a specimen of ``out`` [M, N].
    """
    specimen = Specimen.of(out, wrong)
    there = specimen.wrong & torch.isfinite(specimen.out)
    if right.sa.shape[0] < 2 or int(there.sum()) < FEWEST:
        return None
    seen = right.at(specimen.rows, specimen.cols)
    expected, value = seen.expected(), specimen.out.double()
    error = (value - expected.exact)[there]
    unit = torch.finfo(out.dtype).eps * torch.maximum(value.abs(), expected.exact.abs())
    factors, fits = _factors(error, _products(seen)[:, there], (2 * unit + expected.error)[there])
    guilty = fits.any(1).nonzero().flatten().tolist()
    if len(guilty) != 1:
        return None
    (block,) = guilty
    return block, float(factors[block][fits[block]][0])


def _products(reading: Reading) -> Tensor:
    """The scaled product of every K block, float64 [kb, rows, columns]."""
    a, b = _by_block(reading.A), _by_block(reading.B)
    return torch.bmm(a, b.mT) * reading.sa.double()[:, :, None] * reading.sb.double()[:, None, :]


def _by_block(codes: Tensor) -> Tensor:
    """The values of ``codes`` [rows, K] as float64 [kb, rows, 128], zeros behind a ragged K."""
    values = decode(codes).double()
    padded = pad(values, (0, -values.shape[1] % BLOCK))
    return padded.reshape(len(codes), -1, BLOCK).transpose(0, 1)


def _factors(error: Tensor, products: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of each block that are tried, [kb, 3], and whether each gives the ``error``, to that ``room``."""
    # By the largest product the factor is known best.
    largest = products.abs().argmax(1)
    top = products.gather(1, largest[:, None])[:, 0]
    # A block that is lost or counted again is told as that, where the error is known no better.
    factors = torch.stack([-torch.ones_like(top), torch.ones_like(top), error[largest] / top], 1)
    away = (error - factors[:, :, None] * products[:, None, :]).abs()
    usable = torch.isfinite(products).all(1) & (top != 0)
    return factors, (away <= room).all(2) & usable[:, None]
