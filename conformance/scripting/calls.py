"""The call as text: torch's own APIs exactly as `conformance.backends.raw` calls them, any other kernel by import."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from keyword import iskeyword

from cases import Case
from cases.problem import BLOCK_RECIPES, OUT_DTYPES
from conformance.backends.convention import BLOCK_SIZE, OPERANDS, OUT_DTYPE, RECIPE, Convention
from conformance.backends.names import place_of
from conformance.contract.row import Api
from conformance.errors import UsageError
from conformance.explaining.account import Account
from conformance.explaining.question import layout_of

PIECE = 80
"""Characters of a path on one line."""
KERNEL = "apply_block_scaled_mm"
PLACE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
V2_KINDS = {"1x128": "BlockWise1x128", "128x128": "BlockWise128x128"}
SPOILED: Mapping[Api, str] = {
    "v1": "torch._scaled_mm(A, B, scale_a=scale_a, scale_b=scale_b, out_dtype=dtype, **more)",
    "v2": "F.scaled_mm(A, B, scale_a, kinds[0], scale_b, kinds[1], output_dtype=dtype, **more)",
}
"""The raw call once one thing in it was spoiled."""


@dataclass(frozen=True)
class Call:
    """How the product is asked for.

    ``name`` is what is called, in words. ``imports`` stand at the top, ``setup`` before anything is done to the
    operands, ``padding`` before they are laid out. ``copies`` are lines by the scale of which each makes a copy as the
    call needs it, so that it does not matter how that one lay; ``expression`` then gives the result.
    """

    name: str
    expression: str
    imports: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    padding: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)


def call_of(account: Account, case: Case) -> Call:
    """The call of the account's backend for ``case``. Raises UsageError for a kernel that nobody can import."""
    if account.api is None:
        return _kernel(case, account)
    call = _v1(case, account) if account.api == "v1" else _v2(case, account)
    return replace(call, expression=SPOILED[account.api]) if case.scenario.kind == "rule" else call


def padded_rows(case: Case, account: Account) -> int:
    """Rows that are appended to A so that M is a multiple of 4: torch's APIs need it for block scales on CUDA."""
    if account.api is None or case.problem.has_whole_scales or account.device != "cuda":
        return 0
    hip = account.platform.kind == "rocm" and account.api == "v1"
    return 0 if hip else -case.problem.m % 4


def _v1(case: Case, account: Account) -> Call:
    call = f"torch._scaled_mm(A, B.t(), scale_a=As, scale_b=Bs.t(), out_dtype={_out(case)})"
    return Call("torch._scaled_mm", call + _cut(case, account), padding=_padding(case, account))


def _v2(case: Case, account: Account) -> Call:
    problem = case.problem
    setup = ("F, By = torch.nn.functional, torch.nn.functional.ScalingType",)
    if problem.has_whole_scales:
        kinds = ("TensorWise" if problem.recipe == "tensorwise" else "RowWise",) * 2
        scales, copies = ("As", "Bs.t()"), {}
    else:
        a, b = problem.recipe.split("-")
        kinds, scales = (V2_KINDS[a], V2_KINDS[b]), ("As", "Bs")
        lines = {name: _v2_scale(name, side, case, account) for name, side in (("As", a), ("Bs", b))}
        copies = {name: line for name, line in lines.items() if line}
    one, other = (f"{scale}, By.{kind}" for scale, kind in zip(scales, kinds, strict=True))
    call = f"F.scaled_mm(A, B.t(), {one}, {other}, output_dtype={_out(case)})"
    name = "torch.nn.functional.scaled_mm"
    return Call(name, call + _cut(case, account), (), setup, _padding(case, account), copies)


def _v2_scale(name: str, side: str, case: Case, account: Account) -> str:
    """What v2 asks of a scale: by block transposed with K blocks padded to 4, by row column-major."""
    if side == "128x128":
        missing = 0 if account.device == "xpu" else -case.problem.k_blocks % 4
        padded = f"torch.nn.functional.pad({name}, (0, {missing}))" if missing else f"{name}.contiguous()"
        return f"{name} = {padded}.t()"
    lie = getattr(layout_of(case), name)
    return "" if lie.column_major and lie.is_dense else f"{name} = {name}.t().contiguous().t()"


def _padding(case: Case, account: Account) -> tuple[str, ...]:
    rows = padded_rows(case, account)
    if not rows:
        return ()
    padded = f"torch.cat([{{x}}, {{x}}[:1].expand({rows}, -1)])"
    if case.problem.recipe.startswith("1x128"):
        line = f"A, As = ({padded.format(x='x')} for x in (A, As))"
    else:
        line = f"A = {padded.format(x='A')}"
    return (f"{line}  # M is padded to a multiple of 4",)


def _cut(case: Case, account: Account) -> str:
    return "[:M]" if padded_rows(case, account) else ""


def _out(case: Case) -> str:
    return f"torch.{OUT_DTYPES[case.problem.out]}"


def _kernel(case: Case, account: Account) -> Call:
    place = place_of(account.spec)
    if place is None or not _is_name(f"{place.module or 'file'}:{place.attribute}"):
        raise UsageError(
            f"a script has to import the backend {account.backend!r}, and the report does not say where it is: "
            "run the case again with --backend package.module:attribute"
        )
    made = f'kernel = getattr(made := Kernel() if isinstance(Kernel, type) else Kernel, "{KERNEL}", made)'
    call = f"kernel({_arguments(case, account)}{', out=out' if layout_of(case).out else ''})"
    if place.file is None:
        return Call(account.spec, call, (f"from {place.module} import {place.attribute} as Kernel",), (made,))
    loaded = ("sys.path.append(path.rpartition('/')[0])", f'Kernel = runpy.run_path(path)["{place.attribute}"]')
    return Call(account.spec, call, ("import runpy",), (*_spelled(str(place.file)), *loaded, made))


def _spelled(path: str) -> Iterator[str]:
    """A path as literals, however long it is: it comes from a report, and is data in a script."""
    for start in range(0, len(path), PIECE):
        yield f"path {'+=' if start else '='} {path[start : start + PIECE]!r}"


def _is_name(target: str) -> bool:
    """Whether ``module:attribute`` can stand in a script: it comes from a report, and nothing else may get into one."""
    return PLACE.fullmatch(target) is not None and not any(map(iskeyword, re.split("[.:]", target)))


def _arguments(case: Case, account: Account) -> str:
    """How the kernel is called: a rerun knows, and else it is told the recipe where that is not the default one."""
    told = (OUT_DTYPE,) if case.problem.recipe == BLOCK_RECIPES[0] else (OUT_DTYPE, RECIPE)
    known: Convention | None = account.measured.get("convention")
    words = {OUT_DTYPE: _out(case), RECIPE: f'"{case.problem.recipe}"', BLOCK_SIZE: "[128, 128]"}
    words |= {name: name for name in OPERANDS}
    return (known or Convention(OPERANDS, {word: word for word in told})).spelled(words)
