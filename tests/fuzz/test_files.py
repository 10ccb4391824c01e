"""Configurations of models, ledgers and backends: written by people, and wrong in every place in turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mutations import mutated_bytes, mutated_values
from surface import Judge

ID = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
RUN = ("run", "-n", "0", "--device", "cpu", "--report", "written")
MODEL = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "num_hidden_layers": 61,
    "quantization_config": {"weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]},
}
LEDGER: dict[str, Any] = {
    "schema": 1,
    "deviation": [
        {
            "id": "a",
            "backends": ["native"],
            "cases": ["*/1x128-128x128/*"],
            "may_pass": ["gemm/*"],
            "reasons": ["wrong-values", "out-of-bound"],
            "observed": "the product is wrong",
            "reason": "why",
            "link": "https://example.org/1",
            "evidence": "measured",
            "since": "2.10",
            "until": "3.1",
            "quarantine": True,
            "problem": {"m": {"min": 1}, "k_blocks": {"not_multiple_of": 4}},
            "where": {"platform": ["cpu"], "arch": ["x86_64"], "torch": ">=2.9"},
        }
    ],
}


def toml(value: Any) -> str:
    """``value`` as TOML on one line; what TOML has no word for stays as JSON has it, and is no TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


def ledger(document: Any) -> bytes:
    return "\n".join(f"{json.dumps(key)} = {toml(value)}" for key, value in document.items()).encode(
        "utf-8", "surrogatepass"
    )


def models() -> Iterator[bytes]:
    yield from (
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"1" * 5000,
        b"[" * 50_000,
        b"\xff\xfe{\x00}\x00",
        b"{" + b'"x":{' * 50_000,
    )
    for changed in mutated_values(MODEL, range(140)):
        yield json.dumps(changed).encode("utf-8", "surrogatepass")
    yield from mutated_bytes(json.dumps(MODEL).encode(), range(60))


def ledgers() -> Iterator[bytes]:
    yield from (b"schema = 2", b"x", b"\xff", b"schema = " + b"1" * 5000, b"schema = 1\nx = " + b"[" * 50_000, b"[[x")
    yield from map(ledger, mutated_values(LEDGER, range(140)))
    yield from mutated_bytes(ledger(LEDGER), range(60))


def test_a_configuration_with_something_else_in_it_is_one_sentence_or_a_model(place: Path, answered: Judge) -> None:
    found = []
    for text in models():
        (place / "config.json").write_bytes(text)
        found.append(answered("list", "--profile", "quick", "--model", "config.json"))

    # What is left out, renamed or larger may be a model all the same.
    assert set(found) == {0, 2}
    assert found.count(2) > 140


def test_a_ledger_with_something_else_in_it_is_one_sentence_or_a_ledger(place: Path, answered: Judge) -> None:
    found = []
    for text in ledgers():
        (place / "ledger.toml").write_bytes(text)
        asked = (*RUN, "--backend", "native", "--case", ID, "--deviations", "ledger.toml")
        found.append(answered(*asked, writes="written"))

    # Texts are anybody's, and most conditions may be left out.
    assert set(found) == {2, 4}
    assert found.count(2) > 140


KERNEL = """
class Odd:
    name = "odd"

    def apply_block_scaled_mm(self, A, B, As, Bs, *, out_dtype): ...


class Raising:
    def __get__(self, *given): raise {error}


Odd.{attribute} = {value}
"""
FUNCTION = "def odd(A, B, As, Bs, out_dtype): ...\n\n\nodd.{attribute} = {value}\n"
ATTRIBUTES = {
    "name": (
        "None",
        "3",
        "''",
        "'a/b'",
        "'\\x1b[31m'",
        "'a\\nb'",
        "[]",
        "'x' * 9999",
        "'\\u202e'",
        "'\\ud800'",
        "b'x'",
    ),
    "recipes": ("3", "'1x128'", "('2x128',)", "[None]", "{}", "object()", "lambda self: 1"),
    "capabilities": ("3", "[]", "{'x': True}", "{'out': 'yes'}", "{3: True}", "object()", "{'out': None}"),
    "arithmetic": ("3", "'sm90'", "{}", "object", "[1]"),
    "is_supported": ("3", "lambda: 1", "lambda s, p: 1", "lambda s, p: (0, 0)", "lambda s, p: (False, '')", "None + 1"),
    "can_implement": ("3", "lambda: 1", "lambda s, p: 'yes'", "lambda s, p: 1 / 0", "lambda s, p: exit(3)"),
    "describe": ("3", "lambda s: 1", "lambda s: {1: 2}", "lambda s: {'a': None}", "lambda s: 1 / 0"),
    "apply_block_scaled_mm": ("3", "None", "lambda: 1", "lambda self, A: 1", "property(lambda s: 1 / 0)"),
}
ERRORS = (
    "ValueError('x')",
    "KeyError",
    "SystemExit(3)",
    "AttributeError('a\\nb')",
    "OSError(2, 'x')",
    "RecursionError",
)
WHOLE = (
    *("def (", "\x00", "import no_such_module", "raise SystemExit", "1 / 0", "x = 3", "", "from . import x", "\ufeff("),
    *(
        "def f(): ...",
        "def f(A): ...",
        "class K: ...",
        "class K:\n def apply_block_scaled_mm(self): ...",
        "async def f(",
    ),
    *("f = lambda A, B: 1", "import sys; sys.exit('\\x1b[31m')", "raise BaseException('a\\nb')", "f = f", "(" * 400),
    *("class E(Exception):\n def __str__(self): 1 / 0\nraise E", "def __getattr__(name): 1 / 0", "\t x\n y"),
)


def kernels() -> Iterator[tuple[str, str]]:
    """A file of Python, and what in it is named."""
    for attribute, values in ATTRIBUTES.items():
        for value in values:
            yield KERNEL.format(attribute=attribute, value=value, error="x"), ":Odd"
        for error in ERRORS:
            yield KERNEL.format(attribute=attribute, value="Raising()", error=error), ":Odd"
        if attribute not in ("apply_block_scaled_mm",):
            for value in values[:3]:
                yield FUNCTION.format(attribute=attribute, value=value), ""
    for text in WHOLE:
        yield text, ""
        yield text, ":f.g"


@pytest.mark.parametrize("option", ["--backend", "--quantiser", "--linear"])
def test_a_kernel_that_is_none_is_one_sentence(option: str, place: Path, answered: Judge) -> None:
    found = []
    for number, (text, attribute) in enumerate(kernels()):
        if option != "--backend" and number % 3:
            continue
        path = place.parent / "kernel.py"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        found.append(answered(*RUN, option, f"../kernel.py{attribute}", "--profile", "quick", writes="written"))

    # What means nothing to a kernel of its kind, or is a valid answer, is no mistake.
    assert set(found) <= {2, 4}
    assert found.count(2) > len(found) // 2


def test_bytes_that_are_no_kernel_are_one_sentence(place: Path, answered: Judge) -> None:
    text = KERNEL.format(attribute="recipes", value="('1x128-128x128',)", error="x").encode()
    found = []
    for changed in mutated_bytes(text, range(60)):
        (place.parent / "kernel.py").write_bytes(changed)
        found.append(answered(*RUN, "--backend", "../kernel.py:Odd", "--case", ID, writes="written"))

    assert set(found) <= {2, 4}
    assert found.count(2) > 40
