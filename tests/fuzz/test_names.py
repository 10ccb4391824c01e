"""Case ids, options, paths and variables of the environment."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from made_reports import about, line, write
from mutations import mutated_words
from surface import Judge

from cases import parse_case, plan
from cases.linears import linears
from cases.quantising import quantisations
from conformance.commands.page import commands
from conformance.listing import planned
from conformance.request import Request

ID = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
HERE = ("--device", "cpu")
RUN = ("run", "-n", "0", "--backend", "native", *HERE, "--report", "written", "--case", ID)
LONG, MANY, DIGITS = "x" * 300, "9" * 25, "9" * 5000
TEXTS = ("", " ", "-1", "1e9", "NaN", "²", "%s", "{}", "$(x)", "\x1b[31m", "a\nb", "\u202ex", "\udcff", LONG, DIGITS)
"""What is no name, no number and no version."""
NO_FILES = ("no/such/file", "folder", "loop", "/dev/zero", "/dev/null", LONG, "\udcff", "a\nb", "good/report.jsonl/x")
"""What cannot be read as a file."""
NO_NUMBERS = (*TEXTS, MANY, "0x10", "1_0x", "1.5", "--seed", "none")
WRONG: dict[tuple[str, ...], tuple[str, ...]] = {
    (*RUN, "--backend"): ("nativ", "a:b:", "no.module:x", "..x:f", "./", "/", "~nobody/x.py", "loop.py", *TEXTS),
    (*RUN, "--quantiser"): ("nativ", "no.module:x", "/", "~nobody/x.py", *TEXTS),
    (*RUN, "--linear"): ("nativ", "no.module:x", "/", "~nobody/x.py", *TEXTS),
    (*RUN, "--profile"): ("quik", "QUICK", *TEXTS),
    (*RUN, "--require"): ("sm91", "cuda", *TEXTS),
    (*RUN, "--seed"): tuple(text for text in NO_NUMBERS if text != "²"),
    (*RUN, "-n"): ("two", "1000000", "-2", "0.5", "autos", *(text for text in TEXTS if text)),
    (*RUN, "--timeout"): ("-1", "nan", "inf", "1e10", "x", "", "1s"),
    (*RUN, "--tp"): ("0", "2", *NO_NUMBERS),
    (*RUN, "--examples"): NO_NUMBERS,
    (*RUN, "--shard"): ("0/2", "3/2", "1/1000000000000", "1/0", "1", "/", "1/2/3", "١/٢", *TEXTS[1:]),
    (*RUN, "--device"): ("cdua", "cpu:7", "meta", "cuda:999", f"cpu:{MANY}", *TEXTS),
    (*RUN, "--baseline"): ("folder", *NO_FILES),
    (*RUN, "--deviations"): NO_FILES,
    ("run", *HERE, "--model"): NO_FILES,
    (*RUN, "--model"): ("good/report.jsonl",),
    (*RUN, "--report"): ("good/report.jsonl", "good/report.jsonl/x", "/proc/no", "loop", "/dev/null", LONG),
    ("list", "--profile", "quick", "-k"): ("(((", "not", "a b", "1 (2)", "not " * 999, "(" * 300, "\udcff (", "%s"),
    ("list", "--backend", "native", "--on"): ("cuda", "cdua/sm90", "/", "/sm90", *TEXTS[1:]),
    ("list", "--backend", "native", "--torch"): ("x", "2.x", ">=2", "2..1", *TEXTS[1:14]),
    ("doctor", "--torch"): ("x", "2.x", ">=2", *TEXTS[1:14]),
    ("doctor", "--shape"): ("1,2", "1,2,3,4", "a,b,c", "-1,2,3", "1,0,3", "1;2;3", "1,2,x", *TEXTS),
    ("contract", "--from"): ("x", "2.x", ">=2", *TEXTS[1:14]),
    ("show",): NO_FILES,
    ("statement",): NO_FILES,
    ("run", "--resume"): NO_FILES,
    ("run", "-n", "0", "--resume"): ("good", "good/report.jsonl", *NO_FILES),
    ("statement", "good", "--backend"): ("c", *TEXTS),
    ("merge", "--report", "written"): ("good", *NO_FILES),
    ("show", "good", "--html"): ("/", "", "folder", "no/such/x.html", "/dev/null/x", LONG, "/proc/x.html"),
    ("diff", "good", "good", "--html"): (
        "/",
        "folder/..",
        "folder",
        "no/such/x.html",
        "/dev/null/x",
        LONG,
        "/proc/x.html",
    ),
    ("diff", "good", "good", "--across"): ("a", "=", "a=b=c", "a=b", *TEXTS),
    ("explain", ID, "--report"): NO_FILES,
    ("explain", "--report", "good"): ("gem/x", "gemm/y", *TEXTS[1:]),
    ("new-backend",): ("x.txt", "no/such/x.py", "kernel", "loop.py", "good/report.jsonl", f"{LONG}.py", "a\nb.py"),
    ("record", *HERE, "--backend", "native"): ("no/x.json", "folder", "/", f"{LONG}.json"),
    ("peers", "--picture"): ("x.txt", "no/x.svg", "folder", "x", f"{LONG}.svg", "/"),
    ("sensitivity", "--picture"): ("x.txt", "no/x.svg", "folder", "x", f"{LONG}.svg", "/"),
    ("faults", "--report"): ("no/x.json", "folder", "", "/", LONG),
    ("faults", "-n"): ("0", "1000000", *NO_NUMBERS),
    ("peers", "-n"): ("0", "1000000", *NO_NUMBERS),
    ("probe", "--device"): ("cdua", "meta", *TEXTS),
    ("bench", "--backend"): ("nativ", *TEXTS),
}
"""Words that are wrong, by what stands before them."""


@pytest.fixture(autouse=True)
def _files(place: Path) -> None:
    write(place / "good", about(("b", "gemm/x")), line("passed"))
    (place / "folder").mkdir()
    for name in ("loop", "loop.py"):
        (place / name).symlink_to(name)


@pytest.mark.parametrize("before", WRONG, ids=" ".join)
def test_a_wrong_word_is_one_sentence(before: tuple[str, ...], answered: Judge) -> None:
    for word in WRONG[before]:
        assert answered(*before, word) == 2, (before, word)


def test_every_option_and_command_is_spelled_to_the_letter(answered: Judge) -> None:
    for name, command in commands().items():
        assert answered(f"{name}x") == 2
        for parameter in command.params:
            if parameter.opts[0].startswith("--"):
                assert answered(name, f"{parameter.opts[0]}-x") == 2
    assert answered() == 2


def test_a_mutated_id_is_no_case_or_another_one(answered: Judge) -> None:
    every = (*plan("standard"), *quantisations("standard"), *linears("standard"))
    words = sorted({case.id for case in random.Random(0).sample(every, 60)})
    asked = ("--backend", "native", "--quantiser", "reference-quantiser", "--linear", "reference-linear")
    wrong = 0
    for word in mutated_words(words, range(330)):
        code = answered("run", "-n", "0", *asked, *HERE, "--report", "written", f"--case={word}", writes="written")
        wrong += code == 2

        assert code == 2 or word.startswith("generated/") or parse_case(word).id == word
    assert wrong > 250


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_keywords_of_all_kinds_select_cases_or_are_one_sentence(profile: str, answered: Judge) -> None:
    words = ["m5 and not bf16", "(m5 or m3) and fp32", "not (gemm)"]
    for word in mutated_words(words, range(20)):
        assert answered("list", "--profile", profile, f"-k={word}") in (0, 2)


NAMES = ("NO_COLOR", "COLUMNS", "LINES", "TERM", "LC_ALL", "LANG", "TZ", "PYTHONHASHSEED", "HOME", "CI")
NAMES += ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONIOENCODING", "GITHUB_ACTIONS", "NUMBA_NUM_THREADS")
VALUES = ("", "0", "-1", "x", MANY, "\x1b[31m", "\udcff", "../..", "<script>")


@pytest.mark.parametrize("name", NAMES)
def test_no_variable_breaks_a_command(name: str, answered: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in VALUES:
        monkeypatch.setenv(name, value)

        assert answered("show", "good") == 0
        assert answered("run", "--profile", "x") == 2


def test_no_variable_changes_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    before = planned(Request(profile="quick"))
    for name in NAMES:
        monkeypatch.setenv(name, "x")

    assert planned(Request(profile="quick")) == before
