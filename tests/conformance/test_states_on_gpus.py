"""States that need streams, graphs or a GPU's compiler; on machines without a GPU there are none to test."""

from __future__ import annotations

import kernels
import pytest
import stream_kernels as streams
import torch

from cases import parse_case
from conformance.backends.protocol import Backend
from conformance.execute import Assignment, run_case
from conformance.probe import probe
from conformance.verdict import CaseRecord

GPUS = [torch.device("cuda", 0)] if torch.cuda.is_available() else []
REST = "1x128-128x128/m5-n144-k400/bf16"
EXACT, BOUND = "tagged-integers/s0", "uniform-codes/s0"
OF_STREAMS = ["second-stream", "behind-producer", "graph-replay", "graph-pair"]
SIDE = "on a side stream"
WRONG = [
    (streams.ReadsOnOtherStream, "second-stream", "results-differ", f"{SIDE} behind the default stream: "),
    (streams.ReadsOnOtherStream, "behind-producer", "results-differ", "round"),
    (streams.WorksOnDefaultStream, "second-stream", "results-differ", f"{SIDE} behind a producer of its own: "),
    (streams.NobodyWaits, "second-stream", "results-differ", f"{SIDE} behind the default stream, as it saw the result"),
    (streams.NobodyWaits, "behind-producer", "results-differ", "in round 1: "),
    (streams.WarmScales, "graph-replay", "results-differ", "replayed with other data and scales: "),
    (streams.SharedInGraph, "graph-pair", "results-differ", "product 1 in the first replay: "),
    (streams.OwesGraphs, "graph-replay", "raised", "Error: "),
    (streams.OwesGraphs, "graph-pair", "raised", "Error: "),
]


def judged(kernel: type, state: str, device: torch.device, values: str = EXACT) -> CaseRecord:
    case = parse_case(f"{f'state/{state}' if state else 'gemm'}/{REST}/{values}")
    assignment = Assignment.of(case, Backend(kernel(), spec="test"), probe(device))
    return run_case(assignment, seed=0, device=device)


if GPUS:

    @pytest.mark.parametrize("device", GPUS, ids=str)
    @pytest.mark.parametrize("values", [EXACT, BOUND])
    @pytest.mark.parametrize("state", OF_STREAMS)
    @pytest.mark.parametrize("kernel", [kernels.Reversed, kernels.DequantiseFirst])
    def test_honest_kernels_pass(kernel: type, state: str, values: str, device: torch.device) -> None:
        record = judged(kernel, state, device, values)

        assert (record.verdict, record.holds) == ("passed", True), (record.reason, record.detail)

    @pytest.mark.parametrize("device", GPUS, ids=str)
    @pytest.mark.parametrize("state", ["compiled", "compiled-autotune"])
    def test_honest_kernels_pass_when_compiled(state: str, device: torch.device) -> None:
        record = judged(kernels.Reversed, state, device)

        assert (record.verdict, record.reason) == ("passed", ""), record.detail

    @pytest.mark.parametrize("device", GPUS, ids=str)
    @pytest.mark.parametrize(("kernel", "state", "reason", "said"), WRONG)
    def test_what_one_plain_call_does_not_show_fails(
        kernel: type, state: str, reason: str, said: str, device: torch.device
    ) -> None:
        plain, record = judged(kernel, "", device), judged(kernel, state, device)

        assert (plain.verdict, plain.detail) == ("passed", "")
        assert (record.verdict, record.reason) == ("failed", reason), record.detail
        assert said in record.detail

    @pytest.mark.parametrize("device", GPUS, ids=str)
    @pytest.mark.parametrize("state", ["graph-replay", "graph-pair"])
    def test_a_kernel_that_no_graph_captures_may_say_so_and_what_follows_is_judged(
        state: str, device: torch.device
    ) -> None:
        refused, next_one = judged(streams.LooksAtScales, state, device), judged(kernels.Reversed, state, device)

        assert refused.verdict == "rejected"
        assert "Error: " in refused.detail
        assert (next_one.verdict, next_one.holds) == ("passed", True)
