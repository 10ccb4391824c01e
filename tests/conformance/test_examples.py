"""The kernels that come with the suite compute what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch
from torch._dynamo.utils import counters

from cases import parse_case
from cases.operands import build_operands
from conformance.backends.examples.compiled_native import CompiledNative
from conformance.backends.examples.triton_matmul import TritonMatmul
from conformance.contract.described import described
from reference import native_w8a8_block_matmul

CPU = described("cpu", "2.13.0")
# On a CPU Triton cuts bfloat16 where it should round, and takes the codes of NaN for 0.
COMPUTED = """
import sys

import torch
from cases import parse_case
from cases.operands import build_operands
from conformance.backends.examples.triton_matmul import TritonMatmul
from reference import exact_block_matmul

for name in (
    "1x128-128x128/m1-n16-k16/fp32/integer-codes/s0",
    "1x128-128x128/m67-n200-k400/fp32/tagged-integers/s0",
    "128x128-1x128/m130-n33-k384/fp32/tagged-integers/s0",
    "1x128-1x128/m7-n65-k640/fp16/tagged-integers/s3",
    "1x128-128x128@e5m2-e4m3fn/m3-n100-k256/fp32/integer-codes/s4",
):
    case = parse_case(f"gemm/{name}")
    operands, recipe = build_operands(case, device=torch.device(sys.argv[1])).tensors, case.problem.recipe
    expected = exact_block_matmul(*operands, recipe=recipe).to(case.problem.out_dtype)
    wide = expected.new_full((expected.shape[0], expected.shape[1] + 5), torch.nan)
    given = wide[:, : expected.shape[1]]
    turned = [x.t().contiguous().t() for x in operands]
    actual = TritonMatmul().apply_block_scaled_mm(*turned, out_dtype=given.dtype, recipe=recipe, out=given)
    assert actual is given and torch.equal(actual, expected), name
    assert wide[:, expected.shape[1] :].isnan().all(), name
"""


def test_the_triton_kernel_computes_on_a_gpu_or_on_triton_s_interpreter_or_says_what_it_lacks() -> None:
    if find_spec("triton") is None:
        assert TritonMatmul().is_supported(CPU) == (False, f"triton is not installed: {TritonMatmul.package.install}")
        return
    device, environment = ("cuda", {}) if torch.cuda.is_available() else ("cpu", {"TRITON_INTERPRET": "1"})
    command = [sys.executable, "-c", COMPUTED, device]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)

    assert (done.returncode, done.stderr[-2000:]) == (0, "")


def test_the_compiled_reference_has_the_bits_of_the_reference_and_is_compiled_once_for_all_n_and_k() -> None:
    backend = CompiledNative()
    compiled = []
    for shape in ("m67-n16-k16", "m67-n200-k400", "m67-n144-k640", "m9-n33-k129"):
        case = parse_case(f"gemm/1x128-128x128/{shape}/bf16/quantised-normal/s0")
        A, B, As, Bs = build_operands(case).tensors
        actual = backend.apply_block_scaled_mm(A, B, As, Bs, out_dtype=torch.bfloat16)
        expected = native_w8a8_block_matmul(A, B, As, Bs, (128, 128), torch.bfloat16)
        assert torch.equal(actual, expected)
        compiled.append(counters["stats"]["unique_graphs"])
    assert len(set(compiled)) == 1


def test_the_compiled_reference_says_which_compiler_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "a-compiler-that-nobody-has")

    supported, reason = CompiledNative().is_supported(CPU)

    assert not supported
    assert reason == ("torch.compile needs a C++ compiler: install a-compiler-that-nobody-has, or name one in CXX.")
