"""Reports that are malformed, cut, foreign or of another time, before every command that reads reports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_lines import about, line, write

from conformance.cli import main
from conformance.conclude import Conclusion
from conformance.form import OPTIONAL, REQUIRED, SCHEMA_VERSION, WITHIN
from conformance.records import footer, read_report
from conformance.report_file import BadReportError

READERS: dict[str, Callable[[str, str], tuple[str, ...]]] = {
    "show": lambda bad, good: ("show", bad),
    "show --json": lambda bad, good: ("show", bad, "--json"),
    "diff of the old": lambda bad, good: ("diff", bad, good),
    "diff of the new": lambda bad, good: ("diff", good, bad),
}
"""Every command that reads a report, given a bad one and a good one."""

Command = Callable[..., tuple[object, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in this process: exit code, stdout, stderr."""

    def call(*arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["conformance", *arguments])
        with pytest.raises(SystemExit) as ending:
            main()
        return ending.value.code, *capsys.readouterr()

    return call


HEADER, CASE = about(command=["conformance"], specs={"b": "b"}), line("passed")
FOOTER = footer([CASE], complete=True, conclusion=Conclusion(0, "CONFORMS"))


def report(*lines: Any) -> bytes:
    return b"".join(x + b"\n" if isinstance(x, bytes) else json.dumps(x).encode() + b"\n" for x in lines)


def without(given: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty: its run did not get as far as a header line"),
    "binary": (b"\x7fELF\x02\x01\x00\xff\n", "line 1 of the report '{}' is damaged: it is no text"),
    "of UTF-16": ("header\n".encode("utf-16"), "is damaged: it is no text"),
    "no JSON": (b"passed\n", "line 1 of the report '{}' is damaged: Expecting value"),
    "a JSON array": (b"[1]\n", "line 1 of the report '{}' is no line of a report: it has no 'kind'"),
    "one JSON document": (b'{\n"kind": "header"\n}\n', "line 1 of the report '{}' is damaged"),
    "of another tool": (b'{"$report_type": "SessionStart", "pid": 1}\n', "has no 'kind'"),
    "a kind that is no string": (report({"kind": ["header"]}), "has no 'kind'"),
    "cut in its header": (report(HEADER)[:40], "line 1 of the report '{}' is damaged"),
    "footer first": (report(FOOTER, HEADER, CASE), "line 1 of the report '{}' is no header line"),
    "case first": (report(CASE, FOOTER), "line 1 of the report '{}' is no header line"),
    "of the future": (report({"kind": "header", "schema": SCHEMA_VERSION + 1}), "read it with a newer suite"),
    "of the past": (report({"kind": "header", "schema": 0}), "there is none before"),
    "damaged inside": (report(HEADER, json.dumps(CASE)[:20].encode(), FOOTER), "line 2 of the report '{}' is damaged"),
    "an ended line cut": (report(HEADER, json.dumps(CASE)[:20].encode()), "line 2 of the report '{}' is damaged"),
    "no text inside": (report(HEADER, b'{"kind": "\xe2\x82"}', CASE), "line 2 of the report '{}' is damaged: it is no"),
    "a line lost": (report(HEADER, FOOTER), "is damaged: its 0 case lines do not give the digest and the counts"),
    "a line changed": (
        report(HEADER, {**CASE, "verdict": "rejected"}, FOOTER),
        "do not give the digest and the counts",
    ),
    "another digest": (report(HEADER, CASE, {**FOOTER, "digest": "0"}), "do not give the digest and"),
    "other counts": (
        report(HEADER, CASE, {**FOOTER, "counts": {"passed": 2}}),
        "do not give the digest and the counts",
    ),
    "judged twice": (report(HEADER, CASE, CASE), "line 3 of the report '{}' judges gemm/x on b a second time"),
    "two headers": (report(HEADER, HEADER), "line 2 of the report '{}' is a second header"),
    "two runs": (report(HEADER, CASE, FOOTER, HEADER, CASE, FOOTER), "line 4 of the report '{}' follows a footer"),
    "more after the footer": (report(HEADER, CASE, FOOTER, CASE), "line 4 of the report '{}' follows a footer"),
    "an odd verdict": (report(HEADER, {**CASE, "verdict": "fine"}), "has the verdict 'fine', which is none of passed"),
    "an odd exit code": (report(HEADER, CASE, {**FOOTER, "exit_code": 7}), "has the exit code 7, which is none of 0"),
    "NaN": (report(HEADER, {**CASE, "seconds": float("nan")}), "line 2 of the report '{}' is damaged: NaN is no JSON"),
    "a number without end": (report(HEADER, json.dumps(CASE).replace("0.0", "1e999").encode()), "'seconds' that is no"),
    "a huge integer": (report(HEADER, {**CASE, "seconds": 10**400}), "has a member 'seconds' that is no number"),
    "more digits than are read": (
        report({**HEADER, "seed": 1}).replace(b"1", b"1" * 5000),
        "line 1 of the report '{}'",
    ),
    "deep nesting": (report(HEADER, b"[" * 100_000), "line 2 of the report '{}' is damaged"),
    "control characters": (report(HEADER, *2 * [{**CASE, "id": "\x1b[31m\nred"}]), "line 3 of the report '{}' judges"),
    **{
        f"no {kind} {name}": (
            report(*(without(each, name) if each["kind"] == kind else each for each in (HEADER, CASE, FOOTER))),
            f"lacks the member '{name}', which a {kind} line must have",
        )
        for kind, members in REQUIRED.items()
        for name in members
    },
    **{
        f"{kind} {name} of another type": (
            report(*({**each, name: odd} if each["kind"] == kind else each for each in (HEADER, CASE, FOOTER))),
            f"has a member '{name}' that is no ",
        )
        for kind, members in (*REQUIRED.items(), *OPTIONAL.items())
        for name, wanted in members.items()
        for odd in [[None] if wanted is not list else "x"]
    },
    **{
        f"something else within {kind} {name}": (
            report(*({**each, name: odd} if each["kind"] == kind else each for each in (HEADER, CASE, FOOTER))),
            f"has a member '{name}' with something in it that is no ",
        )
        for kind, name in WITHIN
        for odd in [[None] if {**REQUIRED[kind], **OPTIONAL[kind]}[name] is list else {"x": [None]}]
    },
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_report_is_one_sentence_that_names_it(name: str, tmp_path: Path) -> None:
    text, says = BAD[name]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(text)

    with pytest.raises(BadReportError) as raised:
        read_report(path)

    assert says.format(path) in str(raised.value)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    "name", ["empty", "binary", "of the future", "a line lost", "deep nesting", "control characters"]
)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_says_it_and_ends_with_exit_code_two(
    reader: str, name: str, tmp_path: Path, command: Command
) -> None:
    text, says = BAD[name]
    good, path = write(tmp_path / "good", CASE), tmp_path / "bad.jsonl"
    path.write_bytes(text)

    code, out, err = command(*READERS[reader](str(path), str(good)))

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says.format(path) in err
    assert err.rstrip("\n").isprintable()


