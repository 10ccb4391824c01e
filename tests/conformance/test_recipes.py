"""The example workflows of docs/ci, as far as they can be tried without their services."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from configparser import RawConfigParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from cases import PROFILES
from conformance.cli import app
from conformance.probe import PATHS
from conformance.shards.share import Shard

ROOT = Path(__file__).parent.parent.parent
RECIPES = ROOT / "docs" / "ci"
FILES = sorted(path.name for path in RECIPES.glob("*.yml"))
JOB_ARRAY = RECIPES / "job-array.sbatch"
COMMANDS = typer.main.get_group(app).commands
OURS = ("conformance", "pytest", "tox")
GITHUB, GITLAB = [name for name in FILES if not name.startswith("gitlab")], "gitlab-ci.yml"
VARIABLE = re.compile(r"\$\{\{ *matrix\.(\w+) *\}\}|\$CI_NODE_(INDEX|TOTAL)")


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((RECIPES / name).read_text())
    return document


def jobs_of(name: str) -> dict[str, dict[str, Any]]:
    document = read(name)
    if name != GITLAB:
        return dict(document["jobs"])
    jobs = {key: job for key, job in document.items() if "script" in job}
    return {key: {**document.get(job.get("extends", ""), {}), **job} for key, job in jobs.items()}


def matrix_of(job: dict[str, Any]) -> list[dict[str, str]]:
    """The variables of every machine that runs the job."""
    if "parallel" in job:
        return [{"INDEX": str(i), "TOTAL": str(job["parallel"])} for i in range(1, job["parallel"] + 1)]
    matrix = job.get("strategy", {}).get("matrix", {})
    if "include" in matrix:
        return [{key: str(value) for key, value in each.items()} for each in matrix["include"]]
    return [dict(zip(matrix, map(str, values), strict=True)) for values in product(*matrix.values())]


def lines_of(job: dict[str, Any]) -> list[str]:
    """The shell lines of a job, as they stand in the file."""
    runs = [line for step in job.get("steps", ()) for line in step.get("run", "").splitlines()]
    return [*runs, *job.get("before_script", ()), *job.get("script", ())]


def commands_of(name: str) -> Iterator[tuple[str, list[str]]]:
    """(job, words) of every command of ours, on every machine that runs it."""
    for key, job in jobs_of(name).items():
        for values, line in product(matrix_of(job), lines_of(job)):
            words = shlex.split(filled(line, values).split(" > ")[0])
            if words and words[0] in OURS:
                yield key, words


def filled(line: str, values: dict[str, str]) -> str:
    return VARIABLE.sub(lambda match: values[match[1] or match[2]], line)


def parsed(words: list[str]) -> typer.Context:
    """The command line, parsed and not run; it raises where a command, an option or an argument is wrong."""
    (_, name, *rest) = words
    return COMMANDS[name].make_context(name, rest)


def check_run(options: dict[str, Any]) -> None:
    assert options["profile"] in PROFILES
    assert {*(options["require"] or ())} <= PATHS.keys()
    if options["shard"]:
        Shard.parse(options["shard"])


def tox_environments() -> set[str]:
    """The names in tox.ini, with the factors in braces spelled out."""
    ini = RawConfigParser()
    ini.read(ROOT / "tox.ini")
    names = [section.removeprefix("testenv:") for section in ini.sections() if section.startswith("testenv:")]
    parts = [re.fullmatch(r"([^{]*)\{?([^}]*)\}?", name) for name in names]
    return {match[1] + factor for match in parts if match for factor in match[2].split(",")}


@pytest.mark.parametrize("name", FILES)
def test_every_command_line_is_one_that_there_is(name: str) -> None:
    found = list(commands_of(name))

    assert found
    for _, words in found:
        if words[0] == "conformance":
            context = parsed(words)
            if context.info_name == "run":
                check_run(context.params)
        else:
            assert words[:2] == ["tox", "-e"]
            assert {*words[2].split(",")} <= tox_environments()


@pytest.mark.parametrize("name", [name for name in FILES if "--shard" in (RECIPES / name).read_text()])
def test_the_machines_of_a_night_share_the_whole_plan(name: str) -> None:
    shards: dict[str, list[Shard]] = {}
    folders: dict[str, list[str]] = {}
    for job, words in commands_of(name):
        if "--shard" in words:
            options = parsed(words).params
            shards.setdefault(job, []).append(Shard.parse(options["shard"]))
            folders.setdefault(job, []).append(str(options["report"]))

    ((job, found),) = shards.items()
    assert found == [Shard(index, 5) for index in range(1, 6)]
    assert len({*folders[job]}) == 5
    merges = [words for _, words in commands_of(name) if words[1] == "merge"]
    assert [words[2].split("/")[-1] for words in merges] in (["*"], ["shard-*"])


@pytest.mark.parametrize("name", GITHUB)
def test_actions_are_pinned_to_a_major_version_and_what_is_named_is_made(name: str) -> None:
    jobs = jobs_of(name)
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+", each) for each in used)
    for key, job in jobs.items():
        assert job.get("needs", key) in jobs
        names = {key for values in matrix_of(job) for key in values}
        assert {name for name, _ in VARIABLE.findall(str(job))} <= names


@pytest.mark.parametrize("name", FILES)
def test_reports_are_kept_whatever_came_of_the_run(name: str) -> None:
    for job in jobs_of(name).values():
        if not any(re.match(r"(conformance run|tox -e report)", line) for line in lines_of(job)):
            continue
        uploads = [step for step in job.get("steps", ()) if "upload-artifact" in step.get("uses", "")]
        kept = (
            [(job["artifacts"]["when"], job["artifacts"]["paths"])]
            if name == GITLAB
            else [(step["if"], [step["with"]["path"]]) for step in uploads]
        )
        assert kept
        assert all(when in ("always", "always()") for when, _ in kept)


@pytest.mark.parametrize("page", ["ci.md", "diff.md"])
def test_the_commands_of_a_page_are_ones_that_there_are(page: str) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)
    lines = [line for block in blocks for line in block.splitlines() if line.split(" ")[0] in OURS]

    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[0] == "conformance":
            context = parsed(words)
            if context.info_name == "run":
                check_run(context.params)
        elif words[0] == "tox":
            assert {*words[2].split(",")} <= tox_environments()


def test_the_options_of_pytest_on_the_page_are_ones_that_there_are(request: pytest.FixtureRequest) -> None:
    lines = [line for line in (ROOT / "docs" / "ci.md").read_text().splitlines() if line.startswith("pytest ")]

    assert lines
    for line in lines:
        _, unknown = request.config._parser.parse_known_and_unknown_args(shlex.split(line, comments=True)[1:])
        assert unknown == []
