"""The ways in which a kernel is named and handed to the suite, and the sentences for those that do not work."""

from __future__ import annotations

import functools
import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from made_reports import Command
from torch import Tensor

from cases import parse_case
from conformance.assignment import Assignment
from conformance.backends import names
from conformance.backends.convention import MisfitError, convention_of
from conformance.backends.protocol import Backend
from conformance.backends.registry import load_backend
from conformance.backends.starting import HERE, start_backend
from conformance.backends.subjects import Function, as_name
from conformance.errors import UsageError
from conformance.execute import run_case
from conformance.probe import Platform
from reference import native_w8a8_block_matmul

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
FIVE_LINES = """
def {name}(A, B, As, Bs, out_dtype):
    k, n = A.shape[1], B.shape[0]
    a = A.double() * As.double().repeat_interleave(128, 1)[:, :k]
    b = B.double() * Bs.double().repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
    return (a @ b.T).to(out_dtype)
"""
KERNEL = FIVE_LINES.format(name="my_kernel")


@pytest.fixture(autouse=True)
def _paths_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str, name: str = "kernel.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def verdict(backend: Backend, case: str = SMALL) -> str:
    platform = Platform("cpu", "x86_64", torch.__version__)
    return run_case(Assignment.of(parse_case(case), backend, platform), seed=0, device=torch.device("cpu")).verdict


# Where a kernel is


@pytest.mark.parametrize("spelled", ["{}", "{}:my_kernel"])
@pytest.mark.parametrize("name", ["kernel.py", "my kernel's.py", "a:b/kernel.py", "x.y.py"])
def test_a_file_is_enough(spelled: str, name: str, written: Callable[..., Path]) -> None:
    path = written(KERNEL + "\ndef _other(A, B, As, Bs, out_dtype): ...\nclass Empty: ...\n", name)
    backend = load_backend(spelled.format(path))

    assert (backend.name, backend.spec) == ("my-kernel", f"{path}:my_kernel")
    assert verdict(backend) == "passed"


