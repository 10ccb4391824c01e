"""The command line as people and scripts use it, in processes of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cases
from conformance.backends.names import BUILT_IN
from conformance.cli import main

HERE = Path(__file__).parent.parent
SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
OTHER = "gemm/1x128-128x128/m3-n16-k128/fp32/uniform-codes/s0"


MAIN = "from conformance.cli import main; main()"


def conformance(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    # In one process, where no test asks for workers: each more of them imports torch first.
    where = ("-n", "0") if arguments[0] == "run" and "-n" not in arguments else ()
    command = [sys.executable, "-c", f"import sys; sys.path.append({str(HERE)!r}); {MAIN}", *arguments, *where]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def lines_of(report: Path) -> list[dict[str, object]]:
    return [json.loads(text) for text in (report / "report.jsonl").read_text().splitlines()]


def test_run_prints_a_table_and_keeps_records(tmp_path: Path) -> None:
    done = conformance("run", "--case", SMALL, "--case", OTHER, "--device", "cpu", cwd=tmp_path)

    lines = lines_of(tmp_path / "conformance-report")
    assert done.returncode == 0, done.stderr
    assert "emulated-sm90" in done.stdout
    assert "CONFORMS (selection of 6 cases: not the whole profile): " in done.stdout
    assert done.stderr.splitlines()[-1].startswith("6/6  ")
    assert "6/6" not in done.stdout
    assert [line["kind"] for line in lines] == ["header"] + ["case"] * 6 + ["footer"]
    assert lines[-1]["complete"] is False
    assert (tmp_path / "conformance-report" / "junit.xml").exists()
    assert (
        f"<title>{lines[-1]['conclusion'].split(':')[0]}"
        in (tmp_path / "conformance-report" / "report.html").read_text()
    )
    assert {p.name for p in tmp_path.iterdir()} == {"conformance-report"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "--backend", "torch-v3"), "did you mean 'torch-v2'?"),
        (("run", "--backend", "no.such:thing"), "module 'no.such' cannot be imported"),
        (("run", "--backend", "kernels:NextScales"), "did you mean 'NextScale'?"),
        (("run", "--backend", "kernels:Methodless"), "has no method apply_block_scaled_mm"),
        (("run", "--backend", "kernels:Nameless"), "needs an attribute `name`"),
        (("run", "--backend", "kernels:NeedsArguments"), "must work without arguments"),
        (("run", "--backend", "kernels:VagueSupport"), "is_supported must return (True, None) or (False, 'reason')"),
        (("run", "--backend", "kernels:RaisingSupport"), "can_implement fails (KeyError: 'tile')"),
        (("run", "--backend", "kernels:WordyDescription"), "describe() must return a dict of strings, got 'a kernel'"),
        (("run", "--backend", "kernels:not_a_backend"), "is 'int' 3, and no kernel: write f(A, B, As, Bs, out_dtype)"),
        (("run", "--backend", "native", "--backend", "conformance.backends.models:Native"), "both named 'native'"),
        (("run", "--profile", "standart"), "did you mean 'standard'?"),
        (("run", "--device", "cdua"), "unknown device 'cdua'"),
        (("run", "--device", "cpuu"), "did you mean 'cpu'?"),
        (("run", "--case", "gemm/nonsense"), "is no case id"),
        (("run", "--case", SMALL.replace("tagged-integers", "tagged")), "unknown value family"),
        (("run", "--require", "sm91"), "did you mean 'sm90'?"),
        (("run", "--seed", "-1"), "must not be negative"),
        (("run", "-n", "two"), "-n takes a number"),
        (("run", "--report", "/proc/no/report"), "cannot be written"),
        (("explain", "gemm/nonsense"), "is no case id"),
        (("explain", SMALL, "--backend", "torch-v3"), "did you mean 'torch-v2'?"),
        (("probe", "--device", "cdua"), "unknown device 'cdua'"),
        (("bench", "--backend", "nativ"), "did you mean 'native'?"),
        (("record", "no/such/folder/x.json"), "name a file in a folder that exists"),
        (("list", "--profile", "huge"), "choose one of quick, standard, full, survey"),
        (("run", "--bogus"), "No such option"),
        (("judge",), "No such command"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["conformance", *arguments])

    with pytest.raises(SystemExit) as ending:
        main()

    out, err = capfd.readouterr()
    assert (ending.value.code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("backend", "code", "headline"),
    [
        ("kernels:NextScale", 1, "WRONG: 1 of 1"),
        ("kernels:Raises", 1, "WRONG: 1 of 1"),
        ("kernels:Reversed", 0, "CONFORMS (selection of 1 case: not the whole profile): 1 passed"),
        ("kernels:Unsupported", 4, "INCONCLUSIVE: no product was computed"),
        ("torch-v2", 4, "INCONCLUSIVE: no product was computed"),
    ],
)
def test_exit_codes(backend: str, code: int, headline: str, tmp_path: Path) -> None:
    done = conformance("run", "--backend", backend, "--case", SMALL, "--device", "cpu", cwd=tmp_path)

    assert (done.returncode, headline in done.stdout) == (code, True), done.stdout + done.stderr


@pytest.mark.parametrize(("path", "code"), [("cpu", 0), ("rocm", 4)])
def test_a_required_path_must_be_exercised(path: str, code: int, tmp_path: Path) -> None:
    done = conformance("run", "--case", SMALL, "--device", "cpu", "--require", path, cwd=tmp_path)

    assert done.returncode == code
    assert ("required but not exercised here: rocm (needs an AMD GPU" in done.stdout) is (code == 4)


def test_recording_where_nothing_computes_is_inconclusive(tmp_path: Path) -> None:
    done = conformance("record", "x.json", "--backend", "torch-v2", "--device", "cpu", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert "nothing was recorded" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_recorded_with_what_it_pins(tmp_path: Path) -> None:
    done = conformance("record", "x.json", "--backend", "emulated-sm90", "--device", "cpu", cwd=tmp_path)

    document = json.loads((tmp_path / "x.json").read_text())
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(document['recordings'])} recordings in x.json\n"
    assert {"fraction_bits", "group", "fused"} <= {pin for r in document["recordings"] for pin in r["pins"]}


def test_explain_names_the_fault_on_the_command_line(tmp_path: Path) -> None:
    done = conformance("explain", SMALL, "--backend", "kernels:NextScale", "--device", "cpu", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "using the B scale of the previous K block in the last K block" in " ".join(done.stdout.split())


def test_nothing_selected_is_inconclusive(tmp_path: Path) -> None:
    done = conformance("run", "--case", SMALL, "-k", "nothing", cwd=tmp_path)

    assert (done.returncode, "INCONCLUSIVE" in done.stderr) == (4, True)


def test_list_prints_every_planned_id_once(tmp_path: Path) -> None:
    done = conformance("list", "--profile", "quick", cwd=tmp_path)

    assert done.stdout.splitlines() == [case.id for case in cases.plan("quick")]


def test_list_json_says_what_a_backend_is_owed(tmp_path: Path) -> None:
    done = conformance("list", "--profile", "quick", "--backend", "emulated-sm90", "--json", cwd=tmp_path)

    document = json.loads(done.stdout)
    assert document["count"] == len(document["cases"]) == len(cases.plan("quick"))
    plain = [case for case in document["cases"] if case["id"].startswith("gemm/")]
    of_blocks = [case for case in plain if case["section"] != "tensor-and-row"]
    assert {case["expected"]["emulated-sm90"] for case in of_blocks} == {"compute", "right or refused"}
    assert [case["expected"] for case in plain if case not in of_blocks] == [{}] * (len(plain) - len(of_blocks))


def test_doctor_json_names_every_path_and_reason(tmp_path: Path) -> None:
    done = conformance("doctor", "--json", cwd=tmp_path)

    document = json.loads(done.stdout)
    assert set(document["paths"]) == {"sm90", "non_sm90", "rocm", "xpu", "mps", "cpu"}
    assert document["paths"]["cpu"]["available"] is True
    assert all(path["reason"] for path in document["paths"].values())
    assert set(document["backends"]) == set(BUILT_IN)


def test_doctor_foresees_a_product_on_another_machine(tmp_path: Path) -> None:
    done = conformance("doctor", "--shape", "84,7168,2304", "--on", "cuda/sm90", "--torch", "2.13.0", cwd=tmp_path)

    assert done.returncode == 0
    assert re.search(r"torch-v1 +wrong +", done.stdout)
    assert re.search(r"torch-v2 +right", done.stdout)
    assert "v1-b-scales-overrun" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_contract_prints_the_page_or_what_changes(tmp_path: Path) -> None:
    page = conformance("contract", cwd=tmp_path)
    between = ("--from", "2.10", "--to", "2.11", "--on", "cuda/sm90")
    changed = conformance("contract", *between, "--json", cwd=tmp_path)

    assert page.stdout.startswith("# Contract")
    assert {change["new"] for change in json.loads(changed.stdout)} == {"compute", "wrong"}


def test_list_says_what_is_owed_on_another_machine(tmp_path: Path) -> None:
    done = conformance(
        "list", "--profile", "quick", "--backend", "torch-v2", "--on", "rocm/gfx942", "--json", cwd=tmp_path
    )

    owed = [case["expected"].get("torch-v2") for case in json.loads(done.stdout)["cases"]]
    assert set(owed) - {None} == {"refuse E5", "refuse", "right or refused"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("doctor", "--shape", "84,7168"), "a shape is M,N,K"),
        (("doctor", "--on", "cdua/sm90"), "did you mean 'cuda'?"),
        (("contract", "--from", "new"), "a version of torch is wanted"),
        (("contract", "--json"), "name the torch to compare with in --from"),
        (("list", "--on", "cuda/sm90"), "name one with --backend"),
    ],
)
def test_what_describes_nothing_is_one_sentence(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = conformance(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import conformance.plugin",
        "import conformance.suite.conftest",
        "import cases",
        "import conformance.cli",
        "import conformance.html.page, conformance.html.comparison, jinja2",
        "import conformance.shards.merge, conformance.baseline, conformance.diff.tables",
        "from conformance.cli import app\nfrom typer.testing import CliRunner\nCliRunner().invoke(app, ['--help'])",
    ],
)
def test_what_must_answer_at_once_needs_no_torch(code: str) -> None:
    check = f"{code}\nimport sys; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", check], check=False, cwd=HERE).returncode == 0


@pytest.mark.parametrize("package", ["reference", "cases"])
def test_a_folder_of_the_users_own_does_not_get_in_the_way(package: str, tmp_path: Path) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("raise RuntimeError('not this one')")

    command = [sys.executable, "-m", "conformance", "run", "--case", SMALL, "--device", "cpu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_a_foreign_package_imported_first_is_named(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "__init__.py").write_text("")

    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, ''); import cases; {MAIN}", "doctor"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, "another package named 'cases'" in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr
