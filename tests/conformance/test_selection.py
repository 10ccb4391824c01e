"""Upstream's choice among kernels, on described platforms, and what the suite says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from cases import Problem
from conformance.backends.asking import Answer
from conformance.backends.torch_v1 import TorchV1
from conformance.errors import UsageError
from conformance.probe import Platform
from conformance.upstream.candidates import (
    CANDIDATES,
    HUMMING,
    MARLIN,
    TORCH,
    TRITON,
    Candidate,
    candidates_for,
    differences,
)
from conformance.upstream.selection import NoKernelFitsError, NoKernelOfBackend, select
from conformance.upstream.verdicts import accepted_but_wrong, reached_by

HOPPER = Platform("cuda", "sm90", "2.11.0+cu130", "13.0")
ADA = Platform("cuda", "sm89", "2.11.0+cu130", "13.0")
BLACKWELL = Platform("cuda", "sm100", "2.11.0+cu130", "13.0")
INTEL = Platform("xpu", "Intel(R) Arc(TM) B580", "2.13.0+xpu")
AMD = Platform("rocm", "gfx942", "2.12.0+rocm7.0", "7.0")
PROCESSOR = Platform("cpu", "x86_64", "2.13.0+cpu")
APPLE = Platform("mps", "arm64", "2.15.0")
EVERYWHERE = (HOPPER, ADA, BLACKWELL, INTEL, AMD, PROCESSOR, APPLE)

UPSTREAM = Problem(83, 576, 7168)
SHARED_EXPERT = Problem(84, 7168, 256)
YES: Answer = (True, None)


def names(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.name for candidate in candidates]


def fake(name: str, supported: Answer = YES, implemented: Answer = YES, *, backend: str | None = None) -> Candidate:
    return Candidate(name, backend, lambda _: supported, lambda _: implemented, "a test")


FIRST, SECOND = fake("First", backend="one"), fake("Second", backend="two")
OLD, NARROW = fake("Old", (False, "too old.")), fake("Narrow", YES, (False, "too narrow."))


# The candidates


def test_the_order_is_that_of_upstream() -> None:
    assert {kind: names(tried) for kind, tried in CANDIDATES.items()} == {
        "cuda": [
            "FlashInferFp8DeepGEMMDynamicBlockScaledKernel",
            "DeepGemmFp8BlockScaledMMKernel",
            "CutlassFp8BlockScaledMMKernel",
            "B12xFp8BlockScaledMMKernel",
            "MarlinFP8ScaledMMLinearKernel",
            "HummingFP8ScaledMMLinearKernel",
            "TritonFp8BlockScaledMMKernel",
            "BlockWiseTorchFP8ScaledMMLinearKernel",
        ],
        "rocm": ["AiterFp8BlockScaledMMKernel", "TritonFp8BlockScaledMMKernel"],
        "cpu": ["CPUFp8W8A8BlockScaledMMKernel", "CPUFp8BlockScaledMMKernel"],
        "xpu": ["XPUFp8BlockScaledMMKernel", "TritonFp8BlockScaledMMKernel", "BlockWiseTorchFP8ScaledMMLinearKernel"],
    }


@pytest.mark.parametrize(
    ("described", "ahead"), [(HOPPER, True), (ADA, False), (BLACKWELL, False)], ids=["sm90", "sm89", "sm100"]
)
def test_humming_is_directly_ahead_of_marlin_on_hopper_alone(described: Platform, ahead: bool) -> None:
    tried = names(candidates_for(described))
    pair = [HUMMING.name, MARLIN.name] if ahead else [MARLIN.name, HUMMING.name]

    assert tried[4:6] == pair
    assert [*tried[:4], *tried[6:]] == [name for name in names(CANDIDATES["cuda"]) if name not in pair]


@pytest.mark.parametrize("described", EVERYWHERE, ids=lambda platform: str(platform.arch))
def test_the_torch_kernel_answers_as_the_backend_does(described: Platform) -> None:
    kernel = TorchV1()

    assert TORCH.is_supported(described) == kernel.is_supported(described)
    for recipe in ("1x128-128x128", "128x128-1x128", "1x128-1x128"):
        problem = replace(UPSTREAM, recipe=recipe)
        assert TORCH.can_implement(problem) == kernel.can_implement(problem)


@pytest.mark.parametrize("described", EVERYWHERE, ids=lambda platform: str(platform.arch))
def test_triton_is_supported_on_gpus_but_those_of_apple(described: Platform) -> None:
    assert TRITON.is_supported(described)[0] is (described.kind in ("cuda", "rocm", "xpu"))


@pytest.mark.parametrize("described", [HOPPER, INTEL, AMD, PROCESSOR], ids=lambda platform: str(platform.kind))
def test_other_kernels_are_not_installed_unless_the_caller_answers(described: Platform) -> None:
    others = [candidate for candidate in candidates_for(described) if candidate not in (TRITON, TORCH)]
    assert others
    assert {candidate.is_supported(described) for candidate in others} == {
        (False, "not installed, unless the caller says otherwise.")
    }

    first = others[0].name
    answering = candidates_for(described, {first: YES})
    assert select(answering, described, UPSTREAM).chosen == first


@pytest.mark.parametrize("name", ["MarlinFP8ScaledMMLinearKernels", TRITON.name, TORCH.name])
def test_callers_answer_for_no_kernel_that_answers_itself_or_is_unknown(name: str) -> None:
    with pytest.raises(UsageError, match=f"unknown kernel to answer for '{name}'"):
        candidates_for(HOPPER, {name: YES})


# The choice


@pytest.mark.parametrize(
    ("described", "chosen"), [(HOPPER, TRITON), (BLACKWELL, TRITON), (INTEL, TRITON), (AMD, TRITON)]
)
def test_where_nothing_else_is_installed_triton_is_chosen(described: Platform, chosen: Candidate) -> None:
    selection = select(candidates_for(described), described, UPSTREAM)

    assert selection.chosen == chosen.name
    before = names(candidates_for(described)).index(chosen.name)
    assert list(selection.passed_over) == names(candidates_for(described))[:before]
    assert set(selection.passed_over.values()) == {"not installed, unless the caller says otherwise."}


@pytest.mark.parametrize("described", [PROCESSOR, APPLE], ids=["cpu", "mps"])
def test_without_its_own_kernels_a_cpu_has_none_and_upstream_knows_none_for_apple(described: Platform) -> None:
    tried = candidates_for(described)

    with pytest.raises(ValueError, match=r"^no kernel fits this linear layer\n") as caught:
        select(tried, described, UPSTREAM)
    assert len(tried) == {"cpu": 2, "mps": 0}[described.kind]
    for name in names(tried) or ["there is none to try here"]:
        assert name in str(caught.value)


@pytest.mark.parametrize("described", [HOPPER, INTEL], ids=["sm90", "xpu"])
def test_the_torch_kernel_is_reached_by_its_backend_or_by_disabling_the_others(described: Platform) -> None:
    tried = candidates_for(described)

    assert select(tried, described, UPSTREAM, backend="torch").chosen == TORCH.name
    assert select(tried, described, UPSTREAM, disabled=[TRITON.name]).chosen == TORCH.name
    assert select(tried, described, UPSTREAM, backend="auto").chosen == TRITON.name


def test_the_first_that_fits_is_chosen_and_all_before_it_have_their_reason() -> None:
    selection = select((OLD, NARROW, FIRST, SECOND), HOPPER, UPSTREAM)

    assert (selection.chosen, selection.passed_over) == ("First", {"Old": "too old.", "Narrow": "too narrow."})


def test_a_kernel_is_asked_for_the_problem_only_where_its_platform_is_supported() -> None:
    def never(_: Problem) -> Answer:
        raise AssertionError("asked for a problem")

    selection = select((replace(OLD, can_implement=never), FIRST), HOPPER, UPSTREAM)

    assert selection.passed_over == {"Old": "too old."}


def test_a_refusal_without_a_reason_is_still_a_refusal() -> None:
    assert select((fake("Mute", (False, None)), FIRST), HOPPER, UPSTREAM).passed_over == {"Mute": "no reason given."}


def test_where_nothing_fits_every_name_has_its_reason_in_the_error() -> None:
    with pytest.raises(NoKernelFitsError) as caught:
        select((OLD, NARROW, FIRST), HOPPER, UPSTREAM, disabled=("First",))

    assert str(caught.value).splitlines()[1:] == [
        "Old: too old.",
        "Narrow: too narrow.",
        "First: disabled by its name.",
    ]
    assert list(caught.value.passed_over) == ["Old", "Narrow", "First"]


def test_a_backend_that_does_not_fit_is_no_reason_to_try_others() -> None:
    with pytest.raises(NoKernelFitsError) as caught:
        select(candidates_for(BLACKWELL), BLACKWELL, UPSTREAM, backend="torch")

    assert list(caught.value.passed_over) == [TORCH.name]
    assert "requires compute capability 90 (Hopper)" in str(caught.value)


def test_a_backend_without_a_kernel_restricts_nothing_and_says_so() -> None:
    with pytest.warns(NoKernelOfBackend, match="no kernel of backend 'torch' here") as caught:
        selection = select(candidates_for(AMD), AMD, UPSTREAM, backend="torch")

    assert selection.chosen == TRITON.name
    assert caught[0].filename == __file__


def test_a_forced_kernel_is_tried_first_and_need_not_be_a_candidate() -> None:
    assert select((FIRST, SECOND), HOPPER, UPSTREAM, force=SECOND).chosen == "Second"
    assert select((FIRST,), HOPPER, UPSTREAM, force=SECOND, backend="unknown").passed_over == {}
    assert select(candidates_for(AMD), AMD, UPSTREAM, force=TORCH).chosen == TORCH.name


@pytest.mark.parametrize(
    ("force", "disabled", "reason"),
    [(OLD, (), "too old."), (NARROW, (), "too narrow."), (SECOND, ("Second",), "disabled by its name.")],
    ids=["unsupported", "unable", "disabled"],
)
def test_a_forced_kernel_that_does_not_fit_is_passed_over(
    force: Candidate, disabled: tuple[str, ...], reason: str
) -> None:
    selection = select((FIRST, SECOND), HOPPER, UPSTREAM, force=force, disabled=disabled)

    assert (selection.chosen, selection.passed_over) == ("First", {force.name: reason})


def test_disabling_is_by_the_whole_name() -> None:
    assert select((FIRST, SECOND), HOPPER, UPSTREAM, disabled=["Fir", "second"]).chosen == "First"
    assert select((FIRST, SECOND), HOPPER, UPSTREAM, disabled=["First"]).chosen == "Second"


# What the suite says of it


@pytest.mark.parametrize("described", EVERYWHERE, ids=lambda platform: str(platform.arch))
@pytest.mark.parametrize("recipe", ["1x128-128x128", "128x128-1x128"])
def test_our_candidates_reach_the_torch_kernel_as_upstream_says(described: Platform, recipe: str) -> None:
    problem = replace(UPSTREAM, recipe=recipe)
    others = [name for name in names(candidates_for(described)) if name != TORCH.name]

    assert reached_by(described, problem) == []
    assert reached_by(described, problem, disabled=others) == []
    assert reached_by(described, problem, disabled=[*others, TORCH.name]) == []
    if described.kind in ("cuda", "xpu"):
        assert reached_by(described, problem, backend="torch") == []


@pytest.mark.parametrize("described", [HOPPER, INTEL], ids=["sm90", "xpu"])
def test_whatever_else_fits_is_chosen_before_the_torch_kernel(described: Platform) -> None:
    for other in [candidate for candidate in candidates_for(described) if candidate not in (TRITON, TORCH)]:
        tried = candidates_for(described, {other.name: YES})
        assert select(tried, described, UPSTREAM, disabled=[TRITON.name]).chosen == other.name


def gated(is_supported: Callable[[Platform], Answer], described: Platform) -> list[Candidate]:
    """The candidates of ``described`` with another gate before the torch kernel."""
    wrong = replace(TORCH, is_supported=is_supported)
    return [wrong if candidate is TORCH else candidate for candidate in candidates_for(described)]


def at_least_hopper(platform: Platform) -> Answer:
    number = int(platform.arch.removeprefix("sm"))
    return (True, None) if number >= 90 else (False, "requires compute capability 90.")


def as_on_cuda(platform: Platform) -> Answer:
    return (True, None) if platform.arch == "sm90" else (False, "requires compute capability 90.")


def test_a_gate_that_takes_all_from_hopper_on_is_found() -> None:
    tried = gated(at_least_hopper, BLACKWELL)

    assert reached_by(BLACKWELL, UPSTREAM, candidates=tried, backend="torch") == [
        f"{TORCH.name} is chosen for 1x128-128x128 on cuda sm100, which it cannot serve."
    ]
    assert reached_by(BLACKWELL, UPSTREAM, candidates=tried, disabled=[TRITON.name]) != []
    assert reached_by(HOPPER, UPSTREAM, candidates=gated(at_least_hopper, HOPPER), backend="torch") == []


def test_a_gate_that_treats_intel_as_cuda_is_found() -> None:
    tried = gated(as_on_cuda, INTEL)

    assert reached_by(INTEL, UPSTREAM, candidates=tried, backend="torch") == [
        f"{TORCH.name} is passed over for 1x128-128x128 on xpu {INTEL.arch}, which it serves."
    ]
    assert reached_by(HOPPER, UPSTREAM, candidates=gated(as_on_cuda, HOPPER), backend="torch") == []


def test_a_gate_for_every_recipe_is_found() -> None:
    tried = [replace(TORCH, can_implement=lambda _: YES)]
    problem = replace(UPSTREAM, recipe="1x128-1x128")

    assert reached_by(HOPPER, problem, candidates=tried) == [
        f"{TORCH.name} is chosen for 1x128-1x128 on cuda sm90, which it cannot serve."
    ]


@pytest.mark.parametrize("described", [AMD, PROCESSOR, APPLE], ids=["rocm", "cpu", "mps"])
def test_a_platform_that_falls_through_to_the_list_of_cuda_is_found(described: Platform) -> None:
    found = reached_by(described, UPSTREAM, candidates=CANDIDATES["cuda"])

    assert f"{TORCH.name} is a candidate on {described.kind}, where upstream has none of torch." in found


def test_on_rocm_only_the_list_keeps_the_torch_kernel_out() -> None:
    found = reached_by(AMD, UPSTREAM, candidates=CANDIDATES["cuda"], backend="torch")

    assert f"{TORCH.name} is chosen for 1x128-128x128 on rocm gfx942, which it cannot serve." in found


@pytest.mark.parametrize("place", range(7))
def test_the_torch_kernel_at_any_place_but_the_last_is_found(place: int) -> None:
    others = [candidate for candidate in candidates_for(HOPPER) if candidate is not TORCH]
    tried = [*others[:place], TORCH, *others[place:]]

    assert reached_by(HOPPER, UPSTREAM, candidates=tried) == [
        f"{TORCH.name} is tried before {TRITON.name}, and would be chosen where both fit."
    ]


# An installed upstream


def real() -> dict[str, list[str]]:
    return {kind: names(tried) for kind, tried in CANDIDATES.items()}


def test_an_upstream_with_our_lists_does_not_differ() -> None:
    assert differences(real()) == []
    assert differences({kind: tuple(tried) for kind, tried in reversed(real().items())}) == []


def test_a_reordered_list_differs() -> None:
    other = real()
    other["xpu"].reverse()

    assert differences(other) == [
        f"xpu: upstream tries {TORCH.name}, {TRITON.name}, XPUFp8BlockScaledMMKernel, "
        f"where XPUFp8BlockScaledMMKernel, {TRITON.name}, {TORCH.name} is known."
    ]


def test_missing_new_and_repeated_kernels_differ() -> None:
    other = {**real(), "rocm": [TRITON.name], "oot": ["Plugged"], "xpu": [*real()["xpu"], TORCH.name]}
    del other["cpu"]

    assert [sentence.split(":")[0] for sentence in differences(other)] == ["rocm", "cpu", "xpu", "oot"]
    assert "oot: upstream tries Plugged, where nothing is known." in differences(other)
    assert any(sentence.startswith("cpu: upstream tries nothing, where CPU") for sentence in differences(other))


def test_the_first_release_with_the_torch_kernel_differs_in_two_lists_and_has_it_last() -> None:
    cuda = real()["cuda"]
    cuda[5:7] = [TRITON.name, HUMMING.name]
    release = {**real(), "cuda": cuda, "cpu": ["CPUFp8BlockScaledMMKernel"]}

    assert [sentence.split(":")[0] for sentence in differences(release)] == ["cuda", "cpu"]
    assert release["cuda"][-1] == release["xpu"][-1] == TORCH.name


# What becomes of problems that the torch kernel accepts


def hopper(torch: str, runtime: str = "13.0") -> Platform:
    return Platform("cuda", "sm90", torch, runtime)


@pytest.mark.parametrize(
    ("described", "problem", "what"),
    [
        (HOPPER, SHARED_EXPERT, "the product is wrong"),
        (hopper("2.10.0+cu130"), Problem(84, 7168, 2304), "the product is wrong"),
        (hopper("2.15.0", "13.2"), Problem(1, 144, 128), "the product is wrong"),
        (hopper("2.9.1+cu130"), SHARED_EXPERT, r"torch refuses the call on cuda sm90: RuntimeError .*\(E0\)"),
        (HOPPER, Problem(84, 7168, 200), "N and K have to be multiples of 16"),
        (HOPPER, Problem(84, 584, 512), "N and K have to be multiples of 16"),
        (INTEL, Problem(84, 584, 512), "N and K have to be multiples of 16"),
        (AMD, Problem(1, 8, 128), "N and K have to be multiples of 16"),
        (
            hopper("2.10.0+cu128", "12.8"),
            UPSTREAM,
            r"torch refuses the call on cuda sm90: RuntimeError .*12.*9.*\(E3\)",
        ),
        (AMD, UPSTREAM, r"torch refuses the call on rocm gfx942: RuntimeError .*\(E3\)"),
        (replace(INTEL, torch_version="2.12.0"), UPSTREAM, r"torch refuses the call on xpu .*: RuntimeError .*\(E0\)"),
        (HOPPER, Problem(0, 576, 7168), r"A without rows is refused.*\(E0\)"),
        (HOPPER, Problem(0, 7168, 256), r"A without rows is refused.*\(E0\)"),
        (HOPPER, Problem(84, 576, 512, a="e5m2", b="e5m2"), "multiplies no two matrices of float8_e5m2"),
    ],
)
def test_what_upstream_accepts_and_torch_does_not_keep(described: Platform, problem: Problem, what: str) -> None:
    assert TORCH.reason_against(described, problem) is None

    sentence = accepted_but_wrong(described, problem)

    assert sentence is not None
    assert re.fullmatch(rf"Accepted, but .*{what}.*\.", sentence)


@pytest.mark.parametrize(
    ("described", "problem"),
    [
        (HOPPER, UPSTREAM),
        (HOPPER, Problem(84, 7168, 2048)),
        (HOPPER, Problem(84, 128, 256)),
        (HOPPER, Problem(1, 144, 400)),
        (HOPPER, Problem(0, 128, 128)),
        (HOPPER, Problem(84, 576, 512, a="e5m2")),
        (hopper("2.9.1+cu130"), UPSTREAM),
        (INTEL, SHARED_EXPERT),
        (INTEL, Problem(0, 576, 7168)),
        (AMD, Problem(1, 128, 128)),
    ],
)
def test_nothing_is_said_of_what_is_right(described: Platform, problem: Problem) -> None:
    assert TORCH.reason_against(described, problem) is None
    assert accepted_but_wrong(described, problem) is None


@pytest.mark.parametrize(
    ("described", "problem"),
    [
        (BLACKWELL, SHARED_EXPERT),
        (ADA, UPSTREAM),
        (PROCESSOR, UPSTREAM),
        (APPLE, UPSTREAM),
        (HOPPER, replace(SHARED_EXPERT, recipe="1x128-1x128")),
        (AMD, replace(UPSTREAM, recipe="128x128-1x128")),
    ],
)
def test_nothing_is_said_of_what_upstream_does_not_accept(described: Platform, problem: Problem) -> None:
    assert TORCH.reason_against(described, problem) is not None
    assert accepted_but_wrong(described, problem) is None
