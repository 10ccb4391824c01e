"""Judging refusals: what is owed off the supported hardware."""

from __future__ import annotations

import pytest
import torch

from cases import parse_case
from conformance.backends.protocol import Backend
from conformance.backends.torch_v1 import TorchV1
from conformance.execute import Assignment, run_case
from conformance.probe import Platform
from conformance.verdict import CaseRecord

HERE = Platform("cpu", "x86_64", "2.13.0")
CASE = parse_case("gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0")


class Pretending:
    """Torch's v1 as far as the contract knows, with a behaviour of the test's."""

    name = "pretending"
    api = "v1"

    def __init__(self, error: Exception | None, *, touch: bool = False) -> None:
        self._error, self._touch = error, touch

    def apply_block_scaled_mm(
        self, A: torch.Tensor, B: torch.Tensor, As: torch.Tensor, Bs: torch.Tensor, *, out_dtype: torch.dtype
    ) -> torch.Tensor:
        if self._touch:
            As[0, 0] = 0
        if self._error:
            raise self._error
        return torch.zeros(A.shape[0], B.shape[0], dtype=out_dtype)


OWED = ValueError("Invalid scaling configuration.\n- For TensorWise scaling, ...\n- For RowWise scaling, ...")


def judged(subject: object) -> CaseRecord:
    backend = Backend(subject, spec="test")
    return run_case(Assignment.of(CASE, backend, HERE), seed=0, device=torch.device("cpu"))


@pytest.mark.parametrize(
    ("subject", "verdict", "reason"),
    [
        (Pretending(OWED), "rejected", ""),
        (Pretending(RuntimeError(str(OWED))), "failed", "wrong-refusal"),
        (Pretending(ValueError("no")), "rejected", "contract-changed"),
        (Pretending(NotImplementedError("no")), "failed", "wrong-refusal"),
        (Pretending(ValueError("CUDA error: an illegal memory access")), "failed", "wrong-refusal"),
        (Pretending(None), "failed", "accepted"),
        (Pretending(OWED, touch=True), "failed", "memory-changed"),
    ],
)
def test_a_refusal_is_judged_by_type_text_and_tidiness(subject: Pretending, verdict: str, reason: str) -> None:
    record = judged(subject)

    assert (record.verdict, record.reason, record.computed) == (verdict, reason, record.reason == "accepted")


class FakeScaledMm:
    """Stands in for torch._scaled_mm: remembers what it was given and returns what it was told."""

    def __init__(self, *, as_tuple: bool = False) -> None:
        self.as_tuple = as_tuple
        self.seen: dict[str, torch.Tensor] = {}

    def __call__(
        self,
        a: torch.Tensor,
        b: torch.Tensor,
        *,
        scale_a: torch.Tensor,
        scale_b: torch.Tensor,
        out_dtype: torch.dtype,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        self.seen = {"a": a, "b": b, "scale_a": scale_a, "scale_b": scale_b}
        out = torch.ones(a.shape[0], b.shape[1], dtype=out_dtype)
        return (out, out.abs().amax()) if self.as_tuple else out


@pytest.mark.parametrize("as_tuple", [False, True])
def test_torch_v1_calls_as_upstream_does(monkeypatch: pytest.MonkeyPatch, as_tuple: bool) -> None:
    fake = FakeScaledMm(as_tuple=as_tuple)
    monkeypatch.setattr(torch, "_scaled_mm", fake)
    a, b = torch.zeros(5, 256, dtype=torch.float8_e4m3fn), torch.zeros(144, 256, dtype=torch.float8_e4m3fn)
    sa, sb = torch.ones(2, 5).t(), torch.ones(2, 2)

    out = TorchV1().apply_block_scaled_mm(a, b, sa, sb, out_dtype=torch.bfloat16)

    assert (tuple(out.shape), out.dtype) == ((5, 144), torch.bfloat16)
    assert fake.seen["b"].stride() == (1, 256)
    assert (tuple(fake.seen["scale_a"].shape), fake.seen["scale_a"].stride()) == ((5, 2), (1, 5))
    assert (tuple(fake.seen["scale_b"].shape), fake.seen["scale_b"].stride()) == ((2, 2), (1, 2))


def test_padding_rounds_m_up_to_four_and_keeps_scales_column_major() -> None:
    from conformance.backends.padding import pad_columns, pad_rows, pad_scale_rows

    a = torch.arange(10).reshape(5, 2).to(torch.float8_e4m3fn)
    sa = torch.arange(15.0).reshape(3, 5).t()

    padded, scales = pad_rows(a, multiple=4), pad_scale_rows(sa, multiple=4)

    assert (tuple(padded.shape), tuple(scales.shape), scales.stride()) == ((8, 2), (8, 3), (1, 8))
    assert torch.equal(padded[:5].float(), a.float())
    assert torch.equal(scales[:5], sa)
    assert pad_rows(a[:4], multiple=4).data_ptr() == a.data_ptr()
    assert torch.equal(pad_columns(torch.ones(2, 5), multiple=4).sum(1), torch.tensor([5.0, 5.0]))
    assert tuple(pad_columns(torch.ones(2, 5), multiple=4).shape) == (2, 8)
