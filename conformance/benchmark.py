"""`conformance bench`: the engines of the bit model and the backends side by side, in one run."""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from cases import Case
from cases.case import parse_product
from cases.operands import build_operands
from conformance.backends.protocol import Backend
from conformance.backends.registry import load_backends
from conformance.calling import synchronise
from conformance.foreign import attempt, error_line
from conformance.presentation import present
from conformance.probe import parse_device, probe
from reference import SM90, emulate_block_scaled_mm, exact_block_matmul, expect, infer_split_k
from reference.blocks import DEFAULT_RECIPE, recipe_of
from reference.dot import Lanes
from reference.engine import ENGINES, why_not
from reference.plain import plain_block_products
from reference.promote import promote
from reference.tiles import Tile, scales_by_row

ROUNDS = 5
CPU_CASES = (
    "gemm/1x128-128x128/m83-n576-k7168/bf16/quantised-normal/s0",
    "gemm/1x128-128x128/m83-n576-k7168/bf16/uniform-codes/s0",
    "gemm/1x128-128x128/m83-n576-k7168/bf16/tagged-integers/s0",
)
GPU_CASES = (
    "gemm/1x128-128x128/m1024-n4096-k7168/bf16/quantised-normal/s0",
    "gemm/1x128-128x128/m1024-n4096-k7168/bf16/uniform-codes/s0",
    "gemm/1x128-128x128/m4096-n7168-k7168/bf16/quantised-normal/s0",
    "gemm/1x128-128x128/m83-n576-k7168/bf16/quantised-normal/s0",
)
EAGER_LIMIT = 1 << 35
"""Multiply-accumulates up to which the eager engine is timed."""
PADDING_ROWS = (1, 2, 3, 4, 5, 7, 8, 83, 84, 127, 128, 255, 256)


def bench(specs: tuple[str, ...], device_name: str | None) -> dict[str, Any]:
    """Times of engines, reference and ``specs`` on one device; medians of interleaved rounds, as a JSON document."""
    device = parse_device(device_name)
    platform = probe(device)
    backends = load_backends(specs or (("torch-v1", "torch-v2") if platform.path == "sm90" else ()))
    texts = CPU_CASES if device.type == "cpu" else GPU_CASES
    rows = [row for text in texts for row in _case_rows(parse_product(text), backends, device)]
    padding = list(_padding_rows(backends, device)) if device.type == "cuda" else []
    about = {"path": platform.path, "device_name": platform.device_name, "torch": platform.torch_version}
    threads = torch.get_num_threads() if device.type == "cpu" else None
    return {**about, "threads": threads, "rounds": ROUNDS, "rows": rows, "padding": padding}


def _case_rows(case: Case, backends: tuple[Backend, ...], device: torch.device) -> Iterator[dict[str, Any]]:
    operands = build_operands(case, device=device)
    subjects = dict(_subjects(case, operands.tensors, backends, device))
    times = measure(subjects, device)
    for name, seconds in times.items():
        rate = case.problem.macs / seconds
        yield {"case": case.id, "what": name, "seconds": seconds, "gmac_per_s": rate / 1e9}


def _subjects(
    case: Case, tensors: tuple[Tensor, Tensor, Tensor, Tensor], backends: tuple[Backend, ...], device: torch.device
) -> Iterator[tuple[str, Callable[[], object]]]:
    dtype = case.problem.out_dtype
    for name in ENGINES:
        if why_not(name, device, SM90) is None and (name != "eager" or case.problem.macs <= EAGER_LIMIT):
            yield f"engine {name}", _emulation(tensors, dtype, name)
    if device.type == "cuda" and case.problem.macs <= EAGER_LIMIT:
        yield "torch.compile, plain model", _compiled_plain_model(tensors, dtype)
    out = emulate_block_scaled_mm(*tensors, out_dtype=dtype)
    yield "split-K inference", lambda: infer_split_k(*tensors, out)
    yield "exact oracle", lambda: exact_block_matmul(*tensors)
    if case.problem.macs < 1 << 31:
        yield "bound, declared", lambda: expect(*tensors, arithmetic=SM90)
        yield "bound, undeclared", lambda: expect(*tensors, arithmetic=None)
    operands = build_operands(case, device=device)
    yield "operands, built and proven", lambda: build_operands(case, device=device)
    yield "operands, laid out", lambda: present(operands)
    presented = present(operands).tensors
    yield from _computing(backends, presented, case)


