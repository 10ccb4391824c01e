"""The exact families: pinned bytes, exact in every legal kernel, and the fault that each shows and tags do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from legal_kernels import legal_results
from torch import Tensor

from cases import FAMILIES, OUT_DTYPES, Case, Problem
from cases.fill import FILLS, Values
from cases.operands import Operands, build_operands
from cases.stream import Stream
from reference import FORMATS, decode, exact_block_matmul, round_to
from reference.exactness import why_not_exact

EXACT = [name for name, family in FAMILIES.items() if family.tier == "exact"]
RECIPES = ("1x128-128x128", "128x128-1x128", "1x128-1x128")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
MANY_BLOCKS = 128 * 18 + 64

every_family = pytest.mark.parametrize("family", EXACT)
every_recipe = pytest.mark.parametrize("recipe", RECIPES)
either_side = pytest.mark.parametrize("seed", [0, 1])


def case_of(family: str, m: int = 5, n: int = 144, k: int = 400, *, seed: int = 0, **problem: str) -> Case:
    return Case(Problem(m, n, k, **problem), FAMILIES[family], seed)


def build(family: str, m: int = 5, n: int = 144, k: int = 400, *, seed: int = 0, **problem: str) -> Operands:
    case = case_of(family, m, n, k, seed=seed, **problem)
    assert case.why_not() is None
    return build_operands(case)


def exact(operands: Operands, recipe: str = RECIPES[0], **changed: Tensor) -> Tensor:
    """The result of an otherwise right kernel that takes the operands for the ``changed`` ones."""
    tensors = dict(zip(("A", "B", "As", "Bs"), operands.tensors, strict=True))
    return exact_block_matmul(**{**tensors, **changed}, recipe=recipe)


def differ(x: Tensor, y: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Where two results differ after the store; two NaN do not."""
    x, y = round_to(x, dtype), round_to(y, dtype)
    return (x != y) & ~(x.isnan() & y.isnan())


# Bytes.


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("integer-codes", "ee306112 3b301dc8 a825c88a"),
        ("subnormal-codes", "62a54a0a 6edf7c13 23e15313"),
        ("odd-scales", "bbe5d299 7fb2fd2c 08691186"),
        ("full-scales", "f84a31eb 916dd786 1e68f8e6"),
        ("code-pairs", "51331873 b60c38cd 682dcb82"),
        ("one-scale", "8feee8e5 fcd242a0 d761aa85"),
        ("signed-scales", "f0b88f23 7915735a 928b92a7"),
        ("wide-scales", "76375aac 418f5b2e ea00639a"),
        ("zero-blocks", "dbd29094 0ca5361f 377288ef"),
        ("one-nan", "b00c3470 96f4fbf2 b147a668"),
        ("overflow", "753395ba 7a7eab8e 0f6bde06"),
    ],
)
def test_bytes_never_change(family: str, expected: str) -> None:
    actual = [build(family, seed=i, recipe=recipe).digest[:8] for i, recipe in enumerate(RECIPES)]

    assert " ".join(actual) == expected


@every_family
def test_bytes_depend_on_the_seed_and_not_on_the_output_dtype(family: str) -> None:
    outs = {build(family, out=out).digest for out in OUT_DTYPES}
    seeds = {build(family, seed=seed).digest for seed in (0, 1, 2)}

    assert len(outs) == 1
    assert len(seeds) == 3


@every_family
@every_recipe
@pytest.mark.parametrize(("a", "b"), [("e4m3fn", "e5m2"), ("e4m3fnuz", "e4m3fnuz"), ("e5m2fnuz", "e4m3fn")])
def test_every_format_is_filled_with_exact_data(family: str, recipe: str, a: str, b: str) -> None:
    for seed in (0, 1):
        A, B, As, Bs = build(family, 130, 144, 272, seed=seed, recipe=recipe, a=a, b=b).tensors

        assert (A.dtype, B.dtype) == (FORMATS[a].dtype, FORMATS[b].dtype)
        assert all(x.is_contiguous() for x in (A, B, As, Bs))
        assert As.dtype == Bs.dtype == torch.float32


