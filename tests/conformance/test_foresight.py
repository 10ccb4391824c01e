"""What the doctor foresees of a product, against what was measured or what the contract says."""

from __future__ import annotations

import pytest

from cases import Problem
from conformance.contract.described import described
from conformance.deviations.entry import Machine
from conformance.doctor import examine
from conformance.errors import UsageError
from conformance.foresight import parse_shape, prospects, upstream_choice

HOPPER, BLACKWELL = (Machine(described(f"cuda/{arch}", "2.13.0")) for arch in ("sm90", "sm100"))
INTEL, AMD = (Machine(described(name, "2.13.0")) for name in ("xpu/bmg", "rocm/gfx942"))
PROCESSOR, OLD = Machine(described("cpu", "2.13.0")), Machine(described("cuda/sm90", "2.9.1"))


@pytest.mark.parametrize(
    ("machine", "shape", "expected"),
    [
        # Measured on an H200, see docs/measured.
        (HOPPER, (84, 7168, 2304), ("wrong", "right")),
        (HOPPER, (84, 5120, 6400), ("wrong", "right")),
        (HOPPER, (84, 576, 7168), ("right", "right")),
        (HOPPER, (84, 128, 256), ("right", "right")),
        (HOPPER, (84, 136, 512), ("right or refused", "right or refused")),
        (HOPPER, (0, 576, 7168), ("right or refused", "right or refused")),
        (BLACKWELL, (84, 7168, 2304), ("refused", "refused")),
        (OLD, (84, 7168, 2304), ("refused", "absent")),
        (INTEL, (84, 7168, 2304), ("right", "right")),
        (AMD, (84, 7168, 2304), ("refused", "refused")),
        (PROCESSOR, (84, 7168, 2304), ("refused", "refused")),
        (PROCESSOR, (1, 128, 128), ("right", "refused")),
    ],
)
def test_outcomes(machine: Machine, shape: tuple[int, int, int], expected: tuple[str, str]) -> None:
    assert tuple(prospect.outcome for prospect in prospects(Problem(*shape), machine)) == expected


def test_a_wrong_product_is_explained_with_its_source() -> None:
    v1, v2 = prospects(Problem(84, 7168, 2304), HOPPER)

    assert "leading dimension rounded up to 4" in v1.why
    assert "https://github.com/pytorch/pytorch/pull/164953" in v1.why
    assert v2.why == ""


def test_upstream_takes_triton_where_nothing_else_is_installed_and_warns_of_its_torch_kernel() -> None:
    choice = upstream_choice(Problem(84, 7168, 2304), HOPPER)

    assert choice["chosen"] == "TritonFp8BlockScaledMMKernel"
    assert "the product is wrong" in str(choice["forced"])
    assert upstream_choice(Problem(84, 576, 7168), HOPPER)["forced"] == ""


def test_upstream_has_nothing_for_a_cpu_without_its_kernels() -> None:
    choice = upstream_choice(Problem(84, 576, 7168), PROCESSOR)

    assert choice["chosen"] == ""
    assert len(dict(choice["passed_over"])) == 2  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "text", ["84,7168", "84,7168,0", "84x7168x2304", "-1,16,16", "a,b,c", "", "1,2,3,4", "1.5,16,16"]
)
def test_a_shape_that_is_none_is_answered_with_one_that_is(text: str) -> None:
    with pytest.raises(UsageError, match="such as 84,7168,2304"):
        parse_shape(text)


def test_the_doctor_describes_another_machine_and_another_torch() -> None:
    found = examine(("84,7168,2304",), on="cuda/sm90", torch_version="2.13.0")

    assert [device["path"] for device in found["devices"]] == ["sm90"]
    assert [api["outcome"] for api in found["shapes"][0]["apis"]] == ["wrong", "right"]
    assert "v1-b-scales-overrun" in {defect["id"] for defect in found["defects"]}
    assert examine(("84,7168,2304",), on="cuda/sm100", torch_version="2.13.0")["defects"] == []


def test_the_doctor_says_how_it_knows() -> None:
    (device,) = examine(on="cuda/sm90", torch_version="2.13.0")["devices"]

    assert device["evidence"]["v1"].startswith("measured: H200")
