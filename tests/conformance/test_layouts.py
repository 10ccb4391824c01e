"""Operands in other memory: what layouts look like, who passes in them, and whom they catch."""

from __future__ import annotations

from typing import Any

import kernels
import misreading_kernels as misreading
import pytest
import torch

from cases import Case, parse_case
from cases.operands import Operands, build_operands
from cases.scenarios import SCENARIOS
from conformance.backends.protocol import Backend
from conformance.bands import GUARD, Banded
from conformance.execute import Assignment, run_case
from conformance.layouts import LAYOUTS
from conformance.presentation import Presented, present
from conformance.probe import Platform
from conformance.soiling import _perturbing
from conformance.verdict import CaseRecord
from reference import emulate_block_scaled_mm
from reference.formats import FORMATS

PLATFORM = Platform("cpu", "x86_64", torch.__version__)
RAGGED = "1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
NAMES = tuple(LAYOUTS)
PLAIN = {"A": (400, 1), "B": (400, 1), "As": (1, 5), "Bs": (4, 1)}
STRIDES: dict[str, dict[str, tuple[int, int]]] = {
    "as-row-major": {"As": (4, 1)},
    "as-padded": {"As": (1, 9)},
    "bs-column-major": {"Bs": (1, 2)},
    "as-rows-padded": {"As": (8, 1)},
    "bs-columns-padded": {"Bs": (1, 6)},
    "bs-padded": {"Bs": (8, 1)},
    "a-rows-padded": {"A": (416, 1)},
    "b-rows-padded": {"B": (416, 1)},
    "a-rows-strided": {"A": (800, 1)},
    "b-rows-strided": {"B": (800, 1)},
    "a-column-major": {"A": (1, 5)},
    "b-column-major": {"B": (1, 144)},
    "scales-strided": {"As": (2, 10), "Bs": (8, 2)},
    "scales-expanded": {"As": (0, 1), "Bs": (0, 1)},
    "out-given": {"out": (144, 1)},
    "out-padded": {"out": (160, 1)},
}
POISONED = {
    "as-padded": "As",
    "bs-padded": "Bs",
    "as-rows-padded": "As",
    "bs-columns-padded": "Bs",
    "a-rows-padded": "A",
    "b-rows-padded": "B",
    "a-rows-strided": "A",
    "b-rows-strided": "B",
    "scales-strided": "As Bs",
    "scales-expanded": "As Bs",
    "offset-16": "A B As Bs",
    "offset-1": "A B As Bs",
    "poison-nan": "A B As Bs",
    "out-given": "out",
    "out-padded": "out",
}


def case_of(layout: str, rest: str = RAGGED) -> Case:
    return parse_case(f"layout/{layout}/{rest}" if layout else f"gemm/{rest}")


def operands_of(layout: str, rest: str = RAGGED) -> Operands:
    return build_operands(case_of(layout, rest))


def judged(subject: Any, layout: str, rest: str = RAGGED) -> CaseRecord:
    backend = Backend(subject() if isinstance(subject, type) else subject, spec="test")
    return run_case(Assignment.of(case_of(layout, rest), backend, PLATFORM), seed=0, device=torch.device("cpu"))


def bands_of(presented: Presented) -> dict[str, Banded]:
    bands = {band.name: band for band in presented.bands}
    return {**bands, "out": presented.target} if presented.target else bands


def test_every_layout_that_is_planned_is_there_and_no_other() -> None:
    planned = {scenario.name for scenario in SCENARIOS.values() if scenario.kind in ("gemm", "layout")}

    assert set(LAYOUTS) == planned


@pytest.mark.parametrize("layout", NAMES)
def test_strides_are_as_named(layout: str) -> None:
    presented = present(operands_of(layout), layout, out_dtype=torch.bfloat16)

    strides = {name: band.view.stride() for name, band in bands_of(presented).items()}
    assert strides == {**PLAIN, **STRIDES.get(layout, {})}


def test_empty_operands_have_the_strides_of_contiguous_ones() -> None:
    a, _, sa, _ = present(operands_of("", "1x128-128x128/m0-n144-k400/bf16/tagged-integers/s0")).tensors

    assert (a.stride(), sa.stride()) == ((400, 1), (1, 1))


