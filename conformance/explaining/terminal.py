"""An account for people: in 80 columns, without colour as good as with it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conformance.maps import drawn
from conformance.plain import plain
from conformance.summary import STYLES

Pairs = Iterable[tuple[str, object]]
NUMBERS = {
    "elements": "elements",
    "wrong": "wrong",
    "not_finite": "not finite",
    "err_over_bound": "err/bound",
    "rel_diff": "rel_diff",
    "plan": "K blocks a chunk",
}


def render(documents: Sequence[Mapping[str, Any]]) -> None:
    """Print the accounts one after the other."""
    console = Console(file=sys.stdout, highlight=False)
    for i, document in enumerate(documents):
        with console.capture() as captured:
            _print(console, document)
        # Tables fill their columns with blanks up to the last one.
        lines = (line.rstrip() for line in captured.get().splitlines())
        sys.stdout.write("\n".join([*([""] if i else []), *lines, ""]))


def _print(console: Console, document: Mapping[str, Any]) -> None:
    verdict, reason = str(document["verdict"]), str(document.get("reason", ""))
    said = f"{verdict}: {reason}" if reason else verdict
    console.print(Text(plain(f"{document['backend']}  {said}"), style=STYLES.get(verdict, "")), soft_wrap=True)
    console.print(Text(plain(str(document["id"]))), soft_wrap=True)
    _section(console, "question", _question(document))
    _operands(console, document)
    _section(console, "owed", _owed(document))
    _section(console, "came", _came(document))
    _picture(console, document)
    _first_wrong(console, document)
    _section(console, "finding", [("fault", document.get("fault")), ("", document.get("finding"))])
    console.print(Text("again", style="bold"))
    for line in document["reproduce_with"]:
        # A command stays in one piece, whatever the width, so that it can be copied.
        console.print(Text(f"  {plain(line)}"), soft_wrap=True)


def _section(console: Console, title: str, pairs: Pairs) -> None:
    """A title and what belongs to it, each under its name; nothing at all where there is nothing to say."""
    told = [(name, plain(str(said))) for name, said in pairs if said not in (None, "", [])]
    if not told:
        return
    console.print(Text(title, style="bold"))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, said in told:
        table.add_row(Text(name), Text(said))
    console.print(Padding(table, (0, 0, 0, 2)))


def _question(document: Mapping[str, Any]) -> Pairs:
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


def _operands(console: Console, document: Mapping[str, Any]) -> None:
    operands = document.get("operands", [])
    if not operands:
        return
    console.print(Text("operands", style="bold"))
    ranged = any(each["values"] for each in operands)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for name in ("", "dtype", "shape", "strides", "offset", *(("values",) if ranged else ())):
        table.add_column(name)
    for each in operands:
        cells = (each["name"], each["dtype"], each["shape"], each["strides"], each["offset"] or "")
        table.add_row(*(Text(str(cell)) for cell in (*cells, *((each["values"],) if ranged else ()))))
    console.print(Padding(table, (0, 0, 0, 2)))
    digest = document.get("input_digest")
    if digest:
        console.print(Text(f"  digest of their bytes: {plain(str(digest))}"))


def _owed(document: Mapping[str, Any]) -> Pairs:
    owed = document.get("owed", {})
    yield "promise", owed.get("words") or document.get("expected")
    yield "why", owed.get("why")
    yield "values", owed.get("tier") if not str(document.get("expected", "")).startswith("refuse") else ""


def _came(document: Mapping[str, Any]) -> Pairs:
    machine = dict(document["machine"])
    where = [str(machine.pop(name)) for name in ("path", "device_name") if machine.get(name)]
    yield "on", ", ".join([*where, *(f"{name} {said}" for name, said in machine.items() if name != "call")])
    cut = "" if document["ended"] else ", whose run did not come to its end"
    yield "from", document["source"] and f"the report {document['source']}{cut}"
    yield "verdict", document["verdict"]
    yield "reason", document.get("reason")
    yield "detail", document.get("detail")
    yield "known as", document["known"]
    numbers = (
        f"{document[key]} {name}" if key in ("elements", "wrong", "not_finite", "plan") else f"{name} {document[key]}"
        for key, name in NUMBERS.items()
        if document.get(key) is not None
    )
    yield "numbers", ", ".join(numbers)
    yield "worst ULP", _worst(document)
    yield "bits", _bits(document)
    yield "where", document.get("where")


def _worst(document: Mapping[str, Any]) -> str:
    worst, at = document.get("worst_ulp"), document.get("worst_at")
    return f"{worst} at {tuple(at)}" if worst and at else str(worst if worst is not None else "")


def _bits(document: Mapping[str, Any]) -> str:
    if document.get("explained") is None:
        return ""
    return f"{document['explained']} of {document.get('elements')} explained by {document.get('arithmetic')}"


def _picture(console: Console, document: Mapping[str, Any]) -> None:
    lines = drawn(document.get("picture"))
    if lines:
        console.print(Text(f"map of the wrong elements{_shaped(document)}", style="bold"))
        console.print(Text("\n".join(f"  {line}" for line in lines)), soft_wrap=True)


def _shaped(document: Mapping[str, Any]) -> str:
    return f" ({plain(str(document['shape']))})" if document.get("shape") else ""


def _first_wrong(console: Console, document: Mapping[str, Any]) -> None:
    elements = document.get("first_wrong", [])
    if not elements:
        return
    console.print(Text("the first wrong elements", style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for name, justify in (
        ("row", "right"),
        ("column", "right"),
        ("", "left"),
        ("decimal", "right"),
        ("hex float", "left"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("bits")
    for each in elements:
        for cells in _rows(each):
            table.add_row(*(Text(plain(str(cell))) for cell in cells))
    console.print(Padding(table, (0, 0, 0, 2)))


def _rows(element: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    for i, (word, key) in enumerate((("got", "actual"), ("expected", "expected"))):
        place = (element.get("row"), element.get("column")) if i == 0 else ("", "")
        value = element.get(key, "")
        yield *place, word, _decimal(value), value, element.get(f"{key}_bits", "")


def _decimal(value: object) -> str:
    try:
        return f"{float.fromhex(str(value)):.9g}"
    except ValueError:
        return ""
