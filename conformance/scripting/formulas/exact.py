"""Formulas of data whose every partial sum is exact, after `cases.fill.exact`, `.scales`, `.lone` and `.special`."""

from __future__ import annotations

from cases import Case
from cases.conditions import SUBNORMALS, integer_limits, scale_limit, subnormal_scale_limit
from cases.places import edited_scale, injection_of, shape_of
from conformance.scripting.formulas.pieces import Formula, below, both, codes, octets, power, scale_words

ONES = {"e4m3fn": 0x38, "e5m2": 0x3C, "e4m3fnuz": 0x40, "e5m2fnuz": 0x40}
"""The code of 1.0 in every format. Those called fnuz have no negative zero."""
SIGN = "1 - 2.0 * ({} & 1)"


def tagged_integers(case: Case) -> Formula:
    """Ternary codes under tags."""
    return _ternary(case) + _tags(case, scale_limit(case.problem))


def _ternary(case: Case) -> Formula:
    def text(form: str, _: int) -> str:
        unit, sign = "({x} >> 1 & 1)", "({x} & 1) << 7"
        both_zeros = f"({unit} * {ONES[form]} | {sign}).view({{dtype}})"
        return f"({unit} * ({ONES[form]} | {sign})).view({{dtype}})" if form.endswith("fnuz") else both_zeros

    return octets(case.problem) + codes(case.problem, text, "0, 1 and -1")


def _tags(case: Case, limit: int) -> Formula:
    columns = case.problem.k_scales
    drawn = f'As, Bs = ({below("x", limit // 3, columns)} for x in ("As", "Bs"))'
    residue = f"(torch.arange(len({{x}}))[:, None] + 2 * torch.arange({columns})) % 3"
    tagged = both("As", "Bs", *(f"(3 * {{x}} + {residue} + 1).float()",) * 2, "no neighbours are equal")
    return Formula((drawn,), scale_words(case.problem, "")) + tagged


def integer_codes(case: Case) -> Formula:
    """Nonzero integers under powers of two."""
    limits = integer_limits(case.problem)
    columns = case.problem.k_scales
    integers = codes(
        case.problem, lambda _, i: f"(({SIGN.format('{x}')}) * (({{x}} >> 1) % {limits[i]} + 1)).to({{dtype}})"
    )
    drawn = f'(words[x] & 1).view(-1, {columns}) + (words[f"{{x}}/row"] & 1).view(-1, 1)'
    exponent = f"2 * {{x}} + (torch.arange(len({{x}}))[:, None] + torch.arange({columns})) % 2 + 120"
    rows = {f"{name}/row": str(shape_of(case.problem, name)[0]) for name in ("As", "Bs")}
    words = scale_words(case.problem, "") | rows
    powers = both("As", "Bs", exponent, exponent) + both("As", "Bs", *(power("{x}"),) * 2, "powers of two")
    return octets(case.problem) + integers + Formula((f'As, Bs = ({drawn} for x in ("As", "Bs"))',), words) + powers


def subnormal_codes(case: Case) -> Formula:
    """Subnormals on one side, small integers on the other, under tags."""

    def text(form: str, side: int) -> str:
        if side == case.seed % 2:
            return f"({{x}} & 0x80 | ({{x}} & 0x7F) % {SUBNORMALS[form][0]} + 1).view({{dtype}})"
        return "(({x} % 5).float() - 2).to({dtype})"

    form, name = ((case.problem.a, "As"), (case.problem.b, "Bs"))[case.seed % 2]
    exponent = -9 - SUBNORMALS[form][1]
    larger = Formula((f"{name} = {name} * {2**exponent}",) if exponent else ())
    tagged = _tags(case, subnormal_scale_limit(case.problem))
    return octets(case.problem) + codes(case.problem, text) + tagged + larger


def odd_scales(case: Case) -> Formula:
    """Ternary codes, odd mantissas of 12 bits on one side and powers of two on the other."""
    words, lines = {}, []
    for i, name in enumerate(("As", "Bs")):
        rows, columns = shape_of(case.problem, name)
        words[f"scales {i}"] = f"{rows} * {columns}"
        if i == case.seed % 2:
            lines.append(f"""{name} = (2 * ({below(f'"scales {i}"', 1024, columns)}) + 2049).float() / 4096""")
        else:
            words[f"scales {i}/row"] = str(rows)
            doubled = f'2 * (words["scales {i}/row"] & 1)[:, None]'
            lines.append(f'{name} = (words["scales {i}"] & 1).view(-1, {columns}) + {doubled} + 127')
            lines.append(f"{name} = {power(name)}")
    return _ternary(case) + Formula(tuple(lines), words)


def signed_scales(case: Case) -> Formula:
    """Tags of either sign, one in eight of them zero."""
    each = 'for x, s in (("As", As), ("Bs", Bs))'
    lines = (
        f'signs = (words[f"{{x}} sign"].view(torch.uint8)[: s.numel()].view(s.shape) & 1 {each})',
        "As, Bs = (s * (1 - 2.0 * sign) for s, sign in zip((As, Bs), signs))",
        f'As, Bs = (s * ((words[f"{{x}} kept"] & 7).view(s.shape) > 0) {each})',
    )
    return tagged_integers(case) + Formula(lines, scale_words(case.problem, " kept", " sign"))


