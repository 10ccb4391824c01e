"""Type hints ship: what a user writes against the wheel is checked, and what is wrong in it is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from installed import Installation

# The types of the real torch take mypy twenty seconds; that they are these is checked with the suite's own code.
TORCH = """
class Tensor: ...
class dtype: ...
class device: ...
float32: dtype
bfloat16: dtype
"""
MINE = """
from torch import Tensor, bfloat16, dtype

from cases import Problem, parse_case
from reference import exact_block_matmul, native_w8a8_block_matmul, per_block_quant_fp8, per_token_group_quant_fp8


class Mine:
    name = "mine"

    def can_implement(self, problem: Problem) -> tuple[bool, str | None]:
        return problem.k % 16 == 0, "K is no multiple of 16"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: dtype) -> Tensor:
        return native_w8a8_block_matmul(A, B, As, Bs, (128, 128), out_dtype)


def product(x: Tensor, w: Tensor) -> Tensor:
    a, b = per_token_group_quant_fp8(x, 128), per_block_quant_fp8(w)
    return exact_block_matmul(a[0], b[0], a[1], b[1])


words: str = parse_case("gemm").id
"""
WRONG = """
native_w8a8_block_matmul("A", 1)
per_token_group_quant_fp8(product, 128)
words = exact_block_matmul
"""


def checked(text: str, installation: Installation, folder: Path) -> str:
    (folder / "stubs" / "torch").mkdir(parents=True)
    (folder / "stubs" / "torch" / "__init__.pyi").write_text(TORCH)
    (folder / "mine.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(installation.python), "mine.py"]
    environment = {**installation.environment, "MYPYPATH": "stubs"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout


def test_what_a_user_writes_is_checked_against_the_wheel(installation: Installation, tmp_path: Path) -> None:
    assert checked(MINE, installation, tmp_path) == "Success: no issues found in 1 source file\n"


def test_what_is_wrong_in_it_is_found(installation: Installation, tmp_path: Path) -> None:
    found = checked(MINE + WRONG, installation, tmp_path)

    for error in ("call-arg", "arg-type", "assignment"):
        assert f"[{error}]" in found
