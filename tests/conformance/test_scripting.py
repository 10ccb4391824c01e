"""Scripts for bug reports: short, of torch alone, with the very operands of the case, and of the suite's own mind."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
import torch
from hopper_calls import Hopper
from torch import Tensor

from cases import FAMILIES, Case, Problem, parse_case, plan
from cases.operands import build_operands, digest_of
from cases.rules import RULES
from conformance.backends.raw import RawCall, raw_call, raw_v2
from conformance.contract.row import Api
from conformance.errors import UsageError
from conformance.execute import run_case
from conformance.explaining.account import Account
from conformance.explaining.rerunning import room
from conformance.heading import about
from conformance.presentation import present
from conformance.records import header
from conformance.request import Request
from conformance.scenarios.malformed import MALFORMED
from conformance.scenarios.spoiling import SPOILS
from conformance.scripting import spoils
from conformance.scripting.formulas import FORMULAS
from conformance.scripting.script import Script, scripts_of
from conformance.scripting.trying import shown
from conformance.session import Session
from reference import exact_block_matmul

H200 = {
    "torch": "2.11.0+cu130",
    "path": "sm90",
    "platform": "cuda",
    "arch": "sm90",
    "runtime": "13.0",
    "driver": "580.159.04",
    "device": "cuda",
    "device_name": "NVIDIA H200",
    "seed": 0,
    "backends": {"torch-v1": {"cublas": "13.1.0.3"}},
    "specs": {"torch-v1": "torch-v1", "torch-v2": "torch-v2", "next-scale": "kernels:NextScale"},
}
SAME = "the operands of the case: True\n"
OVERRUN = "gemm/1x128-128x128/m84-n7168-k2304/bf16/tagged-integers/s0"
SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"


def account(case: str, backend: str = "torch-v1", of_run: dict[str, Any] = H200, **more: Any) -> Account:
    line = {"kind": "case", "id": case, "backend": backend, "verdict": "failed", "reason": "wrong-values"}
    return Account(of_run, {**line, "expected": "compute", "detail": "9 of 10 elements are wrong", **more})


def first(told: Account, **more: Any) -> Script:
    return next(iter(scripts_of(told, **more)))


def carry_out(text: str) -> tuple[int, str]:
    """Exit code and output of a script in this process."""
    out = StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as ending:
        exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    assert isinstance(ending.value.code, int)
    return ending.value.code, out.getvalue()


def rerun_one(case: str, backend: str) -> Account:
    """What a rerun says, but for the finding, which takes long and is in no script's way."""
    session = Session.open(Request((backend,), "cpu", cases=(case,)))
    (assignment,) = session.assignments
    line = run_case(assignment, seed=0, device=session.device).to_json()
    return Account(header(about(session)), line, measured={"convention": assignment.backend.convention})


def script_and_verdict(case: str, backend: str) -> tuple[int, str]:
    told = rerun_one(case, backend)
    return carry_out(first(told, room=lambda x: room(told, x)).text())[0], str(told.line["verdict"])


# The form of every script