@every_family
def test_a_result_without_rows_is_filled(family: str) -> None:
    case = case_of(family, 0)

    assert case.why_not() or build_operands(case).A.shape == (0, 400)


# Exactness, shown on kernels.


@every_family
@every_recipe
def test_every_legal_kernel_gives_the_same_bits(family: str, recipe: str) -> None:
    shape, seed = {
        RECIPES[0]: ((5, 144, 400), 0),
        RECIPES[1]: ((130, 16, 272), 1),
        RECIPES[2]: ((19, 32, 1100), 2),
    }[recipe]
    operands = build(family, *shape, seed=seed, recipe=recipe)
    expected = exact(operands, recipe)

    for name, result in legal_results(*operands.tensors, recipe=recipe):
        for dtype in DTYPES:
            stored, right = result.to(dtype), round_to(expected, dtype)
            same = (stored == right) | (stored.isnan() & right.isnan())
            if family == "one-nan":
                same |= ~stored.isfinite() & ~right.isfinite()
            assert same.all(), f"{name} in {dtype}"


@pytest.mark.parametrize(
    ("family", "blocks"),
    [("integer-codes", 2048), ("subnormal-codes", 260), ("odd-scales", 16), ("one-scale", 511)],
)
def test_the_most_k_blocks_are_exact_and_one_more_is_refused(family: str, blocks: int) -> None:
    for seed in (0, 1):
        assert build(family, 1, 16, 128 * blocks, seed=seed, out="fp32" if family != "one-scale" else "bf16")

    largest = "fp16" if family == "one-scale" else "bf16"
    reason = case_of(family, 1, 16, 128 * (blocks + 1), out=largest).why_not()

    assert reason is not None
    assert "its partial sums reach" in reason or "beyond float16" in reason


@pytest.mark.parametrize("family", ["integer-codes", "subnormal-codes", "odd-scales", "signed-scales", "zero-blocks"])
@pytest.mark.parametrize("k", [128, 1040, MANY_BLOCKS])
def test_sums_are_finite_and_normal_in_float16(family: str, k: int) -> None:
    case = case_of(family, 33, 144, k)
    sizes = exact(build_operands(case)).abs() if case.why_not() is None else torch.ones(1)

    assert sizes.max() <= 65504
    assert sizes[sizes > 0].min() >= 2.0**-14


def test_data_that_is_not_exact_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def inexact(case: Case, stream: Stream) -> Values:
        codes = torch.full((4, 128), 13.0).to(torch.float8_e4m3fn)
        return codes, codes, torch.ones(4, 1), torch.ones(1, 1)

    monkeypatch.setitem(FILLS, "integer-codes", inexact)

    with pytest.raises(AssertionError, match="is not exact: sums inside a K block reach 21632"):
        build("integer-codes", 4, 4, 128)


# What each family shows that ternary data under positive tags does not.


@either_side
def test_a_lost_product_or_a_flipped_sign_always_shows_in_integer_codes(seed: int) -> None:
    hidden = {}
    for family in ("integer-codes", "tagged-integers"):
        operands = build(family, 33, 16, 1040, seed=seed)
        values, right = decode(operands.A), exact(operands)
        unseen = 0
        for lane in (0, 7, 500, 1024, 1039):
            lost, flipped = values.clone(), values.clone()
            lost[:, lane], flipped[:, lane] = 0.0, -flipped[:, lane]
            for changed in (lost, flipped):
                unseen += int((~differ(exact(operands, A=changed.to(operands.A.dtype)), right)).sum())
        hidden[family] = unseen

    assert hidden["integer-codes"] == 0
    assert hidden["tagged-integers"] > 1000


@pytest.mark.parametrize(("k", "a", "b"), [(128, 11, 11), (MANY_BLOCKS, 10, 10), (7168, 6, 6), (128 * 1000, 1, 2)])
def test_integer_codes_are_all_integers_that_the_k_blocks_allow(k: int, a: int, b: int) -> None:
    A, B, _, _ = build("integer-codes", 9, 16, k).tensors

    assert decode(A).abs().unique().tolist() == list(range(1, a + 1))
    assert decode(B).abs().unique().tolist() == list(range(1, b + 1))
    assert abs(decode(A).sign().mean().item()) < 0.1


@every_recipe
def test_scales_of_integer_codes_are_powers_of_two_that_differ_between_neighbours(recipe: str) -> None:
    _, _, As, Bs = build("integer-codes", 260, 400, 1040, recipe=recipe).tensors

    for scale in (As, Bs):
        assert torch.equal(scale.log2(), scale.log2().round())
        assert (scale[1:] != scale[:-1]).all()
        assert (scale[:, 1:] != scale[:, :-1]).all()


def flushed(codes: Tensor) -> Tensor:
    values = decode(codes)
    return torch.where(values.abs() < 2.0**-6, 0.0, values).to(codes.dtype)


@either_side
def test_flushed_subnormals_show_on_the_side_that_has_them(seed: int) -> None:
    operands, tagged = build("subnormal-codes", seed=seed), build("tagged-integers", seed=seed)
    side = "AB"[seed]

    wrong = differ(exact(operands, **{side: flushed(getattr(operands, side))}), exact(operands))

    assert wrong.double().mean() > 0.9
    assert not differ(exact(tagged, A=flushed(tagged.A), B=flushed(tagged.B)), exact(tagged)).any()
    assert decode(getattr(operands, side)).abs().mul(512).unique().tolist() == list(range(1, 8))
    assert decode(getattr(operands, "BA"[seed])).unique().tolist() == [-2, -1, 0, 1, 2]


CUT: dict[str, Callable[[Tensor], Tensor]] = {
    "bfloat16": lambda scale: scale.bfloat16().float(),
    "float16": lambda scale: scale.half().float(),
    "10 fraction bits": lambda scale: (scale.view(torch.int32) & -(1 << 13)).view(torch.float32),
    "powers of two": lambda scale: scale.log2().floor().exp2(),
}


@either_side
@pytest.mark.parametrize("cut", CUT)
def test_cut_scales_show_in_odd_scales(cut: str, seed: int) -> None:
    operands, tagged = build("odd-scales", seed=seed), build("tagged-integers", seed=seed)

    def taken(given: Operands) -> Tensor:
        return exact(given, As=CUT[cut](given.As), Bs=CUT[cut](given.Bs))

    assert differ(taken(operands), exact(operands)).double().mean() > 0.9
    assert cut == "powers of two" or not differ(taken(tagged), exact(tagged)).any()


@either_side
@every_recipe
def test_a_single_lost_bit_of_a_scale_shows_in_full_scales(recipe: str, seed: int) -> None:
    operands = build("full-scales", 33, 48, 400, seed=seed, recipe=recipe)
    odd = build("odd-scales", 33, 48, 400, seed=seed, recipe=recipe)

    def taken(given: Operands) -> Tensor:
        side = ("As", "Bs")[seed]
        cut = (getattr(given, side).view(torch.int32) & -2).view(torch.float32)
        return exact(given, recipe, **{side: cut})

    assert differ(taken(operands), exact(operands, recipe)).all()
    assert not differ(taken(odd), exact(odd, recipe)).any()