def _emulation(tensors: tuple[Tensor, Tensor, Tensor, Tensor], dtype: torch.dtype, engine: str) -> Callable[[], object]:
    return lambda: emulate_block_scaled_mm(*tensors, out_dtype=dtype, engine=engine)


def _compiled_plain_model(tensors: tuple[Tensor, Tensor, Tensor, Tensor], dtype: torch.dtype) -> Callable[[], object]:
    """The emulation by what torch.compile makes of `reference.plain`, with the eager promotion."""
    A, B, As, Bs = tensors
    compiled = torch.compile(plain_block_products)
    everything = Tile(slice(0, A.shape[0]), slice(0, B.shape[0]))
    sa, sb = scales_by_row(As, Bs, recipe_of(DEFAULT_RECIPE), A.shape[0], B.shape[0])

    def emulate() -> Tensor:
        lanes = Lanes.of(A, B, SM90)
        blocks = [compiled(lanes.at(slice(i, i + 1), everything), SM90) for i in range(sa.shape[0])]
        return promote(torch.cat(blocks), sa, sb, order="scales-first", split=sa.shape[0]).to(dtype)

    return emulate


def _computing(
    backends: tuple[Backend, ...], tensors: tuple[Tensor, Tensor, Tensor, Tensor], case: Case
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls of the backends that compute the case; of the others it is said why nothing is timed."""
    for backend in backends:
        call = partial(backend.apply, tensors, case.problem)
        done = attempt(call)
        if isinstance(done.value, Tensor):
            yield backend.name, call
        else:
            came = error_line(done.error) if done.error else "no plain tensor came"
            sys.stderr.write(f"{backend.name} {case.id}: not timed: {came}\n")


def _padding_rows(backends: tuple[Backend, ...], device: torch.device) -> Iterator[dict[str, Any]]:
    """What M costs, padded to a multiple of 4 or not, on one layer shape."""
    for m in PADDING_ROWS:
        case = parse_product(f"gemm/1x128-128x128/m{m}-n7168-k2048/bf16/uniform-codes/s0")
        tensors = present(build_operands(case, device=device)).tensors
        times = measure(dict(_computing(backends, tensors, case)), device)
        yield {"m": m, "padded": m % 4 != 0, **{name: seconds * 1e6 for name, seconds in times.items()}}


def measure(subjects: dict[str, Callable[[], object]], device: torch.device) -> dict[str, float]:
    """Median seconds of every subject: each is warmed up, then all take turns, so that drift hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    with contextlib.redirect_stdout(sys.stderr):  # what a kernel prints is no result
        for call in subjects.values():
            call()
        synchronise(device)
        for _ in range(ROUNDS):
            for name, call in subjects.items():
                started = time.perf_counter()
                call()
                synchronise(device)
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def render(document: dict[str, Any]) -> None:
    """Print the figures as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    threads = f", {document['threads']} threads" if document["threads"] else ""
    console.print(
        f"{document['path']} · {document['device_name']} · torch {document['torch']}{threads} · median of "
        f"{document['rounds']}",
        highlight=False,
    )
    for case in dict.fromkeys(row["case"] for row in document["rows"]):
        console.print(f"\n{case}", highlight=False, soft_wrap=True)
        table = Table("what", "ms", "GMAC/s", "x eager", box=None, padding=(0, 2, 0, 0))
        rows = [row for row in document["rows"] if row["case"] == case]
        eager = next((row["seconds"] for row in rows if row["what"] == "engine eager"), None)
        for row in rows:
            ratio = f"{eager / row['seconds']:.1f}" if eager else ""
            table.add_row(row["what"], f"{row['seconds'] * 1e3:.2f}", f"{row['gmac_per_s']:.2f}", ratio)
        console.print(table)
    if document["padding"]:
        names = [x for x in dict.fromkeys(x for row in document["padding"] for x in row) if x not in ("m", "padded")]
        console.print("\nM padding, N=7168 K=2048", highlight=False)
        table = Table("M", "padded", *(f"{n} µs" for n in names), box=None, padding=(0, 2, 0, 0))
        for row in document["padding"]:
            table.add_row(
                str(row["m"]), "yes" if row["padded"] else "", *(f"{row[n]:.1f}" if n in row else "" for n in names)
            )
        console.print(table)