@pytest.mark.parametrize("cut", [b"", b'{"kind": "ca', b'{"kind": "case", "id": "\xe2\x82', b"\x00\x00"])
def test_an_incomplete_report_is_read_and_never_green(cut: bytes, tmp_path: Path, command: Command) -> None:
    good, path = write(tmp_path / "good", CASE), tmp_path / "report.jsonl"
    for whole in (report(HEADER), report(HEADER, CASE)):
        path.write_bytes(whole + cut)

        for arguments in READERS.values():
            code, out, err = command(*arguments(str(path), str(good)))

            assert (code, err) == (4, "")
            assert "incomplete" in out


def test_a_run_that_is_killed_at_any_byte_is_never_green(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    whole = report(HEADER, CASE, FOOTER)
    first = len(report(HEADER)) - 1
    for end in range(first, len(whole) - 1):
        path.write_bytes(whole[:end])

        assert read_report(path)[2] is None, end
    path.write_bytes(whole[:-1])
    assert read_report(path)[2] == FOOTER


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("rapport", "there is no report '{0}/rapport': did you mean '{0}/report'?"),
        ("nothing/like/it", "there is no report '{0}/nothing/like/it'"),
        ("folder", "the folder '{0}/folder' holds no report.jsonl: name the folder of a run's --report"),
        ("/dev/zero", "the report '/dev/zero' is a device, and no file"),
        ("report/report.jsonl/x", "cannot be read (Not a directory)"),
    ],
)
def test_what_is_no_report_is_named(path: str, says: str, tmp_path: Path, command: Command) -> None:
    good = write(tmp_path / "report", CASE)
    (tmp_path / "folder").mkdir()

    for arguments in READERS.values():
        code, out, err = command(*arguments(str(tmp_path / path), str(good)))

        assert (code, out, err.count("\n")) == (2, "", 1)
        assert says.format(tmp_path) in err


def test_a_report_that_may_not_be_read_is_named(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, CASE) / "report.jsonl"

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(Path, "read_bytes", refuse)  # a superuser may read whatever its mode is

    assert command("show", str(path)) == (
        2,
        "",
        f"conformance: the report {str(path)!r} cannot be read (Permission denied)\n",
    )


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    if os.fork() == 0:
        path.write_bytes(report(HEADER, CASE, FOOTER))
        os._exit(0)

    assert command("show", str(path))[0] == 0
    os.wait()