def wide_scales(case: Case) -> Formula:
    """Tags times 2^e and 2^-e."""
    up, down = ("+", "-") if case.seed % 2 else ("-", "+")
    lines = (
        'e = torch.tensor([76, 100, 110])[(words["wide"] & 0x7FFFFFFF) % 3]',
        f"As, Bs = As * {power(f'(127 {up} e)')}, Bs * {power(f'(127 {down} e)')}",
    )
    return tagged_integers(case) + Formula(lines, {"wide": str(case.problem.k_scales)})


def one_scale(case: Case) -> Formula:
    """Ones, and one other scale."""
    problem = case.problem
    (name, row, block), (of_a, of_b) = edited_scale(problem, case.seed), (shape_of(problem, x) for x in ("As", "Bs"))
    return Formula(
        (
            f"A, B = torch.ones(M, K).to(torch.float8_{problem.a}), torch.ones(N, K).to(torch.float8_{problem.b})",
            f"As, Bs = torch.ones{of_a}, torch.ones{of_b}",
            f"{name}[{row}, {block}] = {2 + block}",
        )
    )


def one_nan(case: Case) -> Formula:
    """Tagged integers, and one NaN or infinity."""
    put = injection_of(case.problem, case.seed)
    value = {"nan": "torch.nan", "inf": "torch.inf", "-inf": "-torch.inf"}[str(put.value)]
    place = f"{put.row}" if put.whole_row else f"{put.row}, {put.column}"
    is_code = put.operand in ("A", "B")
    code = f"torch.tensor({value}).to({put.operand}.dtype).view(torch.uint8)"
    line = f"{put.operand}.view(torch.uint8)[{place}] = {code}" if is_code else f"{put.operand}[{place}] = {value}"
    return tagged_integers(case) + Formula((line,))


def code_pairs(case: Case) -> Formula:
    """Code i alone in row i of A, code j in every lane of row j of B."""
    problem = case.problem
    blocks, lanes = max(1, problem.k // 128), min(128, problem.k)
    lines = (
        "row, column = torch.arange(M), torch.arange(N)",
        f"lane = (row + row // 256) % {blocks} * 128 + (row + {case.seed}) % {lanes}",
        "A = torch.zeros(M, K, dtype=torch.uint8).scatter_(1, lane[:, None], row.to(torch.uint8)[:, None])",
        f"A = A.view(torch.float8_{problem.a})",
        f"B = column.to(torch.uint8)[:, None].repeat(1, K).view(torch.float8_{problem.b})",
        f'As, Bs = ((words[x] & 1).view(-1, {problem.k_scales}) for x in ("As", "Bs"))',
        f"As, Bs = {power('As + 124')}, {power('Bs + 126')}",
    )
    return Formula(lines, scale_words(problem, ""))


def full_scales(case: Case) -> Formula:
    """One product a result: scales of 24 bits on one side, powers of two on the other."""
    problem, columns = case.problem, case.problem.k_scales
    (long, rows, form), (short, others, other) = _longer_first(case)
    blocks = problem.k_blocks
    lines = [
        'A, B = (1 - 2.0 * (words[x].view(torch.uint8) & 1) for x in ("A", "B"))',
        f"row = torch.arange({rows}) + {case.seed} * {rows}",
        f"lane = (row // {blocks} + row % {blocks} * 11) % (K - row % {blocks} * 128).clamp(max=128)",
        f"{long} = torch.zeros({rows}, K).scatter_(1, (lane + row % {blocks} * 128)[:, None], {long}[:{rows}, None])",
        f"{long}, {short} = {long}.to(torch.float8_{form}), {short}[: {others} * K].view({others}, K)",
        f"{short} = {short}.to(torch.float8_{other})",
    ]
    words = {long: f"-(-{rows} // 8)", short: f"-(-{others} * K // 8)"}
    for i, name in enumerate(("As", "Bs")):
        words[f"scales {i}"] = f"{shape_of(problem, name)[0]} * {columns}"
        drawn = f'words["scales {i}"].view(-1, {columns})'
        if i == (case.seed + problem.k_blocks) % 2:
            lines.append(f"x = {drawn}")
            text = "((x >> 23 & 0x7FFFFFFF) % 6 + 124 << 23 | x & 0x7FFFFF | 1).int().view(torch.float32)"
        else:
            text = power(f"(({drawn} & 0x7FFFFFFF) % 7 + 124)")
        lines.append(f"{name} = {text}")
    return Formula(tuple(lines), words)


def _longer_first(case: Case) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """The sides with the name of their size and their format, the one with more rows first."""
    problem = case.problem
    a, b = ("A", "M", problem.a), ("B", "N", problem.b)
    return (a, b) if problem.m >= problem.n else (b, a)