@pytest.mark.parametrize(("layout", "codes", "scales"), [("", 0, 0), ("offset-16", 16, 16), ("offset-1", 1, 4)])
def test_addresses_are_as_named(layout: str, codes: int, scales: int) -> None:
    presented = present(operands_of(layout), layout)

    assert [x.data_ptr() % 64 for x in presented.tensors] == [codes, codes, scales, scales]
    assert [x.storage_offset() * x.element_size() for x in presented.tensors] == [
        GUARD + offset for offset in (codes, codes, scales, scales)
    ]


@pytest.mark.parametrize("shape", ["m5-n144-k400", "m1-n16-k256", "m0-n144-k400"])
@pytest.mark.parametrize("layout", NAMES)
def test_what_is_multiplied_is_the_same_in_every_layout(layout: str, shape: str) -> None:
    operands = operands_of(layout, f"1x128-128x128/{shape}/fp32/uniform-codes/s0")

    presented = present(operands, layout)

    for shown, original in zip(presented.tensors, operands.tensors, strict=True):
        assert (shown.shape, shown.dtype) == (original.shape, original.dtype)
        assert torch.equal(shown.float(), original.float())


def test_only_expanded_scales_are_other_operands_and_their_digest_says_so() -> None:
    digests = {layout: operands_of(layout).digest for layout in NAMES}
    expanded = operands_of("scales-expanded")

    assert {layout for layout in NAMES if digests[layout] != digests[""]} == {"scales-expanded"}
    assert {layout for layout in NAMES if case_of(layout).inputs != case_of("").inputs} == {"scales-expanded"}
    assert (expanded.As == expanded.As[0]).all()
    assert len(expanded.As[0].unique()) > 1


@pytest.mark.parametrize("layout", POISONED)
def test_every_byte_that_is_nobodys_is_poison_around_what_the_layout_is_about(layout: str) -> None:
    bands = bands_of(present(operands_of(layout), layout, out_dtype=torch.bfloat16))

    for name, band in bands.items():
        rows = 1 if LAYOUTS[layout].As.expanded and name in ("As", "Bs") else band.view.shape[0]
        own = rows * band.view.shape[1]
        band.view[:rows].zero_()
        numbers = band.buffer.view(band.view.dtype).float()
        foreign = numbers.numel() - own
        assert int(numbers.isnan().sum()) == (foreign if name in POISONED[layout].split() else 0)
        assert int((numbers == 0).sum()) == own


@pytest.mark.parametrize("formats", ["e4m3fn-e5m2", "e4m3fnuz-e5m2fnuz"])
@pytest.mark.parametrize("layout", ["poison-nan", "poison-inf", "poison-huge"])
def test_poison_is_what_the_format_has(layout: str, formats: str) -> None:
    case = f"1x128-128x128@{formats}/m5-n144-k400/bf16/uniform-codes/s0"
    a, b = (FORMATS[name] for name in formats.split("-"))
    infinity = [torch.inf if unit.infinity else torch.nan for unit in (a, b)]
    expected = {
        "poison-nan": [torch.nan] * 4,
        "poison-inf": [*infinity, torch.inf, torch.inf],
        "poison-huge": [a.max, b.max, 3e38, 3e38],
    }

    presented = present(operands_of(layout, case), layout)

    for band, value in zip(presented.bands, expected[layout], strict=True):
        for guard in (band.buffer[:GUARD], band.buffer[-GUARD:]):
            numbers = guard.view(band.view.dtype).float()
            assert torch.equal(numbers.nan_to_num(nan=-1), torch.full_like(numbers, value).nan_to_num(nan=-1))


@pytest.mark.parametrize("layout", ["", "as-row-major", "a-column-major", "out-given"])
def test_where_nothing_new_is_foreign_the_guards_are_the_usual_ones(layout: str) -> None:
    usual, bands = present(operands_of("")).bands, present(operands_of(layout), layout).bands

    for one, other in zip(usual, bands, strict=True):
        assert torch.equal(one.buffer[:GUARD], other.buffer[:GUARD])
        assert torch.equal(one.buffer[one.payload.stop :], other.buffer[other.payload.stop :])


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", ["A", "B", "As", "Bs"])
def test_a_changed_byte_is_noticed_in_every_layout_and_its_place_named(layout: str, name: str) -> None:
    operands = operands_of(layout)

    def after_changing(place: int) -> str | None:
        presented = present(operands, layout, out_dtype=torch.bfloat16)
        band = bands_of(presented)[name]
        band.buffer[place] ^= 1
        return presented.damage()

    payload = bands_of(present(operands, layout))[name].payload
    assert after_changing(payload.start) == f"1 bytes of {name} were overwritten"
    for place in (0, payload.start - 1, payload.stop, -1):
        assert after_changing(place) == f"1 bytes around {name} were overwritten"


