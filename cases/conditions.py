"""How large codes and scales may be for every partial sum to be exact, and the sentence where nothing is small enough.

Results stay finite in float16, whatever the output dtype, and powers of two that a row shares cost nothing. The same
bounds are checked on the operands themselves, by `reference.exactness`.
"""

from __future__ import annotations

from math import isqrt

from cases.problem import Problem

EXACT_SUM = 1 << 24
"""Integers up to here are float32 values, and so are all their sums up to here."""
SCALE_LIMITS = ((30, 20), (15, 582), (6, 3640), (6, 1 << 40))
"""Largest tag, and the K blocks that it is good for: fewer for many blocks, so that float16 results stay finite."""
TAG_SIZES = (30, 15, 6)
"""Largest tags to choose from: multiples of 3 for the pattern of neighbours, and more than 3, so that none repeats."""
WHOLE = {"e4m3fn": 11, "e4m3fnuz": 11, "e5m2": 8, "e5m2fnuz": 8}
"""Integers up to here are codes of the format, and their products fit a sum of 128 into 14 bits (13 x 13 would not)."""
SUBNORMALS = {"e4m3fn": (7, -9), "e4m3fnuz": (7, -10), "e5m2": (3, -16), "e5m2fnuz": (3, -17)}
"""How many subnormals a format has on either side of zero, and the exponent of the smallest."""
SPREAD = 1 << 6
"""How far the scales of `integer-codes` spread within a row and a column: eightfold each."""
ODD_SCALE = (1 << 12) - 1
"""Largest mantissa of `odd-scales`."""


EXACT_UNIT = 1 << 14
"""The same for the sums of a matrix unit, which adds up a K block, or all of K where one scale covers it."""


def _too_large(largest: int) -> str | None:
    if largest <= EXACT_SUM:
        return None
    return f"its partial sums reach {largest}, above 2^24, so float32 no longer holds every one of them"


def _too_large_for_units(problem: Problem, largest: int) -> str | None:
    """The same of a unit that never promotes, where there may be one."""
    if not problem.has_whole_scales or largest <= EXACT_UNIT:
        return None
    return f"its sums over K reach {largest}, above 2^14, which units that never promote do not hold"


def scale_limit(problem: Problem) -> int:
    """Largest integer scale of the tagged families."""
    return next(limit for limit, blocks in SCALE_LIMITS if problem.k_blocks <= blocks)


def tagged(problem: Problem) -> str | None:
    """Ternary data under tags."""
    return _too_large_for_units(problem, problem.k) or _too_large(128 * scale_limit(problem) ** 2 * problem.k_blocks)


def integer_limits(problem: Problem) -> tuple[int, int]:
    """Largest integer code of A and of B in `integer-codes`; zero where there are too many K blocks for any."""
    product = EXACT_SUM // (128 * SPREAD * problem.k_blocks)
    if problem.has_whole_scales:
        product = min(product, EXACT_UNIT // problem.k)
    a = min(WHOLE[problem.a], isqrt(product))
    return a, min(WHOLE[problem.b], product // max(a, 1))


def integer_codes(problem: Problem) -> str | None:
    """Codes of 1 at least."""
    return _too_large_for_units(problem, problem.k) or _too_large(128 * SPREAD * problem.k_blocks)


def subnormal_scale_limit(problem: Problem) -> int:
    """Largest tag of `subnormal-codes`, the smallest where none is small enough."""
    fitting = (limit for limit in TAG_SIZES if _subnormal_sum(problem, limit) <= EXACT_SUM)
    return next(fitting, TAG_SIZES[-1])


def _subnormal_sum(problem: Problem, limit: int) -> int:
    multiple = max(SUBNORMALS[problem.a][0], SUBNORMALS[problem.b][0])
    return 128 * 2 * multiple * limit**2 * problem.k_blocks


def subnormal_codes(problem: Problem) -> str | None:
    """Multiples of the smallest subnormal against codes up to 2, under tags."""
    codes = 2 * max(SUBNORMALS[problem.a][0], SUBNORMALS[problem.b][0])
    of_floats = _too_large(_subnormal_sum(problem, subnormal_scale_limit(problem)))
    return _too_large_for_units(problem, problem.k * codes) or of_floats


def odd_scales(problem: Problem) -> str | None:
    """Ternary data, scales of 12 bits on one side and of two neighbouring powers of two on the other."""
    return _too_large_for_units(problem, problem.k) or _too_large(128 * ODD_SCALE * 2 * problem.k_blocks)


def zero_blocks(problem: Problem) -> str | None:
    """Ternary data under tags, blocks of zeros among others."""
    if problem.recipe == "tensorwise":
        return "its block of zeros would be all of an operand"
    return tagged(problem)


def one_scale(problem: Problem) -> str | None:
    """Ones, and one scale up to the number of K blocks and 1."""
    largest = 128 * (2 * problem.k_blocks + 1)
    overflows = problem.out == "fp16" and largest > 65504
    of_results = f"its results reach {largest}, beyond float16" if overflows else _too_large(largest)
    return _too_large_for_units(problem, problem.k) or of_results