@pytest.mark.parametrize("family", ["full-scales", "overflow"])
@pytest.mark.parametrize(("m", "n"), [(130, 16), (3, 144)])
def test_lone_products_meet_every_lane_and_block_over_the_seeds(family: str, m: int, n: int) -> None:
    seen: set[int] = set()

    for seed in range(4):
        A, B, _, _ = build(family, m, n, 272, seed=seed).tensors
        longer, shorter = (A, B) if m >= n else (B, A)
        rows, places = decode(longer).nonzero(as_tuple=True)
        seen |= set(places.tolist())
        assert rows.tolist() == list(range(longer.shape[0])), "one code a row"
        assert decode(shorter).abs().eq(1).all()
        assert (places // 128).bincount(minlength=3).min() >= longer.shape[0] // 3

    assert seen == set(range(272))


def test_code_pairs_are_all_65536_of_them() -> None:
    operands = build("code-pairs", 256, 256, 128)
    values = FORMATS["e4m3fn"].values.double()
    scales = operands.As.double() * operands.Bs.double().repeat_interleave(128, 0).t()

    actual = exact(operands)

    expected = values[:, None] * values[None, :] * scales
    assert actual.isnan().any()
    assert not differ(actual, expected).any()
    assert torch.equal(actual.isnan(), values.isnan()[:, None] | values.isnan()[None, :])


def test_every_code_meets_every_lane_over_the_seeds_of_code_pairs() -> None:
    case = case_of("code-pairs", 256, 16, 256)
    lanes = []

    for seed in range(case.family.seeds(case.problem) or 0):
        A = build("code-pairs", 256, 16, 256, seed=seed).A.view(torch.uint8)
        alone = A[1:].nonzero()
        assert alone[:, 0].tolist() == list(range(255)), "one code a row, and zero in the first"
        lanes.append(alone[:, 1] % 128)

    assert len(lanes) == 128
    assert torch.stack(lanes).sort(0).values.eq(torch.arange(128)[:, None]).all()
    assert case_of("code-pairs", 256, 16, 100, seed=100).why_not() is not None


@pytest.mark.parametrize("code", [0x01, 0x07, 0x08, 0x35, 0x7E, 0x81, 0xFE])
def test_one_code_decoded_wrongly_shows_in_code_pairs_alone(code: int) -> None:
    operands, tagged = build("code-pairs", 256, 16, 128), build("tagged-integers", 256, 16, 128)

    def wrong(given: Operands) -> Tensor:
        bits = given.A.view(torch.uint8)
        taken = torch.where(bits == code, bits ^ 0x01, bits).view(given.A.dtype)
        return differ(exact(given, A=taken), exact(given))

    assert wrong(operands).any(1).nonzero().flatten().tolist() == [code]
    assert not wrong(tagged).any()


@every_recipe
def test_each_seed_of_one_scale_edits_its_own_scale_and_names_it(recipe: str) -> None:
    m, n, k = 130, 144, 272
    problem = Problem(m, n, k, recipe=recipe)
    family = FAMILIES["one-scale"]
    count = family.seeds(problem) or 0
    found = set()

    for seed in range(0, count, 7):
        operands = build("one-scale", m, n, k, seed=seed, recipe=recipe)
        rows, columns = ((exact(operands, recipe) != k).any(axis).nonzero().flatten() for axis in (1, 0))
        excess = (exact(operands, recipe) - k).max().item()
        edited = [(x > 1).nonzero().tolist() for x in (operands.As, operands.Bs)]
        (row, block) = (edited[0] + edited[1])[0]
        assert len(edited[0]) + len(edited[1]) == 1
        assert excess == (1 + block) * min(128, k - 128 * block), "the excess names the K block"
        assert len(rows) * len(columns) in (n, 128 * n, 2 * n, m, 128 * m, 16 * m)
        found.add((bool(edited[0]), row, block))
        side = "As" if edited[0] else "Bs"
        assert family.note(problem, seed).startswith(f"the one edited scale is {side}[")
        assert family.note(problem, seed).endswith(f" {row}, K block {block}]")

    assert len(found) == len(range(0, count, 7))
    assert case_of("one-scale", m, n, k, seed=count, recipe=recipe).why_not() is not None


@pytest.mark.parametrize(
    ("recipe", "seed", "expected"),
    [
        ("1x128-128x128", 0, "As[row 0, K block 0]"),
        ("1x128-128x128", 3 * 3 + 1, "As[row 3, K block 1]"),
        ("1x128-128x128", 15 + 3 + 2, "Bs[N block 1, K block 2]"),
        ("128x128-1x128", 2, "As[M block 0, K block 2]"),
        ("1x128-1x128", 15 + 3 * 7 + 2, "Bs[row 7, K block 2]"),
    ],
)
def test_a_note_names_the_scale_as_its_recipe_has_it(recipe: str, seed: int, expected: str) -> None:
    actual = FAMILIES["one-scale"].note(Problem(5, 144, 272, recipe=recipe), seed)

    assert actual == f"the one edited scale is {expected}"


def test_lost_signs_and_zeros_taken_for_ones_show_in_signed_scales() -> None:
    operands, tagged = build("signed-scales"), build("tagged-integers")

    def without_sign(given: Operands) -> Tensor:
        return differ(exact(given, As=given.As.abs(), Bs=given.Bs.abs()), exact(given))

    def without_zeros(given: Operands) -> Tensor:
        ones = (torch.where(scale == 0, 1.0, scale) for scale in (given.As, given.Bs))
        return differ(exact(given, **dict(zip(("As", "Bs"), ones, strict=True))), exact(given))

    assert without_sign(operands).double().mean() > 0.8
    assert without_zeros(operands).double().mean() > 0.2
    assert not (without_sign(tagged) | without_zeros(tagged)).any()


@either_side
def test_clamped_exponents_show_in_wide_scales(seed: int) -> None:
    operands, tagged = build("wide-scales", k=2000, seed=seed), build("tagged-integers", k=2000, seed=seed)

    def clamped(given: Operands) -> Tensor:
        as_, bs = (scale.clamp(2.0**-70, 2.0**70) for scale in (given.As, given.Bs))
        return differ(exact(given, As=as_, Bs=bs), exact(given))

    assert clamped(operands).double().mean() > 0.9
    assert not clamped(tagged).any()
    tiny, huge = (operands.As, operands.Bs) if seed == 0 else (operands.Bs, operands.As)
    assert tiny.max() < 1e-21
    assert huge.max() > 1e33
    assert exact(operands).abs().max() < 65504


@every_recipe
def test_scales_of_zero_blocks_that_are_normalised_with_the_others_show(recipe: str) -> None:
    operands = build("zero-blocks", 130, 144, 400, recipe=recipe)
    tagged = build("tagged-integers", 130, 144, 400, recipe=recipe)

    def normalised(given: Operands) -> Tensor:
        """The scales of a row as float16 beside a power of two for all of them."""
        taken = []
        for scale in (given.As, given.Bs):
            shared = scale.amax(1, keepdim=True).log2().floor().exp2()
            taken.append((scale / shared).half().float() * shared)
        return differ(exact(given, recipe, As=taken[0], Bs=taken[1]), exact(given, recipe))

    assert normalised(operands).double().mean() > 0.5
    assert not normalised(tagged).any()


def test_zero_blocks_are_whole_blocks_of_zeros_of_either_sign_under_large_scales() -> None:
    A, B, As, Bs = build("zero-blocks", 130, 400, 400).tensors

    for codes, scale, per_scale in ((A, As, 1), (B, Bs, 128)):
        large = scale > 1e9
        spread = large.repeat_interleave(per_scale, 0)[: codes.shape[0]].repeat_interleave(128, 1)[:, :400]
        assert 0.1 < large.double().mean() < 0.5
        assert set(codes.view(torch.uint8)[spread].tolist()) == {0x00, 0x80}
        assert (decode(codes)[~spread] != 0).double().mean() > 0.4


@every_family
def test_operands_are_seen_to_be_exact_by_the_check_alone(family: str) -> None:
    tensors = build(family).tensors

    assert why_not_exact(*tensors) is None
    assert why_not_exact(*tensors[:2], tensors[2] * 1.0000001, tensors[3] * 1.0000001) is not None