def test_one_row_for_all_ends_where_that_row_does() -> None:
    presented = present(operands_of("scales-expanded"), "scales-expanded")
    band = bands_of(presented)["As"]

    band.buffer[band.payload.start + 4 * 4] ^= 1

    assert presented.damage() == "1 bytes around As were overwritten"


@pytest.mark.parametrize(
    ("layout", "name", "place", "parted"),
    [
        ("as-padded", "As", 5 * 4, "columns"),
        ("as-padded", "As", 4 * 9 * 4 - 1, "columns"),
        ("bs-padded", "Bs", 4 * 4, "rows"),
        ("a-rows-padded", "A", 400, "rows"),
        ("b-rows-strided", "B", 799, "rows"),
        ("scales-strided", "As", 4, "elements"),
        ("scales-strided", "Bs", 7, "elements"),
        ("out-padded", "out", 144 * 2, "rows"),
        ("out-padded", "out", 5 * 160 * 2 - 1, "rows"),
    ],
)
def test_a_changed_byte_between_is_noticed(layout: str, name: str, place: int, parted: str) -> None:
    presented = present(operands_of(layout), layout, out_dtype=torch.bfloat16)
    band = bands_of(presented)[name]

    band.buffer[band.payload.start + place] ^= 1

    assert presented.damage() == f"1 bytes between the {parted} of {name} were overwritten"


@pytest.mark.parametrize("layout", ["out-given", "out-padded"])
def test_out_may_be_written_and_nothing_around_it(layout: str) -> None:
    presented = present(operands_of(layout), layout, out_dtype=torch.bfloat16)
    assert presented.out is not None
    assert presented.out.isnan().all()

    presented.out.fill_(1)

    assert presented.damage() is None
    assert (presented.out == 1).all()
    for place in (0, -1):
        presented = present(operands_of(layout), layout, out_dtype=torch.bfloat16)
        bands_of(presented)["out"].buffer[place] ^= 1
        assert presented.damage() == "1 bytes around out were overwritten"


@pytest.mark.parametrize("shape", ["m5-n144-k400", "m1-n16-k256", "m0-n144-k400"])
@pytest.mark.parametrize("kernel", [kernels.Reversed, misreading.Into, misreading.IntoSilently])
@pytest.mark.parametrize("layout", NAMES)
def test_honest_kernels_pass_in_every_layout(layout: str, kernel: type, shape: str) -> None:
    record = judged(kernel, layout, f"1x128-128x128/{shape}/bf16/tagged-integers/s0")

    refuses = kernel is kernels.Reversed and layout.startswith("out")
    assert (record.verdict, record.detail) == ("unsupported" if refuses else "passed", "")
    assert record.output_digest or refuses


@pytest.mark.parametrize("recipe", ["128x128-1x128", "1x128-1x128"])
@pytest.mark.parametrize("layout", NAMES)
def test_every_recipe_has_every_layout(layout: str, recipe: str) -> None:
    class Emulating(misreading.Into):
        def apply_block_scaled_mm(self, *operands: Any, out: torch.Tensor | None = None, **how: Any) -> Any:
            result = emulate_block_scaled_mm(*operands, **how)
            return result if out is None else self.write(result, out)

    record = judged(Emulating, layout, f"{recipe}/m130-n144-k144/fp32/tagged-integers/s0")

    assert (record.verdict, record.detail) == ("passed", "")


@pytest.mark.parametrize(
    ("kernel", "layout"),
    [
        (misreading.ColumnMajorAs, "as-row-major"),
        (misreading.UnpaddedAs, "as-padded"),
        (misreading.RowMajorBs, "bs-column-major"),
        (misreading.UnpaddedBs, "bs-padded"),
        (misreading.UnpaddedA, "a-rows-padded"),
        (misreading.UnpaddedB, "b-rows-padded"),
        (misreading.NarrowlyPadded, "a-rows-strided"),
        (misreading.NarrowlyPadded, "b-rows-strided"),
        (misreading.RowMajorA, "a-column-major"),
        (misreading.RowMajorB, "b-column-major"),
        (misreading.DenseScales, "scales-strided"),
        (misreading.StrideZeroForOne, "scales-expanded"),
        (misreading.RoundsDown, "offset-16"),
        (misreading.RoundsDownTo16, "offset-1"),
        (misreading.ReadsBehind, "poison-nan"),
        (misreading.ReadsCodesBehind, "poison-nan"),
        (misreading.WashesNaN, "poison-inf"),
        (misreading.WashesAllButHuge, "poison-huge"),
        (misreading.AddsToOut, "out-given"),
        (misreading.ForgetsTheLast, "out-given"),
    ],
)
def test_a_misreading_kernel_is_caught_by_its_layout_and_not_by_a_plain_call(kernel: type, layout: str) -> None:
    plain, found = judged(kernel, ""), judged(kernel, layout)

    assert (plain.verdict, plain.reason) == ("passed", "")
    assert (found.verdict, found.reason) == ("failed", "wrong-values")


