"""The rules of torch's own APIs, each on a small shape and on another one."""

from __future__ import annotations

from collections.abc import Iterator

from cases.rules import RULES
from cases.scenarios import SCENARIOS
from cases.sections.registry import QUICK, STANDARD, Graded, fill, graded, section
from cases.shapes import Shape

SHAPES: dict[str, tuple[Shape, Shape]] = {
    "": ((84, 256, 512), (8, 400, 1024)),
    "empty": ((0, 256, 512), (0, 400, 1024)),
    "ragged": ((84, 256, 560), (8, 400, 144)),
    "square": ((256, 256, 512), (400, 400, 1024)),
    "unpadded": ((84, 256, 640), (8, 400, 1152)),
}
"""What rules are tried on, by the sizes that they need."""


@section("rules", "the rules of torch's own APIs: one thing in the raw call spoiled, refused with the known text")
def _rules() -> Iterator[Graded]:
    for rule in RULES.values():
        for level, shape, out in zip((QUICK, STANDARD), SHAPES[rule.sizes], rule.outs, strict=True):
            scenario = SCENARIOS[f"rule/{rule.name}"]
            cases = fill(shape, ("tagged-integers",), (out,), scenario=scenario, formats=rule.formats)
            yield from graded(level, cases)
