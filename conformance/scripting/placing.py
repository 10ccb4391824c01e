"""How a script lays its operands out: each in a buffer with known contents or poison around it, as the suite does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cases import Case
from cases.places import shape_of
from cases.problem import OUT_DTYPES
from conformance.explaining.account import Account
from conformance.explaining.question import layout_of
from conformance.layouts import LAYOUTS, Fill, Layout, Lie
from conformance.scripting.calls import Call, padded_rows
from conformance.scripting.spoils import MALFORMED, RULES, TOLD_OTHERWISE

FRONT = 4096
"""Bytes before an operand, and the least behind it."""
LARGEST = {"e4m3fn": "448.0", "e5m2": "57344.0", "e4m3fnuz": "240.0", "e5m2fnuz": "57344.0"}
OF_SCALES: Mapping[Fill, str] = {"known": "1000.0", "nan": "torch.nan", "inf": "torch.inf", "huge": "3e38"}
SCALES = ("As", "Bs")


def laid_out(account: Account, case: Case, call: Call, *, everything: bool = False) -> Iterator[str]:
    """Lines between the operands and the call: padded, brought to the device, laid out, and spoiled where they are.

    ``everything``: every operand gets a buffer, and not only those that kernels are known to read beyond.
    """
    yield from call.setup
    if case.scenario.kind == "malformed":
        # Their shapes are others, and nothing is known of what is read beyond them.
        yield from (MALFORMED[case.scenario.name], *_moved(("A", "B", *SCALES), account.device))
        yield "As = As.t().contiguous().t()"
        return
    yield from call.padding
    yield from _placed(_padded(case, account), _layout(case, account), account.device, _simple(call, everything))
    yield from call.copies.values()
    if case.scenario.kind == "rule":
        yield from _spoiled(case, account)


def _padded(case: Case, account: Account) -> Case:
    """The case with as many rows as the call has."""
    return replace(case, problem=replace(case.problem, m=case.problem.m + padded_rows(case, account)))


def _layout(case: Case, account: Account) -> Layout:
    """How the operands lie: where rows are appended to A and its scales, these are copies that lie as usual."""
    layout, usual = layout_of(case), LAYOUTS[""]
    return replace(layout, A=usual.A, As=usual.As) if padded_rows(case, account) else layout


def _simple(call: Call, everything: bool) -> tuple[str, ...]:
    """The operands for which it does not matter where they lie."""
    return tuple(call.copies) if everything else ("A", "B", *call.copies)


def _placed(case: Case, layout: Layout, device: str, simple: tuple[str, ...]) -> Iterator[str]:
    """Lines that bring A, B, As and Bs of ``case`` to ``device`` and into the memory that ``layout`` says."""
    moved = tuple(name for name in simple if name in SCALES or getattr(layout, name) == Lie())
    yield from _moved(moved, device)
    yield from (_in_buffer(case, x, getattr(layout, x), device) for x in ("A", "B", *SCALES) if x not in moved)
    if layout.out:
        problem = case.problem
        size, shape = layout.out.extent(problem.m, problem.n), (problem.m, problem.n)
        made = f"torch.full(({size},), torch.nan, dtype=torch.{OUT_DTYPES[problem.out]}{_on(device)})"
        yield f"out = {made}.as_strided({shape}, {layout.out.strides(*shape)})"


def _moved(names: tuple[str, ...], device: str) -> Iterator[str]:
    if device != "cpu" and names:
        moved = (f'{name}.to("{device}")' for name in names)
        yield f"{', '.join(names)} = {', '.join(moved)}"


def _in_buffer(case: Case, name: str, lie: Lie, device: str) -> str:
    rows, columns = shape_of(case.problem, name)
    size = 4 if name in SCALES else 1
    start = FRONT // size + lie.offset
    # Behind B scales at least what a kernel reads that takes their K blocks for padded to 4.
    behind = max(FRONT // size, 4 * rows if name == "Bs" else 0)
    fill = OF_SCALES[lie.fill] if name in SCALES else _code(lie.fill, case.problem.a if name == "A" else case.problem.b)
    buffer = f"torch.full(({start + lie.extent(rows, columns) + behind},), {fill}{_on(device)})"
    buffer = buffer if name in SCALES else f"{buffer}.to({name}.dtype)"
    if lie.expanded:
        line = f"{buffer}.as_strided((1, {columns}), (0, {lie.step}), {start}).copy_({name}[:1])"
        return f"{name} = {line}.expand({rows}, {columns})"
    strides = strides_of(case, name, lie)
    return f"{name} = {buffer}.as_strided({(rows, columns)}, {strides}, {start}).copy_({name})"


def strides_of(case: Case, name: str, lie: Lie) -> tuple[int, int]:
    """The strides of an operand: along the one column of whole scales nothing is walked, and torch asks for 1."""
    rows, columns = shape_of(case.problem, name)
    down, right = lie.strides(rows, columns)
    return (down, 1) if columns == 1 and case.problem.has_whole_scales else (down, right)


def _on(device: str) -> str:
    return "" if device == "cpu" else f', device="{device}"'


def _code(fill: Fill, form: str) -> str:
    """What lies around codes of a format; NaN where it has no infinity."""
    infinite = "torch.inf" if form == "e5m2" else "torch.nan"
    return {"known": "128.0", "nan": "torch.nan", "inf": infinite, "huge": LARGEST[form]}[fill]


def _spoiled(case: Case, account: Account) -> Iterator[str]:
    name, out = case.scenario.name, f"torch.{OUT_DTYPES[case.problem.out]}"
    scale_b = "Bs.t()" if account.api == "v1" else "Bs"
    yield f"B, scale_a, scale_b, dtype, more = B.t(), As, {scale_b}, {out}, {{}}"
    if account.api == "v2":
        yield "kinds = [By.BlockWise1x128, By.BlockWise128x128]"
    yield from TOLD_OTHERWISE.get(name, RULES[name]) if account.api == "v2" else RULES[name]