@pytest.mark.parametrize("spec", ["./kernel.py:my_kernel", "kernel.py", "~/kernel.py:my_kernel", "sub/../kernel.py"])
def test_paths_are_as_a_shell_has_them(
    spec: str, written: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(KERNEL)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert load_backend(spec).name == "my-kernel"


def test_a_file_is_run_once_under_a_name_of_its_own_and_again_when_it_changes(written: Callable[..., Path]) -> None:
    path = written(KERNEL + FIVE_LINES.format(name="second"), "json.py")
    first, second = (load_backend(f"{path}:{name}") for name in ("my_kernel", "second"))
    home = sys.modules[first.subject.apply_block_scaled_mm.__module__]

    assert first.subject.apply_block_scaled_mm.__globals__ is second.subject.apply_block_scaled_mm.__globals__
    assert home is not json
    assert sys.modules["json"] is json
    written(KERNEL + "\nmy_kernel.name = 'edited'\n", "json.py")
    assert load_backend(f"{path}:my_kernel").name == "edited"


def test_a_file_imports_its_siblings_and_ours_are_not_hidden_by_them(written: Callable[..., Path]) -> None:
    for name in ("cases", "reference", "torch"):
        written("raise AssertionError('imported in place of another')", f"{name}.py")
    written("SCALE = 1", "sibling_of_a_kernel.py")
    text = f"import sibling_of_a_kernel, torch, cases.plan\nfrom reference import SM90\n{KERNEL}"

    assert verdict(load_backend(str(written(text)))) == "passed"


def test_a_module_is_found_in_the_working_folder_behind_what_is_installed(
    written: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(KERNEL, "module_of_my_own.py")
    written("raise AssertionError('imported in place of another')", "wave.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    assert str(tmp_path) not in sys.path

    assert load_backend("module_of_my_own:my_kernel").name == "my-kernel"
    assert importlib.import_module("wave").__file__ != str(tmp_path / "wave.py")


def test_a_function_behind_an_entry_point_goes_by_the_name_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    point = EntryPoint("swift", "reference:native_w8a8_block_matmul", names.GROUP)
    monkeypatch.setattr(names, "entry_points", lambda group: [point])

    assert load_backend("swift").name == "swift"


# How a kernel is called


def plain(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
    return native_w8a8_block_matmul(A, B, As, Bs, (128, 128), out_dtype)


def mixed(As: Tensor, A: Tensor, out_dtype: torch.dtype, *, Bs: Tensor, B: Tensor) -> Tensor:
    return plain(A, B, As, Bs, out_dtype)


def by_place(
    x: Tensor, w: Tensor, sx: Tensor, sw: Tensor, /, bias: None = None, *, output_dtype: torch.dtype
) -> Tensor:
    return plain(x, w, sx, sw, output_dtype)


def of_any(*operands: Any) -> Tensor:
    return plain(*operands)


def of_some(x: Tensor, *rest: Any, **more: Any) -> Tensor:
    return plain(x, *rest, **more)


def of_the_field(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, block_size: list[int], output_dtype: Any) -> Tensor:
    assert block_size == [128, 128]
    return native_w8a8_block_matmul(A, B, As, Bs, (128, 128), output_dtype)


def passed_on(*given: Any) -> Tensor:
    return plain(*given)


class Holder:
    @staticmethod
    def static(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
        return plain(A, B, As, Bs, out_dtype)

    @classmethod
    def of_class(cls, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
        return plain(A, B, As, Bs, out_dtype)

    def of_object(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
        return plain(A, B, As, Bs, out_dtype)


class Called:
    def __call__(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
        return plain(A, B, As, Bs, out_dtype)


class Layer(torch.nn.Module):
    def forward(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
        return plain(A, B, As, Bs, out_dtype)


@torch.library.custom_op("ways_in::kernel", mutates_args=())
def custom(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
    return plain(A, B, As, Bs, out_dtype)


CALLABLES: dict[str, Any] = {
    "plain": plain,
    "mixed": mixed,
    "by place": by_place,
    "any": of_any,
    "some": of_some,
    "the field's": of_the_field,
    "partial": functools.partial(of_the_field, block_size=[128, 128]),
    "wrapped, positional alone": functools.wraps(plain)(passed_on),
    "static": Holder.static,
    "of a class": Holder.of_class,
    "of an object": Holder().of_object,
    "object": Called(),
    "module": Layer(),
    "custom operator": custom,
    "operator": torch.ops.ways_in.kernel,
    "overload": torch.ops.ways_in.kernel.default,
    "compiled": torch.compile(plain, backend="eager"),
    "lambda": lambda A, B, As, Bs, out_dtype: plain(A, B, As, Bs, out_dtype),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_any_callable_is_a_kernel(name: str) -> None:
    backend = Backend(Function(CALLABLES[name], "some_kernel"), spec="test")

    assert (backend.name, backend.recipes) == ("some-kernel", ("1x128-128x128",))
    assert verdict(backend) == "passed"


@pytest.mark.parametrize(
    ("kernel", "positional", "named"),
    [
        (plain, "A B As Bs out_dtype", {}),
        (mixed, "As A out_dtype", {"Bs": "Bs", "B": "B"}),
        (by_place, "A B As Bs", {"output_dtype": "out_dtype"}),
        (of_any, "A B As Bs out_dtype", {}),
        (of_some, "A B As Bs", {"out_dtype": "out_dtype"}),
        (of_the_field, "A B As Bs block_size out_dtype", {}),
        (torch.ops.ways_in.kernel, "A B As Bs", {"out_dtype": "out_dtype"}),
        (torch.matmul, "A B As Bs out_dtype", {}),  # a builtin does not tell
    ],
)
def test_parameters_say_what_they_get(kernel: Any, positional: str, named: dict[str, str]) -> None:
    found = convention_of(kernel)

    assert (" ".join(found.positional), found.named, found.takes_out) == (positional, named, False)


def test_a_recipe_and_an_out_count_where_there_are_parameters_for_them() -> None:
    def kernel(A: Any, B: Any, As: Any, Bs: Any, out: Any = None, recipe: str = "", *, out_dtype: Any) -> Tensor:
        assert recipe == "1x128-128x128"
        result = plain(A, B, As, Bs, out_dtype)
        return result if out is None else out.copy_(result)

    backend = Backend(Function(kernel, "kernel"), spec="test")
    assert backend.recipes == ("1x128-128x128", "128x128-1x128", "1x128-1x128")
    assert backend.capabilities.to_json() == {"out": True}
    assert verdict(backend, SMALL.replace("gemm", "layout/out-padded")) == "passed"


def test_a_method_of_an_object_may_be_of_the_fields_signature_too() -> None:
    class Kernel:
        name = "field"

        def apply_block_scaled_mm(self, A: Any, B: Any, As: Any, Bs: Any, block_size: Any, output_dtype: Any) -> Tensor:
            return of_the_field(A, B, As, Bs, block_size, output_dtype)

    assert verdict(Backend(Kernel(), spec="test")) == "passed"


def test_attributes_of_a_function_count_as_those_of_an_object(written: Callable[..., Path]) -> None:
    more = "my_kernel.name = 'own'\nmy_kernel.capabilities = {'determinism': True}\nmy_kernel.recipes = ('rowwise',)\n"
    more += "my_kernel.describe = lambda: {'version': 2}\nmy_kernel.can_implement = lambda problem: (False, 'never')\n"
    backend = load_backend(str(written(KERNEL + more)))

    assert (backend.name, backend.recipes, backend.describe()) == ("own", ("rowwise",), {"version": "2"})
    assert backend.capabilities.to_json() == {"determinism": True}
    assert backend.can_implement(parse_case(SMALL).problem) == (False, "never")


@pytest.mark.parametrize(
    ("name", "expected"), [("my_kernel", "my-kernel"), ("_x__y_", "x-y"), ("<lambda>", "lambda"), ("v1.2", "v1.2")]
)
def test_functions_are_called_as_names_of_backends_are(name: str, expected: str) -> None:
    assert as_name(name) == expected


# Mistakes


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (lambda A, B, As, Bs: A, "takes no out_dtype, and"),
        (lambda A, B, As, Bs, o: A, "takes no out_dtype (if o is one, give it that name), and"),
        (lambda A, B, out_dtype: A, "does not take the four operands A, B, As, Bs"),
        (lambda A, B, As, Bs, bias, out_dtype: A, "asks for bias as well, which nobody hands over"),
        (lambda A, B, As, Bs, out, out_dtype: A, "asks for an out, which most calls have none for"),
        (lambda A, B, As, Bs, *, stream, out_dtype: A, "asks for stream as well"),
        (Holder.of_object, "is a method of an object that nobody has made"),
    ],
)
def test_a_signature_that_does_not_fit_is_found_before_anything_runs(kernel: Any, says: str) -> None:
    with pytest.raises(MisfitError, match=re.escape(says)):
        convention_of(kernel)


def method(text: str, more: str = "") -> str:
    return f"class K:\n    name = 'k'\n    {more or 'pass'}\n    def apply_block_scaled_mm({text}: ...\n"


MISTAKES = {
    "no kernel in it": (
        "x = 3\ndef f(A, B): ...\n",
        "",
        "has no kernel (f does not take the four operands A, B, As, Bs): write f(",
    ),
    "an empty file": ("", "", "has no kernel: write f(A, B, As, Bs, out_dtype), or name one"),
    "two kernels": (KERNEL + FIVE_LINES.format(name="g"), "", "has 2 kernels: choose one of "),
    "an unknown attribute": (KERNEL, ":my_kernal", "did you mean 'my_kernel'?"),
    "a syntax error": ("\n\ndef f(:\n", "", "cannot be imported (SyntaxError: invalid syntax, line 3)"),
    "an import error": (
        "import no_such_module\n",
        ":f",
        "(ModuleNotFoundError: No module named 'no_such_module', line 1)",
    ),
    "an exception": (
        "x = 1\nraise ValueError('one\\ntwo')\n",
        ":f",
        "cannot be imported (ValueError: one two, line 2)",
    ),
    "an exit": (
        "import sys\nsys.exit(2)\n",
        ":f",
        "(SystemExit: 2, line 2): what a script does belongs under `if __name__",
    ),
    "a part of a package": (
        "from . import x\n",
        ":f",
        "it is a part of a package, so name it as package.module:attribute",
    ),
    "a module": ("import torch\n", ":torch", "is a module: name a kernel in it behind a colon"),
    "a number": ("f = 3\n", ":f", "is 'int' 3, and no kernel: write f(A, B, As, Bs, out_dtype)"),
    "a string": ("f = 'a\\nb'\n", ":f", "is 'str' 'a\\nb', and no kernel"),
    "a tensor": (
        "import torch\nf = torch.zeros(2, 2)\n",
        ":f",
        "is 'Tensor' tensor([[0., 0.], [0., 0.]]), and no kernel",
    ),
    "a method": ("class K:\n    def f(self, A, B, As, Bs, out_dtype): ...\n", ":K.f", "is a method of an object"),
    "constructor arguments": (
        "class K:\n    def __init__(self, d): ...\n",
        ":K",
        "K() must work without arguments (TypeError: ",
    ),
    "an exit in a constructor": (
        "class K:\n    def __init__(self): raise SystemExit\n",
        ":K",
        "must work without arguments (SystemExit",
    ),
    "a method that is none": (
        "class K:\n    name = 'k'\n    apply_block_scaled_mm = 3\n",
        ":K",
        "has no method apply_block_scaled_mm: write",
    ),
    "a class without one": ("class K: ...\n", ":K", "has no method apply_block_scaled_mm: write"),
    "a method that takes nothing": (method("self)"), ":K", "apply_block_scaled_mm does not take the four operands"),
    "a method without dtype": (method("self, A, B, As, Bs)"), ":K", "apply_block_scaled_mm takes no out_dtype"),
    "an out that it does not take": (
        method("self, A, B, As, Bs, out_dtype)", "accepts_out = True"),
        ":K",
        "declares `out` and takes none",
    ),
    "a coroutine": (
        "async def f(A, B, As, Bs, out_dtype): ...\n",
        ":f",
        "is a coroutine function, which computes nothing",
    ),
    "a generator": ("def f(A, B, As, Bs, out_dtype): yield A\n", ":f", "is a generator, which computes nothing"),
    "a name that is none": (
        KERNEL + "my_kernel.name = 'a/b'\n",
        "",
        "needs an attribute `name` of letters, digits and . _ + -, got 'a/b'",
    ),
    "letters of another alphabet": (FIVE_LINES.format(name="ядро"), "", "needs an attribute `name` of letters, digits"),
    "an unreadable name": (
        method("self, A, B, As, Bs, out_dtype)", "name = property(lambda self: 1 / 0)"),
        ":K",
        "its name cannot be read (ZeroDivisionError",
    ),
    "a list for an arithmetic": (
        KERNEL + "my_kernel.arithmetic = ['sm90']\n",
        "",
        "declares the unknown arithmetic ['sm90']: choose one of sm90",
    ),
    "a word for recipes": (KERNEL + "my_kernel.recipes = 'rowwise'\n", "", "`recipes` is a tuple of one or more of"),
    "lists for recipes": (KERNEL + "my_kernel.recipes = ([],)\n", "", "`recipes` is a tuple of one or more of"),
    "a set for capabilities": (
        KERNEL + "my_kernel.capabilities = {'out'}\n",
        "",
        "`capabilities` is a dict from names to what is declared, got {'out'}; there are dtypes,",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_file_is_one_sentence(mistake: str, written: Callable[..., Path]) -> None:
    text, attribute, says = MISTAKES[mistake]
    path = written(text)
    with pytest.raises(UsageError) as error:
        load_backend(f"{path}{attribute}")

    assert says in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        (
            "can_implement",
            "lambda problem: True",
            "can_implement must return (True, None) or (False, 'reason'), got True",
        ),
        ("is_supported", "lambda platform: 1 / 0", "is_supported fails (ZeroDivisionError: division by zero)"),
        ("is_supported", "lambda: (True, None)", "is_supported fails (TypeError: "),
        ("can_implement", "lambda problem: exit(3)", "can_implement fails (SystemExit: 3)"),
        ("can_implement", "'yes'", "can_implement fails (TypeError: 'str' object is not callable)"),
        ("describe", "lambda: 'a kernel'", "describe() must return a dict of strings, got 'a kernel'"),
    ],
)
def test_an_answer_that_is_none_is_one_sentence(
    name: str, value: str, says: str, written: Callable[..., Path], command: Command
) -> None:
    path = written(f"{KERNEL}my_kernel.{name} = {value}\n")
    code, out, err = command("run", "-n", 0, "--backend", path, "--case", SMALL, "--device", "cpu")

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("kernel.py:f", "there is no file 'kernel.py' of Python: did you mean 'kernels.py'?"),
        ("./kernels:f", "there is no file 'kernels' of Python: did you mean 'kernels.py'?"),
        ("no/such/place.py", "there is no file 'no/such/place.py' of Python: name a file that ends in .py"),
        ("./folder", "is a folder: name a file in it, one of inside.py"),
        ("kernels", "unknown backend 'kernels': did you mean 'kernels.py'?"),
        ("kernels.py:", "unknown backend 'kernels.py:'"),
        (":f", "unknown backend ':f'"),
        ("", "unknown backend ''"),
        ("no_such_module:f", "module 'no_such_module' cannot be imported (ModuleNotFoundError: "),
        ("..x:f", "module '..x' cannot be imported (TypeError: "),
    ],
)
def test_a_place_that_is_none_is_one_sentence(
    spec: str, says: str, written: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(KERNEL, "kernels.py")
    written(KERNEL, "folder/inside.py")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=re.escape(says)):
        load_backend(spec)


def test_two_functions_of_one_name_are_told_apart_by_an_attribute(
    written: Callable[..., Path], command: Command
) -> None:
    one, other = written(KERNEL, "one.py"), written(KERNEL, "other.py")
    code, _, err = command("list", "--backend", one, "--backend", other)

    assert code == 2
    assert "are both named 'my-kernel': rename one, with an attribute `name`" in err


@pytest.mark.parametrize(
    ("device", "says"),
    [
        ("meta", "device 'meta' is not available here: choose one of "),
        ("privateuseone", "device 'privateuseone' is not available here"),
        ("nonsense", "unknown device 'nonsense'"),
        ("cpu:7", "device 'cpu:7' is not available here"),
        ("", "unknown device ''"),
        *([] if torch.cuda.is_available() else [("cuda", "device 'cuda' is not available here")]),
        *([] if torch.xpu.is_available() else [("xpu", "device 'xpu' is not available here")]),
    ],
)
def test_a_device_that_is_not_here_is_one_sentence(device: str, says: str, command: Command) -> None:
    code, out, err = command("run", "-n", 0, "--device", device, "--backend", "native", "--case", SMALL)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


# Every command


def test_every_command_takes_a_file(written: Callable[..., Path], tmp_path: Path, command: Command) -> None:
    path = written("print('loading')\n" + KERNEL)
    listed = command("list", "--backend", path, "--profile", "quick", "--json")
    explained = command("explain", SMALL, "--backend", path, "--device", "cpu", "--json")
    asked = command("probe", "--backend", path, "--device", "cpu", "--json")

    assert [code for code, _, _ in (listed, explained, asked)] == [0, 0, 0]
    assert json.loads(listed[1])["cases"][0]["expected"] == {"my-kernel": "compute"}
    assert json.loads(explained[1])[0]["verdict"] == "passed"
    assert json.loads(asked[1])[0]["backend"] == "my-kernel"
    assert command("record", tmp_path / "x.json", "--backend", path, "--device", "cpu")[0] == 0


def test_workers_load_the_file_themselves_and_the_line_that_reproduces_can_be_pasted(
    written: Callable[..., Path], tmp_path: Path
) -> None:
    for folder in ("cases", "reference"):
        written("raise AssertionError('imported in place of ours')", f"{folder}/__init__.py")
    wrong = KERNEL.replace("my_kernel", "wrong").replace("(out_dtype)", "(out_dtype) * 2")
    written(KERNEL, "mine.py")
    written(f"import mine\n{wrong}", "my kernel.py")
    entry = written("from conformance.cli import main; main()", "bin/conformance")
    specs = ("mine:my_kernel", "my kernel.py")
    named = [word for spec in specs for word in ("--backend", spec)]
    cases = [word for out in ("bf16", "fp32") for word in ("--case", SMALL.replace("bf16", out))]
    typed = [sys.executable, str(entry), "run", "-n", "2", "--device", "cpu", *named, *cases]
    done = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stderr
    assert "WRONG: 2 of 4 cases failed" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  conformance run")]
    words = ["conformance", "run", "--backend", "my kernel.py:wrong", "--device", "cpu", "--case"]
    assert shlex.split(line)[:-1] == words


def test_a_script_calls_a_function_from_its_file(written: Callable[..., Path], command: Command) -> None:
    path = written(KERNEL.replace("out_dtype", "output_dtype").replace("Bs,", "Bs, block_size,"), "my kernel's.py")
    code, text, err = command("explain", SMALL, "--backend", path, "--device", "cpu", "--script")

    assert (code, err.splitlines()[-1]) == (0, "conformance: the script was run here, and shows it")
    assert "out = kernel(A, B, As, Bs, [128, 128], torch.bfloat16).cpu()" in text
    assert 'Kernel = runpy.run_path(path)["my_kernel"]' in text


# A file to start from


@pytest.mark.parametrize("form", [[], ["--class"]])
def test_a_new_backend_is_green_as_it_stands(
    form: list[str], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("new-backend", "my file.py", *form)
    next_command = out.splitlines()[-1].strip()

    assert (code, next_command) == (0, "conformance run --backend 'my file.py' --profile quick")
    assert f"{next_command}\n" in (tmp_path / "my file.py").read_text()
    backend = load_backend("my file.py")
    assert (backend.name, backend.recipes) == ("my-kernel", ("1x128-128x128",))
    for scenario in ("gemm", "malformed/bs-per-column", "malformed/codes-as-bytes", "malformed/unequal-k"):
        assert verdict(backend, SMALL.replace("gemm", scenario).replace("bf16", "fp32")) in ("passed", "rejected")


@pytest.mark.parametrize("name", ["a_function.py", "a_class.py"])
def test_what_a_new_backend_has_in_comments_works(name: str, written: Callable[..., Path]) -> None:
    optional = re.compile(r"^( *)# (?=my_kernel\.|arithmetic|capabilities|    \W|\}|def |    return|$)", re.MULTILINE)
    text = optional.sub(r"\1", (HERE / name).read_text())
    backend = load_backend(str(written(text)))
    problem = parse_case(SMALL).problem

    assert (backend.arithmetic is not None, backend.describe()) == (True, {"library": "1.0"})
    assert backend.capabilities.to_json() == {
        "dtypes": ["e4m3fn", "bf16"],
        "divisible": {"n": 64, "k": 128},
        "strided_operands": False,
        "determinism": True,
    }
    assert backend.can_implement(replace(problem, m=3)) == (False, "M is 3")
    assert backend.is_supported(Platform("cpu", "x86_64", "2.13")) == (False, "needs CUDA")


def test_a_new_backend_goes_into_a_folder_and_replaces_nothing(tmp_path: Path) -> None:
    file = start_backend(tmp_path, "function")
    file.write_text("mine")

    assert file == tmp_path / "my_kernel.py"
    with pytest.raises(UsageError, match="exists already and stays as it is"):
        start_backend(tmp_path, "class")
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kernel", "no file of Python: write '.*/kernel.py'"),
        ("no/folder/kernel.py", r"cannot be written \(No such file or directory\)"),
        ("a\nb.py", "no file of Python"),
    ],
)
def test_a_new_backend_that_cannot_be_is_one_sentence(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        start_backend(tmp_path / name, "function")
    assert list(tmp_path.iterdir()) == []
