"""What is told of a document, section by section, as pairs of a name and a text. Needs no terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]
Pairs = Iterator[tuple[str, object]]
COUNTED = {"elements": "elements", "wrong": "wrong", "not_finite": "not finite", "plan": "K blocks a chunk"}
MEASURED = {"err_over_bound": "err/bound", "rel_diff": "rel_diff"}


def question(document: Document) -> Pairs:
    """What was asked, and what the values and the scenario are there to catch."""
    asked = document.get("question", {})
    if document["case"] != document["id"]:
        yield "smallest", document["case"]
    yield "product", asked.get("product")
    yield "recipe", asked.get("recipe")
    yield "values", asked.get("values")
    yield "", asked.get("values_catch") and f"catches {asked['values_catch']}"
    yield "", asked.get("note")
    yield "scenario", asked.get("scenario")
    yield "", asked.get("scenario_catches") and f"catches {asked['scenario_catches']}"


def owed(document: Document) -> Pairs:
    """What was owed and why, and how values are held to it where there may be any."""
    said = document.get("owed", {})
    yield "promise", said.get("words") or document.get("expected")
    yield "why", said.get("why")
    yield "values", "" if str(document.get("expected", "")).startswith("refuse") else said.get("tier")


def came(document: Document) -> Pairs:
    """What came, where, and the numbers of it."""
    machine = dict(document["machine"])
    where = [str(machine.pop(name)) for name in ("path", "device_name") if machine.get(name)]
    cut = "" if document["ended"] else ", whose run did not come to its end"
    yield "on", ", ".join([*where, *(f"{name} {said}" for name, said in machine.items() if name != "call")])
    yield "from", document["source"] and f"the report {document['source']}{cut}"
    yield "verdict", document["verdict"]
    yield "reason", document.get("reason")
    yield "detail", document.get("detail")
    yield "known as", document["known"]
    yield "numbers", ", ".join(_numbers(document))
    yield "worst ULP", _worst(document)
    yield "bits", _bits(document)
    yield "as", document.get("arithmetic") if document.get("explained") is None else ""
    yield "where", document.get("where")


def _numbers(document: Document) -> Iterator[str]:
    yield from (f"{document[key]} {name}" for key, name in COUNTED.items() if document.get(key) is not None)
    yield from (f"{name} {document[key]}" for key, name in MEASURED.items() if document.get(key) is not None)


def _worst(document: Document) -> str:
    worst, at = document.get("worst_ulp"), document.get("worst_at")
    return f"{worst} at {tuple(at)}" if worst and at else str("" if worst is None else worst)


def _bits(document: Document) -> str:
    if document.get("explained") is None:
        return ""
    return f"{document['explained']} of {document.get('elements')} explained by {document.get('arithmetic')}"


def element(wrong: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    """Two rows on a wrong element: where it is, what came and what was expected, as decimal, hex float and bits."""
    for word, key in (("got", "actual"), ("expected", "expected")):
        place = (wrong.get("row"), wrong.get("column")) if word == "got" else ("", "")
        value = wrong.get(key, "")
        yield *place, word, _decimal(value), value, wrong.get(f"{key}_bits", "")


def _decimal(value: object) -> str:
    try:
        return f"{float.fromhex(str(value)):.9g}"
    except (ValueError, OverflowError):
        return ""