def _planned() -> Iterator[Account]:
    cpu = {**H200, "torch": "2.13.0+cpu", "platform": "cpu", "arch": "x86_64", "device": "cpu", "driver": ""}
    reasons = {"malformed": "accepted", "rule": "accepted"}
    special = {"fake": "fake-differs", "repeat": "results-differ"}
    for i, case in enumerate(plan("standard")):
        reason = special.get(case.scenario.name) or reasons.get(case.scenario.kind, "wrong-values")
        expected = "refuse" if reason == "accepted" else "compute"
        backends = ("torch-v1", "torch-v2", "next-scale")
        if i % 13 == 0 and case.tier != "declared":
            yield account(case.id, backends[i % 3], (H200, cpu)[i // 3 % 2], reason=reason, expected=expected)


def test_every_script_is_short_and_takes_torch_alone() -> None:
    seen = 0
    for told in _planned():
        text = _text(told)
        if not text:
            continue
        lines, tree = text.split("\n"), ast.parse(text)
        imported = {name for node in ast.walk(tree) for name in _imported(node)}
        seen += 1

        assert len(lines) - 1 < 40, told.id
        assert max(map(len, lines)) <= 120, told.id
        assert imported <= {"torch", "hashlib", "re", "sys", "torch._subclasses.fake_tensor", "kernels"}
        assert ("kernels" in imported) == (told.backend == "next-scale")
        assert _unused(tree) == set()
        assert text == text.rstrip() + "\n"
        assert not any(line != line.rstrip() for line in lines)
    assert seen > 250


def _text(told: Account) -> str:
    """The script, "" where it takes too many lines."""
    try:
        return first(told).text()
    except UsageError as error:
        return "" if "it takes more of them" in str(error) else str(error)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def _unused(tree: ast.Module) -> set[str]:
    """Names that are imported, and never read."""
    bound = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return bound - {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


# The operands


def _formulated() -> Iterator[Case]:
    shapes = ((5, 144, 400), (130, 256, 272), (1, 16, 128), (3, 17, 133), (0, 16, 144))
    kinds = (
        ("1x128-128x128", "e4m3fn", "e4m3fn"),
        ("1x128-128x128", "e5m2", "e4m3fnuz"),
        ("128x128-1x128", "e4m3fn", "e5m2fnuz"),
        ("1x128-1x128", "e4m3fn", "e4m3fn"),
        ("tensorwise", "e4m3fn", "e4m3fn"),
        ("rowwise", "e4m3fnuz", "e5m2"),
    )
    for name in FORMULAS:
        for shape in shapes:
            for kind in kinds:
                for seed in (0, 1, 5):
                    case = Case(Problem(*shape, "fp32", *kind), FAMILIES[name], seed)
                    if case.why_not() is None:
                        yield case


@pytest.mark.parametrize("family", FORMULAS)
def test_formulas_give_the_very_bytes_of_the_case(family: str) -> None:
    cases = [case for case in _formulated() if case.family.name == family]
    digests = [_digest(case, seed=i % 3) for i, case in enumerate(cases)]
    expected = [build_operands(case, seed=i % 3).digest for i, case in enumerate(cases)]

    assert digests == expected
    assert len(cases) > 20


def _digest(case: Case, seed: int) -> str:
    formula = FORMULAS[case.family.name](case)
    names: dict[str, Any] = {"torch": torch, "M": case.problem.m, "N": case.problem.n, "K": case.problem.k}
    names["words"] = {
        name: _words(f"{case.inputs}/{seed}/{name}", eval(count, names)) for name, count in formula.words.items()
    }
    exec("\n".join(formula.lines), names)
    return digest_of(*(names[name] for name in ("A", "B", "As", "Bs")))


def _words(name: str, count: int) -> Tensor:
    from cases.stream import Stream

    return Stream(name, torch.device("cpu")).words(count)


@pytest.mark.parametrize("case", [SMALL, SMALL.replace("gemm", "layout/scales-expanded")])
def test_a_script_knows_whether_its_operands_are_those_of_the_record(case: str) -> None:
    told = rerun_one(case, "native")
    right = carry_out(first(told).text())
    other = carry_out(first(replace(told, line={**told.line, "input_digest": "0" * 16})).text())

    assert right[1].startswith(SAME)
    assert other[1].startswith("the operands of the case: False\n")


# The verdict


FAULTY = ("kernels:NextScale", "kernels:Truncating", "conformance.faults:b_scale_k_major", "kernels:NotANumber")
RIGHT = ("kernels:Reversed", "kernels:DequantiseFirst", "native", "conformance.faults:block_loop")
VALUES = ("tagged-integers", "integer-codes", "uniform-codes", "positive-codes", "signed-scales", "one-scale")


@pytest.mark.parametrize("backend", [*FAULTY, *RIGHT])
def test_scripts_are_of_the_mind_of_the_suite(backend: str) -> None:
    found = [
        script_and_verdict(f"gemm/1x128-128x128/m5-n272-k400/{out}/{family}/s1", backend)
        for family in VALUES
        for out in ("bf16", "fp32")
    ]

    assert {code == 1 for code, verdict in found if verdict == "failed"} <= {True}
    assert {code == 0 for code, verdict in found if verdict == "passed"} <= {True}
    assert any(verdict == "failed" for _, verdict in found) == (backend in FAULTY)


@pytest.mark.parametrize(
    ("layout", "kernel"),
    [
        ("as-padded", "UnpaddedAs"),
        ("bs-padded", "UnpaddedBs"),
        ("a-rows-padded", "UnpaddedA"),
        ("b-column-major", "RowMajorB"),
        ("scales-strided", "DenseScales"),
        ("scales-expanded", "StrideZeroForOne"),
        ("offset-1", "RoundsDown"),
        ("poison-nan", "ReadsBehind"),
        ("poison-huge", "WashesAllButHuge"),
        ("out-padded", "UnpaddedOut"),
        ("out-given", "ForgetsTheLast"),
    ],
)
def test_scripts_lay_operands_out_as_the_case_does(layout: str, kernel: str) -> None:
    case = f"layout/{layout}/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
    right = "misreading_kernels:Into" if layout.startswith("out") else "kernels:Reversed"

    assert script_and_verdict(case, f"misreading_kernels:{kernel}") == (1, "failed")
    assert script_and_verdict(case, right) == (0, "passed")


@pytest.mark.parametrize("recipe", ["tensorwise", "rowwise"])
@pytest.mark.parametrize("backend", ["torch-v1", "torch-v2"])
@pytest.mark.parametrize("family", ["tagged-integers", "uniform-codes", "quantised-normal"])
def test_scripts_call_torch_itself_where_it_computes(recipe: str, backend: str, family: str) -> None:
    code, verdict = script_and_verdict(f"gemm/{recipe}/m5-n144-k400/bf16/{family}/s0", backend)

    assert (code, verdict) == (0, "passed")


@pytest.mark.parametrize(
    ("kernel", "case", "said"),
    [
        ("kernels:Raises", SMALL, "raised where a product is owed, RuntimeError: no tile for this shape"),
        ("kernels:WrongShape", SMALL, "((144, 5), torch.bfloat16, 'cpu') came, ((5, 144), torch.bfloat16, 'cpu')"),
        ("kernels:WrongDtype", SMALL, "torch.float64, 'cpu') came"),
        ("kernels:ReturnsNothing", SMALL, "NoneType came"),
        ("kernels:WritesOperand", SMALL, "wrote to or around ['As']"),
        ("kernels:WritesPastOperand", SMALL, "wrote to or around ['Bs']"),
        ("misreading_kernels:IgnoresOut", SMALL.replace("gemm", "layout/out-given"), "another tensor than `out`"),
        ("stateful_kernels:WrongInCall", SMALL.replace("gemm", "state/repeat"), "give other bits"),
        ("stateful_kernels:ScalesByPointer", SMALL.replace("gemm", "state/same-pointers"), "elements are wrong"),
    ],
)
def test_whatever_is_wrong_has_its_own_script(kernel: str, case: str, said: str) -> None:
    told = rerun_one(case, kernel)
    code, out = carry_out(first(told).text())

    assert told.line["verdict"] == "failed"
    assert code == 1
    assert said in out


# The defect of v1: B scales that are read with another leading dimension


def overrunning(A: Tensor, B: Tensor, *, scale_a: Tensor, scale_b: Tensor, out_dtype: torch.dtype) -> Tensor:
    """``torch._scaled_mm`` as it is on Hopper: K blocks of B scales taken for padded to 4."""
    k_blocks, n_blocks = scale_b.shape
    leading = -(-k_blocks // 4) * 4
    read = torch.as_strided(scale_b.t(), (n_blocks, k_blocks), (leading, 1), scale_b.storage_offset())
    return exact_block_matmul(A, B.t(), scale_a, read, recipe="1x128-128x128").to(out_dtype)


def right_v1(A: Tensor, B: Tensor, **more: Any) -> Tensor:
    return Hopper().v1(A, B, **more)


def on_cpu(told: Account) -> str:
    """The script of a CUDA device, with a CPU in its place."""
    return first(told).text().replace('"cuda"', '"cpu"')


@pytest.mark.parametrize("out", ["bf16", "fp32"])
@pytest.mark.parametrize("shape", ["m84-n512-k640", "m83-n384-k528"])
@pytest.mark.parametrize("family", ["tagged-integers", "uniform-codes", "quantised-normal"])
def test_a_script_shows_the_overrun_of_v1(out: str, shape: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = f"gemm/1x128-128x128/{shape}/{out}/{family}/s0"
    text = on_cpu(account(case))
    monkeypatch.setattr(torch, "_scaled_mm", overrunning)
    wrong, again = carry_out(text), carry_out(text)
    monkeypatch.setattr(torch, "_scaled_mm", right_v1)
    right = carry_out(text)

    assert (wrong[0], right[0]) == (1, 0)
    # What lies behind the scales is known, so that even what was read from there repeats.
    assert wrong == again
    assert "the first at [[0, 12" in wrong[1]


@pytest.mark.parametrize("shape", ["m84-n128-k640", "m84-n512-k512"])
def test_where_v1_is_right_the_script_says_so(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "_scaled_mm", overrunning)

    assert carry_out(on_cpu(account(f"gemm/1x128-128x128/{shape}/bf16/tagged-integers/s0")))[0] == 0


def test_the_script_of_the_overrun_says_where_it_was_seen_and_holds_the_scales_in_known_memory() -> None:
    text = first(account(OVERRUN)).text()

    assert text.startswith("# torch._scaled_mm is wrong (wrong-values): A [84, 2304] e4m3fn, B [7168, 2304] e4m3fn")
    assert "torch 2.11.0+cu130, cublas 13.1.0.3, driver 580.159.04, on NVIDIA H200" in text
    assert 'Bs = torch.full((3056,), 1000.0, device="cuda").as_strided((56, 18), (18, 1), 1024).copy_(Bs)' in text


def test_without_a_gpu_a_script_for_one_says_so_in_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", first(account(OVERRUN.replace("7168", "512"))).text()],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (2, "")
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith("not tried, ")


@pytest.mark.parametrize("problem", ["1x128-128x128/m83-n384-k528", "1x128-128x128/m4-n16-k144"])
@pytest.mark.parametrize("family", ["tagged-integers", "uniform-codes"])
def test_v2_gets_its_scales_as_it_demands_them(problem: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.functional, "scaled_mm", Hopper().v2)

    assert carry_out(on_cpu(account(f"gemm/{problem}/bf16/{family}/s0", "torch-v2")))[0] == 0


@pytest.mark.parametrize("recipe", ["128x128-1x128", "1x128-1x128"])
def test_v2_gets_scales_of_rows_by_column(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look(A: Tensor, B: Tensor, scale_a: Tensor, _: object, scale_b: Tensor, *__: object, **___: object) -> Tensor:
        seen.append(tuple((x.shape, x.stride()) for x in (A, B, scale_a, scale_b)))
        return torch.zeros(A.shape[0], B.shape[1])

    monkeypatch.setattr(torch.nn.functional, "scaled_mm", look)
    case = parse_case(f"gemm/{recipe}/m132-n272-k528/bf16/tagged-integers/s0")
    carry_out(on_cpu(account(case.id, "torch-v2")))
    raw = raw_v2(present(build_operands(case)).tensors, torch.bfloat16, recipe)

    assert seen == [tuple((x.shape, x.stride()) for x in (raw.A, raw.B, raw.scale_a, raw.scale_b))]


# Refusals, rules, malformed operands, fake kernels


def test_a_refusal_that_is_owed_is_told_from_a_result_and_from_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    told = rerun_one(SMALL, "torch-v2")
    text = first(told).text()
    as_it_is = carry_out(text)
    monkeypatch.setattr(torch.nn.functional, "scaled_mm", lambda *_, **__: torch.zeros(5, 144))
    accepted = carry_out(text)

    def reword(*_: object, **__: object) -> None:
        raise ValueError("no such scales")

    monkeypatch.setattr(torch.nn.functional, "scaled_mm", reword)

    assert told.line["verdict"] == "rejected"
    assert (as_it_is[0], accepted) == (0, (1, f"{SAME}a result came where a refusal is owed\n"))
    assert carry_out(text) == (1, f"{SAME}refused with ValueError: no such scales\n")


def _spoiled(rule: str, api: Api, raw: RawCall) -> RawCall:
    """The raw call that the lines of a script make of ``raw``."""
    from torch.nn import functional

    names: dict[str, Any] = {"torch": torch, "F": functional, "By": functional.ScalingType, "more": {}}
    names |= {"A": raw.A, "B": raw.B, "scale_a": raw.scale_a, "scale_b": raw.scale_b, "dtype": raw.out_dtype}
    names |= {"M": raw.A.shape[0], "N": raw.B.shape[1], "K": raw.A.shape[1], "kinds": list(raw.recipes or ())}
    lines = spoils.TOLD_OTHERWISE.get(rule, spoils.RULES[rule]) if api == "v2" else spoils.RULES[rule]
    exec("\n".join(lines), names)
    operands = (names[name] for name in ("A", "B", "scale_a", "scale_b"))
    return RawCall(*operands, names["dtype"], tuple(names["kinds"]) or None, names["more"])  # type: ignore[arg-type]


def _described(call: RawCall) -> list[object]:
    tensors = {**call.inputs, **{name: x for name, x in call.more.items() if isinstance(x, Tensor)}}
    said = [(name, x.shape, x.stride(), x.storage_offset() % 16, _octets(x)) for name, x in sorted(tensors.items())]
    others = {name: value for name, value in call.more.items() if not isinstance(value, Tensor)}
    return [said, others, call.out_dtype, call.recipes]


def _octets(x: Tensor) -> str:
    return hashlib.blake2b(x.contiguous().view(-1).view(torch.uint8).numpy().tobytes()).hexdigest()


@pytest.mark.parametrize(("rule", "api"), [(rule, api) for rule in RULES for api in RULES[rule].apis])
def test_rules_are_spoiled_as_the_suite_spoils_them(rule: str, api: Api) -> None:
    k = 640 if RULES[rule].sizes == "unpadded" else 512
    form = RULES[rule].formats
    case = Case(Problem(84, 256, k, "bf16", "1x128-128x128", *form), FAMILIES["tagged-integers"])
    raw = raw_call(api, present(build_operands(case)).tensors, torch.bfloat16)

    assert _described(_spoiled(rule, api, raw)) == _described(SPOILS[rule](raw))


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_operands_are_made_as_the_suite_makes_them(name: str) -> None:
    given = build_operands(parse_case("gemm/1x128-128x128/m5-n272-k400/bf16/tagged-integers/s0"))
    names: dict[str, Any] = dict(zip(("A", "B", "As", "Bs"), given.tensors, strict=True), torch=torch, N=272)
    exec(spoils.MALFORMED[name], names)

    assert digest_of(*(names[x] for x in ("A", "B", "As", "Bs"))) == digest_of(*MALFORMED[name](given).tensors)


def test_malformed_operands_that_are_taken_have_a_script() -> None:
    told = rerun_one("malformed/as-short/1x128-128x128/m5-n272-k400/bf16/tagged-integers/s0", "kernels:Reversed")

    assert told.line["reason"] == "accepted"
    assert carry_out(first(told).text())[0] == 1


@pytest.mark.parametrize(("backend", "recipe"), [("torch-v1", "1x128-128x128"), ("torch-v1", "rowwise")])
def test_fake_kernels_are_told_from_eager_ones(backend: str, recipe: str) -> None:
    told = rerun_one(f"state/fake/{recipe}/m5-n144-k400/bf16/tagged-integers/s0", backend)
    differs = account(told.id, backend, dict(told.header), reason="fake-differs", detail="eager raises")
    code, out = carry_out(first(differs).text())

    assert code == (told.line.get("reason") == "fake-differs")
    assert out.startswith("eager: ")


# What cannot be shown, what was not tried, what a report may hold


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"verdict": "unsupported"}, "it is unsupported, so that nothing was seen"),
        ({"reason": "unexplained-bits"}, "takes a model of the matrix unit"),
        ({"reason": "refused-late"}, "seen on a busy device alone"),
        ({"verdict": "rejected", "reason": ""}, "it is refused, as it may be"),
        ({"id": SMALL.replace("gemm", "state/churn"), "detail": "in round 3: 1 of 2"}, "more than one call"),
        (
            {"id": SMALL.replace("gemm", "relation/negate-a"), "detail": "negate-a: 9 of 10 elements differ"},
            "more than one call",
        ),
        ({"id": "generated/s0"}, "this suite has no case of that name"),
    ],
)
def test_what_no_short_script_shows_is_one_sentence(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        first(account(**{"case": SMALL, **more} if "id" not in more else {"case": more.pop("id"), **more}))


class Ran:
    """In place of a process of its own: scripts with some operands show nothing."""

    def __init__(self, blind: str) -> None:
        self._blind = blind

    def __call__(self, text: str) -> int:
        return 0 if self._blind in text else 1


@pytest.mark.parametrize(
    ("blind", "said"),
    [
        ("nothing", "tagged-integers in place of those"),
        ("tagged-integers/s0/0", "uniform-codes in place of those"),
        ("import torch", "but they do NOT show it"),
    ],
)
def test_operands_that_stand_in_are_tried_one_after_the_other(
    blind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.scripting.trying.exit_code", Ran(blind))
    text, shows = shown(
        scripts_of(account(SMALL.replace("tagged-integers", "quantised-normal"), input_digest="0" * 16))
    )

    assert said in " ".join(text.replace("\n#", "").split())
    # Nobody may take them for those of the case.
    assert SAME[:10] not in text
    assert shows == (blind != "import torch")


HOSTILE = 'x"""\nimport os\nos.abort()\n# \u2028import os'


@pytest.mark.parametrize(
    "told",
    [
        account(SMALL, of_run={**H200, "torch": HOSTILE, "driver": HOSTILE, "device_name": HOSTILE}),
        account(SMALL, detail=HOSTILE, finding=HOSTILE, reason="wrong-values", input_digest='0"; import os; "'),
        account(SMALL, "torch-v1", {**H200, "backends": {"torch-v1": {"cublas": HOSTILE}}}),
    ],
)
def test_nothing_of_a_report_becomes_code(told: Account) -> None:
    text = first(told).text()

    assert {name for node in ast.walk(ast.parse(text)) for name in _imported(node)} == {"hashlib", "sys", "torch"}
    assert "os.abort" not in ast.unparse(ast.parse(text))
    assert all(char.isprintable() for char in text.replace("\n", ""))


@pytest.mark.parametrize("spec", [HOSTILE, "a:b;import os", "a.b", "os:path import x", "class.x:y"])
def test_a_kernel_that_cannot_be_imported_by_its_name_has_no_script(spec: str) -> None:
    with pytest.raises(UsageError, match=r"with --backend package\.module:attribute"):
        first(account(SMALL, "mine", {**H200, "specs": {"mine": spec}}))


def test_a_device_that_no_torch_has_is_no_code_either() -> None:
    with pytest.raises(UsageError, match="no script can be made for a device"):
        first(account(SMALL, of_run={**H200, "device": HOSTILE}))