@pytest.mark.parametrize(
    ("kernel", "layout"),
    [
        (misreading.UnpaddedAs, "as-row-major"),
        (misreading.NarrowlyPadded, "a-rows-padded"),
        (misreading.RoundsDownTo16, "offset-16"),
        (misreading.WashesNaN, "poison-nan"),
        (misreading.WashesAllButHuge, "poison-inf"),
        (misreading.UnpaddedOut, "out-given"),
    ],
)
def test_a_misreading_kernel_passes_in_the_next_layout(kernel: type, layout: str) -> None:
    assert judged(kernel, layout).verdict == "passed"


@pytest.mark.parametrize(
    ("kernel", "layout", "reason", "says"),
    [
        (misreading.IgnoresOut, "out-given", "out-not-used", "another tensor than `out` came back, and `out` still"),
        (misreading.WritesAndReturnsAnother, "out-given", "out-not-used", "and `out` was written to"),
        (misreading.ReturnsAView, "out-given", "out-not-used", "another view of `out` came back"),
        (misreading.ReturnsTrue, "out-given", "not-a-tensor", "a bool came"),
        (misreading.UnpaddedOut, "out-padded", "memory-changed", "bytes between the rows of out were overwritten"),
        (misreading.WholeLines, "out-padded", "memory-changed", "160 bytes between the rows of out were overwritten"),
    ],
)
def test_an_out_that_is_not_used_as_it_must_has_its_own_sentence(
    kernel: type, layout: str, reason: str, says: str
) -> None:
    plain, found = judged(kernel, ""), judged(kernel, layout)

    assert plain.verdict == "passed"
    assert (found.verdict, found.reason) == ("failed", reason)
    assert says in found.detail


@pytest.mark.parametrize(
    ("kernel", "says"),
    [(misreading.Expands, "(0, 1)"), (misreading.Slides, "(1, 1)"), (misreading.OneForAll, "(0, 0)")],
)
def test_a_result_whose_elements_share_memory_fails(kernel: type, says: str) -> None:
    record = judged(kernel, "")

    assert (record.verdict, record.reason) == ("failed", "elements-shared")
    assert says in record.detail


@pytest.mark.parametrize(("kernel", "m"), [(misreading.Expands, 1), (misreading.Slides, 1), (misreading.ByColumn, 5)])
def test_strides_that_share_no_memory_are_nobodys_business(kernel: type, m: int) -> None:
    record = judged(kernel, "", f"1x128-128x128/m{m}-n144-k400/bf16/tagged-integers/s0")

    assert (record.verdict, record.reason) == ("passed", "")


@pytest.mark.parametrize("layout", ["out-given", "out-padded"])
def test_any_empty_result_will_do_where_there_is_nothing_to_write(layout: str) -> None:
    record = judged(misreading.IgnoresOut, layout, "1x128-128x128/m0-n144-k400/bf16/tagged-integers/s0")

    assert (record.verdict, record.reason) == ("passed", "")


@pytest.mark.skipif(_perturbing() is None, reason="memory that a kernel recycles itself is soiled with glibc alone")
@pytest.mark.parametrize("shape", ["m2-n16-k128", "m5-n144-k400", "m1100-n1024-k128"])
@pytest.mark.parametrize("out", ["bf16", "fp16", "fp32"])
def test_rows_never_written_show_although_their_memory_held_the_right_ones(shape: str, out: str) -> None:
    record = judged(misreading.Recycles, "", f"1x128-128x128/{shape}/{out}/tagged-integers/s0")

    assert record.measured is not None
    rows, columns = (int(size[1:]) for size in shape.split("-")[:2])
    assert (record.reason, record.measured.wrong) == ("wrong-values", columns)
    assert record.measured.first_wrong[0].row == rows - 1
