"""What the templates of scripts are filled with: the parts of a script as lines and expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cases import Case
from cases.places import injection_of, shape_of
from cases.problem import OUT_DTYPES
from conformance.explaining.account import Account
from conformance.explaining.owed import refusals_owed
from conformance.explaining.question import layout_of
from conformance.scripting.calls import Call
from conformance.scripting.formulas import FORMULAS
from conformance.scripting.formulas.pieces import WIDTH
from conformance.scripting.placing import laid_out, strides_of

CALLS, KEPT = 200, 1 << 30
"""Equal calls whose results are compared, and the bytes that these may take together."""


def context_of(account: Account, case: Case, ending: str, call: Call, room: float) -> Mapping[str, Any]:
    """Everything that the template ``ending`` asks for. ``room`` counts where values are held to a bound."""
    problem = case.problem
    return {
        "problem": problem,
        "device": account.device,
        "inputs": f"{case.inputs.removesuffix('/shared-scales')}{_shared(case)}/{_seed(account)}",
        # What memory is written does not depend on what is multiplied.
        "digest": "" if ending == "memory" else _digest(account, case),
        "right": _right(case, room),
        "room": case.tier == "bound",
        "special": _special(case),
        "laid": _laid(account, case, ending, call),
        "call": call.expression,
        "imports": call.imports,
        "gives_out": layout_of(case).out is not None,
        "raised": account.line.get("reason") == "raised",
        "patterns": [_pattern(refusal.types, refusal.pattern) for refusal in refusals_owed(account)],
        "out_dtype": f"torch.{OUT_DTYPES[problem.out]}",
        "calls": max(4, min(CALLS, KEPT // max(4 * problem.m * problem.n, 1))),
        "by_row": not problem.recipe.startswith("128x128"),
        "empty": _empty(case),
        **_operands(case, ending),
    }


def _laid(account: Account, case: Case, ending: str, call: Call) -> list[str]:
    """What happens to the operands before the call; empty ones lie as they should already."""
    if ending == "fake":
        return [*call.setup, *call.padding, *call.copies.values()]
    return list(laid_out(account, case, call, everything=ending == "memory"))


def _seed(account: Account) -> int:
    return int(account.header["seed"])


def _shared(case: Case) -> str:
    return "/shared-scales" if case.scenario.shares_scales else ""


def _digest(account: Account, case: Case) -> str:
    """The digest of the case's operands, where the script makes these; only hex digits get into a script."""
    digest = str(account.line.get("input_digest", ""))
    return digest if case == account.case and re.fullmatch("[0-9a-f]{16}", digest) else ""


def _operands(case: Case, ending: str) -> Mapping[str, Any]:
    if ending == "fake":
        return {"words": [], "operands": []}
    formula = FORMULAS[case.family.name](case)
    lines = list(formula.lines)
    if case.scenario.shares_scales:
        lines.append("As, Bs = (x[:1].expand(x.shape).contiguous() for x in (As, Bs))")
    return {"words": _counts(formula.words), "operands": lines}


def _counts(words: Mapping[str, str]) -> list[str]:
    """How many words each stream has, as a dict that then holds the words themselves."""
    lines: list[list[str]] = []
    for name, count in words.items():
        item = f'"{name}": {count}'
        if not lines or len("words |= {" + ", ".join((*lines[-1], item)) + "}") > WIDTH:
            lines.append([])
        lines[-1].append(item)
    return [f"words {'|=' if i else '='} {{{', '.join(line)}}}" for i, line in enumerate(lines)]


def _right(case: Case, room: float) -> list[str]:
    """Lines for the right value in float64, and for how far rounding may take a result from it."""
    a, b = (_dequantised(case, name) for name in "AB")
    sizes = [x for x in "KMN" if any(f"[{x.lower()}]" in text or f", {x.lower()}]" in text for text in (a, b))]
    lines = [f"{', '.join(sizes).lower()} = {', '.join(f'torch.arange({x}) // 128' for x in sizes)}"] if sizes else []
    bias = " + (torch.arange(N) % 7 - 3)" if case.scenario.name == "bias-right" else ""
    if case.tier == "bound":
        product = f"right, room = a @ b.t(){bias}, {room:g} * (a.abs() @ b.abs().t())  # with room for any rounding"
    else:
        product = f"right = a @ b.t(){bias}"
    return [*lines, f"a, b = {a}, {b}", product]


def _dequantised(case: Case, name: str) -> str:
    """An operand times its scales, [rows, K] in float64."""
    if case.problem.has_whole_scales:
        return f"{name}.double() * {name}s"
    rows = case.problem.m if name == "A" else case.problem.n
    by_block = case.problem.recipe.split("-")["AB".index(name)] == "128x128"
    blocks = f"[{'m' if name == 'A' else 'n'}]" if by_block and rows > 0 else ""
    return f"{name}.double() * {name}s{blocks}[:, k]"


def _special(case: Case) -> str:
    """Which values are owed that equal nothing: NaN, or with an infinite scale NaN or infinity."""
    if case.family.name != "one-nan":
        return "nan" if case.family.name == "code-pairs" else ""
    value = injection_of(case.problem, case.seed).value
    return "nan" if value != value else "inf"


def _pattern(types: tuple[str, ...], pattern: str) -> str:
    """A refusal as a pattern of its class and its text."""
    text = pattern.removeprefix("^") if pattern.startswith("^") else f".*{pattern}"
    return f"({'|'.join(types)}): {text}"


def _empty(case: Case) -> list[str]:
    """Operands without contents, laid out as usual: fake kernels look at nothing else."""
    problem, layout = case.problem, layout_of(case)
    dtypes = {"A": f"torch.float8_{problem.a}", "B": f"torch.float8_{problem.b}"}
    lines = []
    for name, short in (("A", "a"), ("B", "b"), ("As", "sa"), ("Bs", "sb")):
        strides = strides_of(case, name, getattr(layout, name))
        dtype = dtypes.get(name, "torch.float32")
        lines.append(f"{short} = torch.empty_strided({shape_of(problem, name)}, {strides}, dtype={dtype})")
    return lines
