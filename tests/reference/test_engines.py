"""Every engine gives the bits of eager torch, or says why it cannot."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

from cases import parse_case
from cases.operands import build_operands
from reference import SM90, Arithmetic, emulate_block_scaled_mm
from reference.dot import Lanes, block_products
from reference.engine import ENGINES, engine_for, is_plain, why_not
from reference.plain import plain_block_products
from reference.splitk import same_bits

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
COMPILED = [name for name in ENGINES if name != "eager"]
IDS = (
    "1x128-128x128/m1-n16-k16/fp32/uniform-codes/s0",
    "1x128-128x128/m5-n144-k400/fp32/uniform-codes/s0",
    "1x128-128x128/m67-n40-k1040/bf16/quantised-normal/s1",
    "128x128-1x128/m130-n33-k384/fp16/uniform-codes/s2",
    "1x128-1x128/m7-n65-k640/fp32/quantised-normal/s3",
    "1x128-128x128@e5m2-e4m3fn/m3-n100-k256/fp32/uniform-codes/s4",
    "1x128-1x128@e4m3fn-e5m2/m70-n5-k144/fp32/uniform-codes/s5",
    "1x128-128x128/m8-n64-k2304/fp32/tagged-integers/s6",
    "1x128-1x128/m104-n104-k128/fp32/special-values/s0",
    "1x128-1x128@e5m2-e5m2/m104-n104-k128/bf16/special-values/s0",
)
OTHERS = (Arithmetic("g16", 16, 13, "test"), Arithmetic("f8", 32, 8, "test"), Arithmetic("f16", 16, 16, "test"))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("case_id", IDS)
def test_compiled_engines_equal_eager_bit_for_bit(case_id: str, name: str, device: str) -> None:
    case = parse_case(f"gemm/{case_id}")
    operands = build_operands(case, device=device).tensors
    for arithmetic in (SM90, *OTHERS):
        for split_k in (None, 4, 1):
            arguments = {
                "recipe": case.problem.recipe,
                "out_dtype": case.problem.out_dtype,
                "arithmetic": arithmetic,
                "split_k": split_k,
            }
            expected = emulate_block_scaled_mm(*operands, **arguments, engine="eager")
            if why_not(name, torch.device(device), arithmetic):
                with pytest.raises(ValueError, match=f"engine '{name}' cannot be used"):
                    emulate_block_scaled_mm(*operands, **arguments, engine=name)
            else:
                actual = emulate_block_scaled_mm(*operands, **arguments, engine=name)
                assert bool(same_bits(actual, expected).all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("arithmetic", [SM90, *OTHERS], ids=lambda a: a.name)
def test_a_compiled_engine_whose_package_is_here_works(arithmetic: Arithmetic, device: str) -> None:
    name = {"cpu": "numba", "cuda": "triton"}[device]
    expected = None if find_spec(name) else f"needs the package {name}"

    assert why_not(name, torch.device(device), arithmetic) == expected


@pytest.mark.parametrize("device", DEVICES)
def test_an_engine_is_always_found(device: str) -> None:
    for arithmetic in (
        SM90,
        Arithmetic("wide", 32, 25, "test"),
        Arithmetic("floor", 16, 13, "test", alignment="floor"),
    ):
        engine = engine_for(torch.device(device), arithmetic)
        assert engine.why_not(torch.device(device), arithmetic) is None
        assert engine.name == "eager" or is_plain(arithmetic)


def test_an_unknown_engine_is_named_with_the_choices() -> None:
    operands = build_operands(parse_case(f"gemm/{IDS[0]}")).tensors

    with pytest.raises(ValueError, match="unknown engine 'fortran'; choose one of triton, numba, eager"):
        emulate_block_scaled_mm(*operands, out_dtype=torch.float32, engine="fortran")


@pytest.mark.parametrize("case_id", IDS[:8])
@pytest.mark.parametrize("arithmetic", [SM90, *OTHERS], ids=lambda a: a.name)
def test_the_plain_model_is_the_same_model(arithmetic: Arithmetic, case_id: str) -> None:
    A, B, _, _ = build_operands(parse_case(f"gemm/{case_id}")).tensors
    lanes = Lanes.of(A, B, arithmetic)

    assert torch.equal(plain_block_products(lanes, arithmetic), block_products(lanes, arithmetic))
