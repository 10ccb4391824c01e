"""What stands for SM90 below the seeded kernels: the bit model, and on that hardware its own tensor cores."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from conformance.faults.block_sums import by_hardware, by_model, sum_of_blocks
from conformance.faults.declared import WORTH_COMPILING, SM90Kernel
from conformance.faults.kernel import Step
from conformance.probe import parse_device, probe
from reference.splitk import same_bits

HOPPERS = [device for device in (parse_device(None),) if probe(device).path == "sm90"]
LANES = [16, 48, 128]


def codes(rows: int, lanes: int, seed: int, device: torch.device) -> Tensor:
    """All codes of E4M3FN, its NaN left out, in random order."""
    drawn = torch.randint(254, (rows, lanes), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)
    return (drawn + (drawn >= 127)).to(device).view(torch.float8_e4m3fn)


def test_what_is_remembered_depends_on_every_octet_and_is_nobodys_to_change() -> None:
    cpu = torch.device("cpu")
    a, b = codes(5, 128, 0, cpu), codes(16, 128, 1, cpu)
    first = sum_of_blocks(a, b)
    expected = first.clone()
    first.zero_()
    other = a.clone()
    other.view(torch.uint8)[4, 127] ^= 1

    assert bool(same_bits(sum_of_blocks(a, b), expected).all())
    assert bool(same_bits(sum_of_blocks(other, b), by_model(other, b)).all())
    assert not bool(same_bits(sum_of_blocks(other, b), expected).all())


if HOPPERS:

    @pytest.mark.parametrize("device", HOPPERS, ids=str)
    @pytest.mark.parametrize("lanes", LANES)
    def test_the_bit_model_is_what_the_hardware_does(lanes: int, device: torch.device) -> None:
        for seed in range(4):
            a, b = codes(130, lanes, seed, device), codes(272, lanes, seed + 100, device)

            assert bool(same_bits(by_hardware(a, b), by_model(a, b)).all())

    # Of torch, about itself, when it compiles.
    @pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")
    @pytest.mark.parametrize("device", HOPPERS, ids=str)
    def test_a_compiled_promotion_gives_the_bits_of_an_eager_one(device: torch.device) -> None:
        step = Step(0, slice(0, 1))
        total, term = torch.randn(2, WORTH_COMPILING, 1, device=device, dtype=torch.float64)
        total = (total * 2.0 ** torch.randint(-30, 30, total.shape, device=device)).float()

        compiled = SM90Kernel().add(total, term, step)
        parts = zip(total.split(1 << 20), term.split(1 << 20), strict=True)
        eager = torch.cat([SM90Kernel().add(*part, step) for part in parts])

        assert bool(same_bits(compiled, eager).all())
