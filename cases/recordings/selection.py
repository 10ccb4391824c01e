"""What the recorder records: small products that between them pin every parameter of an arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from cases.case import Case
from cases.families import FAMILIES
from cases.problem import BLOCK_RECIPES, OUT_DTYPES, Problem

SHAPES = ((4, 16, 128), (7, 144, 400), (17, 272, 1040), (3, 160, 2304))
SPLIT = ((64, 128, 7168), (5, 64, 9216), (8, 128, 16384))
"""Long and narrow enough for cuBLASLt to split K."""


def to_record(backend: str) -> Iterator[Case]:
    """The cases that ``backend`` is recorded on; ones that it cannot implement are for the recorder to leave out."""
    if backend == "torch-v1":  # what v2 refuses
        for formats in (("e5m2", "e4m3fn"), ("e4m3fn", "e5m2")):
            for shape in ((4, 16, 128), (8, 128, 400), (8, 256, 1024)):
                yield _case(shape, "fp32", BLOCK_RECIPES[0], "uniform-codes", *formats)
        return
    for recipe in BLOCK_RECIPES:
        for i, shape in enumerate(SHAPES):
            for out in OUT_DTYPES if i == 1 else ("fp32",):
                yield _case(shape, out, recipe, "uniform-codes")
                yield _case(shape, out, recipe, "quantised-normal")
        for out in OUT_DTYPES:
            # 8 codes times 13 scales by row; by block the scales take 128 rows each, so only a few of them.
            m = 104 if recipe.startswith("1x128") else 1024
            n = 104 if recipe.endswith("1x128") else 1024
            yield _case((m, n + -n % 16, 128), out, recipe, "special-values")
    for shape in SPLIT:
        yield _case(shape, "fp32", BLOCK_RECIPES[0], "quantised-normal")


def _case(
    shape: tuple[int, int, int], out: str, recipe: str, family: str, a: str = "e4m3fn", b: str = "e4m3fn"
) -> Case:
    return Case(Problem(*shape, out=out, recipe=recipe, a=a, b=b), FAMILIES[family])
