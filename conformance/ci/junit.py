"""A report as JUnit XML, in the form that GitHub's and GitLab's readers have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from conformance.causes import reproduction
from conformance.conclude import CONFORMS, WORDS, WRONG, Conclusion, conclusion_of
from conformance.records import JUNIT, Line

SOURCE = "conformance/suite/test_products.py"
"""Where every case runs: readers that link a case to a file want one."""
OUTCOMES: Mapping[str, str] = {
    "failed": "failure",
    "stale-deviation": "failure",
    "error": "error",
    "known-deviation": "skipped",
    "unsupported": "skipped",
    "not-run": "skipped",
}
"""The element of each verdict; the others have none, and are passes."""
COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, not even escaped."""


def write_junit(folder: Path, header: Line, lines: Sequence[Line], footer: Line | None) -> None:
    """Write the report to ``folder``; the ``footer`` is None where the run has not come to its end."""
    tree = ElementTree(suites_of(header, lines, footer))
    indent(tree)
    tree.write(folder / JUNIT, encoding="utf-8", xml_declaration=True)


def suites_of(header: Line, lines: Sequence[Line], footer: Line | None) -> Element:
    """A suite for each backend, and one for what no case says: whether the run came to its end, and to what."""
    suites = Element("testsuites", name="conformance")
    for backend in dict.fromkeys(line["backend"] for line in lines):
        cases = [_case(header, line) for line in lines if line["backend"] == backend]
        suites.append(_suite(backend, _about(header, backend, footer), cases))
    suites.append(_suite("conformance", _about(header, "", footer), list(_conclusions(header, lines, footer))))
    _count(suites, suites.iter("testcase"))
    return suites


def _suite(name: str, about: Mapping[str, Any], cases: Sequence[Element]) -> Element:
    suite = Element("testsuite", name=_legal(name))
    properties = SubElement(suite, "properties")
    for key, value in about.items():
        SubElement(properties, "property", name=_legal(key), value=_legal(str(value)))
    suite.extend(cases)
    _count(suite, cases)
    return suite


def _count(suite: Element, cases: Iterable[Element]) -> None:
    found = list(cases)
    kinds = Counter(child.tag for case in found for child in case)
    suite.set("tests", str(len(found)))
    for kind, attribute in COUNTS.items():
        suite.set(attribute, str(kinds[kind]))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in found):.4f}")


def _about(header: Line, backend: str, footer: Line | None) -> dict[str, Any]:
    """The properties: what was judged where, and the digests by which two runs are told apart."""
    names = ("suite", "torch", "path", "arch", "device_name", "runtime", "driver", "profile", "seed", "shard")
    facts = header["backends"].get(backend, {})
    plan = header.get("plan", {})
    about = {name: header.get(name) for name in names} | {key: value for key, value in facts.items() if key != "torch"}
    about |= {
        "plan": plan and f"{plan.get('digest')} ({plan.get('cases')} cases)",
        "digest": (footer or {}).get("digest"),
    }
    return {name: value for name, value in about.items() if value not in (None, "", {})}


def _case(header: Line, line: Line) -> Element:
    outcome = OUTCOMES.get(line["verdict"], "")
    check = line.get("check") or "unknown check"
    case = _element(f"{line['backend']}.{check}", line["id"], line["seconds"])
    if outcome:
        _say(case, outcome, line["verdict"], _message(line), _text(header, line))
    return case


def _element(classname: str, name: str, seconds: float) -> Element:
    about = {"classname": _legal(classname), "name": _legal(name), "file": SOURCE, "time": f"{seconds:.4f}"}
    return Element("testcase", about)


def _say(case: Element, outcome: str, kind: str, message: str, text: str) -> None:
    said = SubElement(case, outcome, message=_legal(message), type=_legal(kind))
    # Some readers show the message alone, others the text alone.
    said.text = _legal(f"{message}\n{text}" if text else message)


def _message(line: Line) -> str:
    """One line that says why."""
    about = {"known-deviation": line.get("deviation"), "not-run": "not run"}.get(line["verdict"])
    said = ": ".join(str(part) for part in (about, line["reason"], line.get("detail")) if part)
    return " ".join(said.split()) or str(line["verdict"])


def _text(header: Line, line: Line) -> str:
    """What to do, and what was seen: the command, where the error lies, the first wrong elements."""
    if OUTCOMES[line["verdict"]] == "skipped":
        return ""
    said = [reproduction(header, line)]
    said += [f"{name}: {line[name]}" for name in ("fault", "finding", "shape", "where") if line.get(name)]
    return "\n".join([*said, *map(_wrong, line.get("first_wrong", ()))])


def _wrong(element: Any) -> str:
    bits = [f" ({element[name]})" if element.get(name) else "" for name in ("actual_bits", "expected_bits")]
    place = f"[{element.get('row')}, {element.get('column')}]"
    return f"{place} actual {element.get('actual')}{bits[0]}, expected {element.get('expected')}{bits[1]}"


def _conclusions(header: Line, lines: Sequence[Line], footer: Line | None) -> Iterable[Element]:
    """What the run comes to, and its comparison with a baseline: as cases, since readers show nothing else."""
    yield _conclusion("conclusion", conclusion_of(header, lines, footer))
    if footer and footer.get("baseline"):
        yield _conclusion("baseline", conclusion_of(header, lines, footer["baseline"]))


def _conclusion(name: str, found: Conclusion) -> Element:
    case = _element("conformance", name, 0.0)
    if found.code != CONFORMS:
        _say(case, "failure" if found.code == WRONG else "error", WORDS[found.code], found.sentence, "")
    return case


def _legal(text: str) -> str:
    return ILLEGAL.sub("\ufffd", text)
