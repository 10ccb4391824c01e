"""Upstream's kernel as `torch-v1` embodies it: its answers, and what it hands to torch and back.

Torch's own operator is replaced by one that records, and operands say that they are on CUDA where M is to be padded:
what is shown is the call, on any machine. That the call is right is for the suite to show on real hardware.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from cases import Problem
from conformance.backends.padding import pad_rows, pad_scale_rows
from conformance.backends.torch_v1 import TorchV1
from conformance.contract.refusals import CPU_SCALING, CPU_TENSORWISE_ONLY
from conformance.probe import Platform

UPSTREAM = Problem(83, 576, 7168)
HOPPER_ONLY = "DeepSeek-style (1x128, 128x128) block scaling on CUDA requires compute capability 90 (Hopper)."
NO_GPU = "requires CUDA, ROCm or XPU."


class OnCuda(Tensor):
    """A tensor of this machine that says it is on CUDA, as do those made from it."""

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True


@dataclass
class Recorder:
    """Stands in for ``torch._scaled_mm``: records its operands and gives every row of the result its own number."""

    as_tuple: bool = False

    def __call__(
        self, a: Tensor, b: Tensor, *, scale_a: Tensor, scale_b: Tensor, out_dtype: torch.dtype
    ) -> Tensor | tuple[Tensor, Tensor]:
        self.a, self.b, self.scale_a, self.scale_b, self.out_dtype = a, b, scale_a, scale_b, out_dtype
        rows = torch.arange(a.shape[0])[:, None].expand(a.shape[0], b.shape[1])
        self.out = rows.to(out_dtype)
        return (self.out, torch.tensor(448.0)) if self.as_tuple else self.out


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(torch, "_scaled_mm", recorder)
    monkeypatch.setattr(torch.version, "hip", None)
    return recorder


Operands = tuple[Tensor, Tensor, Tensor, Tensor]


def operands(m: int, n: int = 576, k: int = 640, *, cuda: bool = False) -> Operands:
    """A, B and Bs row-major and As column-major, all values distinct enough to be told apart."""
    k_blocks, n_blocks = -(-k // 128), -(-n // 128)
    a, b = (torch.arange(rows * k).remainder(113).reshape(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
    sa = torch.arange(1.0, m * k_blocks + 1).reshape(k_blocks, m).t()
    sb = torch.arange(1.0, n_blocks * k_blocks + 1).reshape(n_blocks, k_blocks)
    a, b, sa, sb = ((x.as_subclass(OnCuda) if cuda else x) for x in (a, b, sa, sb))
    return a, b, sa, sb


def called(given: Operands, *, out_dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return TorchV1().apply_block_scaled_mm(*given, out_dtype=out_dtype)


def layout(x: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(x.shape), x.stride()


def is_same(one: Tensor, other: Tensor) -> bool:
    return layout(one) == layout(other) and one.data_ptr() == other.data_ptr()


def assert_nothing_is_copied(recorder: Recorder, given: Operands) -> None:
    out = called(given)

    assert is_same(recorder.a, given[0])
    assert is_same(recorder.scale_a, given[2])
    assert is_same(out, recorder.out)
    assert tuple(out.shape) == (given[0].shape[0], 576)


# The answers


@pytest.mark.parametrize(
    ("kind", "arch", "reason"),
    [
        ("cuda", "sm90", None),
        ("cuda", "sm80", HOPPER_ONLY),
        ("cuda", "sm89", HOPPER_ONLY),
        ("cuda", "sm100", HOPPER_ONLY),
        ("cuda", "sm120", HOPPER_ONLY),
        ("rocm", "gfx90a", None),
        ("rocm", "gfx942", None),
        ("xpu", "Intel(R) Arc(TM) B580", None),
        ("cpu", "x86_64", NO_GPU),
        ("mps", "arm64", NO_GPU),
    ],
)
def test_a_platform_is_supported_by_kind_and_architecture(kind: str, arch: str, reason: str | None) -> None:
    for version in ("2.9.1", "2.15.0"):
        assert TorchV1().is_supported(Platform(kind, arch, version, "12.8")) == (reason is None, reason)


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("1x128-128x128", None),
        ("128x128-1x128", "requires 1x128 activation quantization."),
        ("1x128-1x128", "requires 128x128 block weight quantization."),
    ],
)
@pytest.mark.parametrize("shape", [(83, 576, 7168), (0, 576, 256), (1, 8, 8), (84, 7168, 2304)], ids=str)
def test_a_problem_is_implemented_by_its_recipe_and_by_no_shape(
    recipe: str, reason: str | None, shape: tuple[int, int, int]
) -> None:
    problem = Problem(*shape, recipe=recipe)

    assert TorchV1().can_implement(problem) == (reason is None, reason)
    assert TorchV1().can_implement(replace(problem, out="fp32")) == (reason is None, reason)


# M padded, as on CUDA


@pytest.mark.parametrize(("m", "padded"), [(1, 4), (2, 4), (3, 4), (5, 8), (83, 84)])
def test_m_is_padded_to_a_multiple_of_four_and_the_result_cut(recorder: Recorder, m: int, padded: int) -> None:
    a, b, sa, sb = operands(m, cuda=True)

    out = called((a, b, sa, sb))

    assert layout(recorder.a) == ((padded, 640), (640, 1))
    assert layout(recorder.scale_a) == ((padded, 5), (1, padded))
    assert torch.equal(recorder.a[:m].view(torch.uint8), a.view(torch.uint8))
    assert torch.equal(recorder.scale_a[:m], sa)
    assert tuple(out.shape) == (m, 576)
    assert out[:, -1].tolist() == list(range(m))


@pytest.mark.parametrize("m", [0, 4, 84])
def test_nothing_is_copied_where_m_is_a_multiple_of_four(recorder: Recorder, m: int) -> None:
    assert_nothing_is_copied(recorder, operands(m, cuda=True))


def test_padding_leaves_the_operands_alone(recorder: Recorder) -> None:
    given = operands(5, cuda=True)
    before = [x.clone() for x in given]

    called(given)

    assert all(torch.equal(x.float(), y.float()) for x, y in zip(given, before, strict=True))
    assert recorder.a.data_ptr() != given[0].data_ptr()
    assert is_same(recorder.b.t(), given[1])
    assert is_same(recorder.scale_b.t(), given[3])


@pytest.mark.parametrize("k_blocks", [1, 2, 5])
def test_padded_scales_are_column_major_whatever_they_were(k_blocks: int) -> None:
    columns = torch.arange(5.0 * k_blocks).reshape(k_blocks, 5).t()

    for scales in (columns, columns.contiguous()):
        padded = pad_scale_rows(scales, multiple=4)
        assert layout(padded) == ((8, k_blocks), (1, 8))
        assert torch.equal(padded[:5], scales)


@pytest.mark.parametrize("multiple", [1, 4])
def test_padding_to_what_is_there_hands_back_the_very_tensor(multiple: int) -> None:
    a, _, sa, _ = operands(8)

    assert pad_rows(a, multiple=multiple) is a
    assert pad_scale_rows(sa, multiple=multiple) is sa


# M as it is, as on ROCm and XPU


@pytest.mark.parametrize("m", [0, 1, 5, 83])
@pytest.mark.parametrize("rocm", [False, True], ids=["xpu", "rocm"])
def test_m_is_padded_on_cuda_alone(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, m: int, *, rocm: bool) -> None:
    # A tensor on an AMD GPU says that it is on CUDA, and only the build of torch tells them apart.
    monkeypatch.setattr(torch.version, "hip", "7.0" if rocm else None)
    assert_nothing_is_copied(recorder, operands(m, cuda=rocm))


# What is passed through


@pytest.mark.parametrize(
    ("n", "k", "n_blocks", "k_blocks"), [(576, 640, 5, 5), (144, 400, 2, 4), (16, 16, 1, 1), (128, 200, 1, 2)]
)
@pytest.mark.parametrize("cuda", [False, True])
def test_weights_are_transposed_views_and_ragged_groups_stay(
    recorder: Recorder, n: int, k: int, n_blocks: int, k_blocks: int, *, cuda: bool
) -> None:
    a, b, sa, sb = operands(5, n, k, cuda=cuda)

    out = called((a, b, sa, sb))

    assert layout(recorder.b) == ((k, n), (1, k))
    assert layout(recorder.scale_b) == ((k_blocks, n_blocks), (1, k_blocks))
    assert recorder.a.shape[1] == k
    assert recorder.scale_a.shape[1] == k_blocks
    assert is_same(recorder.b.t(), b)
    assert is_same(recorder.scale_b.t(), sb)
    assert tuple(out.shape) == (5, n)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_the_dtype_of_the_result_is_told(recorder: Recorder, dtype: torch.dtype) -> None:
    out = called(operands(5), out_dtype=dtype)

    assert (recorder.out_dtype, out.dtype) == (dtype, dtype)


@pytest.mark.parametrize("m", [4, 5])
@pytest.mark.parametrize("cuda", [False, True])
def test_the_pair_that_torch_returned_before_2_5_is_unwrapped(recorder: Recorder, m: int, *, cuda: bool) -> None:
    recorder.as_tuple = True

    out = called(operands(m, cuda=cuda))

    assert isinstance(out, Tensor)
    assert tuple(out.shape) == (m, 576)
    assert out[:, 0].tolist() == list(range(m))


def test_what_torch_raises_is_raised() -> None:
    # No recorder: torch itself, which takes no block scales on a CPU.
    with pytest.raises((RuntimeError, ValueError)) as caught:
        called(operands(5))

    assert any(refusal.matches(caught.value) for refusal in (CPU_SCALING, CPU_TENSORWISE_ONLY))
