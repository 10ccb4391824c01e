"""The catalogue of single faults, each as the reading it amounts to. Sources: docs/faults.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from conformance.diagnosis.reading import Memory, Reading, k_index
from reference.blocks import BLOCK
from reference.formats import decode, format_of
from reference.quantise import round_up_to_power_of_two

Scales = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Suspect:
    """One fault: a short ``name`` and what its result equals, as the end of "... equal the result of ..."."""

    name: str
    says: str
    reading: Reading


def suspects(right: Reading, memory: Memory) -> Iterator[Suspect]:
    """Every single fault of the catalogue that differs from the ``right`` reading of these operands."""
    for family in (_layouts, _neighbours, _collapsed, formats, _k_tails, shifts, stores, _chunks):
        for suspect in family(right, memory):
            if _differs(suspect.reading, right):
                yield suspect


def _differs(reading: Reading, right: Reading) -> bool:
    if reading.store is not right.store or reading.chunks is not None:
        return True
    pairs = ((reading.A, right.A), (reading.B, right.B), (reading.sa, right.sa), (reading.sb, right.sb))
    return any(x.shape != y.shape or not torch.equal(_bytes(x), _bytes(y)) for x, y in pairs)


def _bytes(x: Tensor) -> Tensor:
    # Flat first: a tensor with an axis of one is contiguous whatever its last stride, and bytes need that to be 1.
    return x.reshape(-1).contiguous().view(torch.uint8)


def _layouts(right: Reading, memory: Memory) -> Iterator[Suspect]:
    """Scales read with another leading dimension or order (pytorch#166752, flashinfer#2147, TileOPs#2040)."""
    problem = memory.problem
    k = k_index(problem, right.sb.device)
    kb, blocks, columns = problem.k_blocks, memory.Bs.shape[0], memory.column_blocks()[None, :]
    for leading in (-(-kb // 4) * 4, kb + 1, kb - 1):
        says = f"reading the B scales with leading dimension {leading} instead of {kb}"
        yield Suspect("b-leading-dimension", says, replace(right, sb=memory.b_scales_at(columns * leading + k)))
    says = "reading the B scales transposed"
    yield Suspect("b-transposed", says, replace(right, sb=memory.b_scales_at(k * blocks + columns)))
    rows, m = memory.row_blocks()[None, :], memory.As.shape[0]
    yield Suspect(
        "a-transposed", "reading the A scales transposed", replace(right, sa=memory.a_scales_at(rows * kb + k))
    )
    padded = -(-m // 4) * 4
    says = f"reading the A scales with leading dimension {padded} instead of {m}"
    yield Suspect("a-leading-dimension", says, replace(right, sa=memory.a_scales_at(k * padded + rows)))


def _neighbours(right: Reading, memory: Memory) -> Iterator[Suspect]:
    """The scale of the block next to the right one."""
    for step, which in ((1, "next"), (-1, "previous")):
        for side, name in (("sa", "A"), ("sb", "B")):
            scale: Tensor = getattr(right, side)
            shifted = _shift(scale, step, 0)
            says = f"using the {name} scale of the {which} K block"
            yield Suspect(f"{name.lower()}-{which}-k-block", says, with_scale(right, side, shifted))
            edge = scale.clone()
            edge[-1 if step < 0 else 0] = shifted[-1 if step < 0 else 0]
            last = "last" if step < 0 else "first"
            says = f"using the {name} scale of the {which} K block in the {last} K block"
            yield Suspect(f"{name.lower()}-{last}-k-block", says, with_scale(right, side, edge))
        says = f"using the A scale of the {which} row"
        yield Suspect(f"a-{which}-row", says, replace(right, sa=_shift(right.sa, step, 1)))
        block = memory.column_blocks() + step
        says = f"using the B scale of the {which} N block"
        clamped = memory.Bs[block.clamp(0, memory.Bs.shape[0] - 1)].t()
        yield Suspect(f"b-{which}-n-block", says, replace(right, sb=clamped))


def with_scale(reading: Reading, side: str, scale: Tensor) -> Reading:
    """``reading`` with other scales by row ("sa") or by column ("sb")."""
    return replace(reading, sa=scale) if side == "sa" else replace(reading, sb=scale)


def _shift(scale: Tensor, step: int, dim: int) -> Tensor:
    size = scale.shape[dim]
    index = (torch.arange(size, device=scale.device) + step).clamp(0, size - 1)
    return scale.index_select(dim, index)


def _collapsed(right: Reading, memory: Memory) -> Iterator[Suspect]:
    """One scale where there should be many, a scale left out, applied twice or inverted, tiles of another width."""
    for side, name in (("sa", "A"), ("sb", "B")):
        scale: Tensor = getattr(right, side)
        lane = "row" if name == "A" else "N block"
        for says, other in (
            (f"using the {name} scale of the first K block everywhere", scale[:1].expand_as(scale)),
            (f"using the {name} scale of the first {lane} everywhere", scale[:, :1].expand_as(scale)),
            (f"leaving out the {name} scales", torch.ones_like(scale)),
            (f"applying the {name} scales twice", scale * scale),
            (f"dividing by the {name} scales", 1 / scale),
            (f"ignoring the sign of the {name} scales", scale.abs()),
        ):
            yield Suspect(f"{name.lower()}-collapsed", says, with_scale(right, side, other.contiguous()))
    for width in (64, 256):
        block = torch.arange(memory.problem.n, device=right.sb.device) // width
        scales = memory.Bs[block.clamp(0, memory.Bs.shape[0] - 1)].t().contiguous()
        yield Suspect("b-tile-width", f"taking N blocks as {width} wide for the B scales", replace(right, sb=scales))


def formats(right: Reading, _: Memory | None = None) -> Iterator[Suspect]:
    """Scales squeezed into another format (transformers#47030, vllm#51372, DeepGEMM#112)."""
    conversions: tuple[tuple[str, Scales], ...] = (
        ("rounded to bfloat16", lambda s: s.bfloat16().float()),
        ("truncated to bfloat16", lambda s: (s.view(torch.int32) & -65536).view(torch.float32)),
        ("rounded to float16", lambda s: s.half().float()),
        ("rounded up to powers of two", round_up_to_power_of_two),
        ("cut down to powers of two", lambda s: (s.view(torch.int32) & -8388608).view(torch.float32)),
    )
    for what, convert in conversions:
        for sides in (("sa",), ("sb",), ("sa", "sb")):
            name = " and ".join("AB"[side == "sb"] for side in sides)
            changed = right
            for side in sides:
                changed = with_scale(changed, side, convert(getattr(right, side).contiguous()))
            yield Suspect("scale-format", f"{name} scales {what}", changed)


def _k_tails(right: Reading, memory: Memory) -> Iterator[Suspect]:
    """K columns left out or counted twice (TensorRT-LLM#12835, aiter#5286)."""
    k = memory.problem.k
    spans = {
        "the ragged end of K": (k // BLOCK * BLOCK, k),
        "the last K block": ((memory.problem.k_blocks - 1) * BLOCK, k),
        "the first K block": (0, min(BLOCK, k)),
        "K beyond the last multiple of 512": (k // 512 * 512, k),
        "the last 32 of K": (max(k - 32, 0), k),
    }
    for what, (start, stop) in spans.items():
        if start < stop:
            yield Suspect("k-dropped", f"leaving out {what}", replace(right, A=without(right.A, start, stop)))
    last = slice((memory.problem.k_blocks - 1) * BLOCK, k)
    twice = Reading(
        torch.cat([_whole(right.A), right.A[:, last]], 1),
        torch.cat([_whole(right.B), right.B[:, last]], 1),
        torch.cat([right.sa, right.sa[-1:]]),
        torch.cat([right.sb, right.sb[-1:]]),
    )
    yield Suspect("k-doubled", "counting the last K block twice", twice)
    for side in ("A", "B"):
        codes: Tensor = getattr(right, side)
        tiny = decode(codes).abs() < 2.0 ** format_of(codes.dtype).min_exponent
        flushed = torch.where(tiny, 0, codes.view(torch.uint8)).view(codes.dtype)
        says = f"taking subnormal codes of {side} for zero"
        changed = replace(right, A=flushed) if side == "A" else replace(right, B=flushed)
        yield Suspect("subnormals-flushed", says, changed)


def without(codes: Tensor, start: int, stop: int) -> Tensor:
    """``codes`` [rows, K] with zeros from lane ``start`` to before ``stop``."""
    rest = codes.clone()
    rest.view(torch.uint8)[:, start:stop] = 0
    return rest


def _whole(codes: Tensor) -> Tensor:
    missing = -codes.shape[1] % BLOCK
    return torch.nn.functional.pad(codes.view(torch.uint8), (0, missing)).view(codes.dtype)


def shifts(right: Reading, _: Memory | None = None) -> Iterator[Suspect]:
    """Whole rows or columns of the result that belong to their neighbours."""
    for step, which in ((1, "next"), (-1, "previous")):
        rows, cols = ((torch.arange(x.shape[0], device=x.device) + step) % x.shape[0] for x in (right.A, right.B))
        moved = replace(right, A=_take(right.A, rows), sa=right.sa[:, rows])
        yield Suspect("row-shifted", f"the {which} row", moved)
        moved = replace(right, B=_take(right.B, cols), sb=right.sb[:, cols])
        yield Suspect("column-shifted", f"the {which} column", moved)


def _take(codes: Tensor, index: Tensor) -> Tensor:
    return codes.view(torch.uint8)[index].view(codes.dtype)


def _chunks(right: Reading, _: Memory) -> Iterator[Suspect]:
    """Split-K slices lost or used twice."""
    plans: dict[str, Callable[[int], tuple[int, ...]]] = {
        "adding only the first split-K slice": lambda _: (0,),
        "adding only the last split-K slice": lambda n: (n - 1,),
        "leaving out the last split-K slice": lambda n: tuple(range(n - 1)),
        "adding the first split-K slice in place of every other": lambda n: (0,) * n,
        "adding the last split-K slice twice": lambda n: (*range(n), n - 1),
    }
    for says, chosen in plans.items():
        yield Suspect("split-k-slices", says, replace(right, chunks=chosen))


def stores(right: Reading, _: Memory | None = None) -> Iterator[Suspect]:
    """The float32 result on its way to the output dtype."""
    ways = {
        "cutting instead of rounding the output": _cut,
        "rounding the output half up": _half_up,
        "rounding the output to bfloat16 on the way": lambda x, dtype: x.bfloat16().to(dtype),
        "rounding the output to float16 on the way": lambda x, dtype: x.half().to(dtype),
        "not writing the output (zeros)": lambda x, dtype: torch.zeros_like(x, dtype=dtype),
        "saturating the output": lambda x, dtype: x.clamp(torch.finfo(dtype).min, torch.finfo(dtype).max).to(dtype),
        "flipping the sign of the output": lambda x, dtype: -x.to(dtype),
    }
    for says, store in ways.items():
        yield Suspect("store", says, replace(right, store=store))


def _lost_bits(dtype: torch.dtype) -> int:
    return {torch.bfloat16: 16, torch.float16: 13}.get(dtype, 0)


def _cut(x: Tensor, dtype: torch.dtype) -> Tensor:
    mask = -1 << _lost_bits(dtype)
    return (x.contiguous().view(torch.int32) & mask).view(torch.float32).to(dtype)


def _half_up(x: Tensor, dtype: torch.dtype) -> Tensor:
    lost = _lost_bits(dtype)
    half = 1 << (lost - 1) if lost else 0
    return ((x.contiguous().view(torch.int32) + half) & (-1 << lost)).view(torch.float32).to(dtype)
