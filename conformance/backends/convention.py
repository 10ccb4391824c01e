"""How a callable wants to be handed what the suite hands over, read from its parameters before it is ever called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

OPERANDS = ("A", "B", "As", "Bs")
OUT_DTYPE, RECIPE, BLOCK_SIZE, OUT = "out_dtype", "recipe", "block_size", "out"
BY_NAME = {OUT_DTYPE: OUT_DTYPE, "output_dtype": OUT_DTYPE, RECIPE: RECIPE, BLOCK_SIZE: BLOCK_SIZE, OUT: OUT}
"""From the names of parameters to what they get. The field calls the dtype of the result by either name."""

LAUNCHED = ("triton.", "numba.cuda.")
"""Modules whose callables are kernels in their own language."""


class MisfitError(Exception):
    """A callable cannot be called as kernels are. The message says why, going on from its name."""


@dataclass(frozen=True)
class Convention:
    """Which of the words `OPERANDS`, ``out_dtype``, ``recipe`` and ``block_size`` goes to which parameter.

    ``positional`` are words in order, ``named`` words by parameter. ``takes_out``: an ``out`` can be given by name;
    ``names_out``: there is a parameter of that name, and not ``**keywords`` alone.
    """

    positional: tuple[str, ...]
    named: Mapping[str, str]
    takes_out: bool = False
    names_out: bool = False

    @property
    def takes_recipe(self) -> bool:
        """Whether the kernel is told the recipe."""
        return RECIPE in (*self.positional, *self.named.values())

    def spelled(self, words: Mapping[str, str]) -> str:
        """The arguments of a call as text, each word as ``words`` spell it."""
        named = (f"{name}={words[word]}" for name, word in self.named.items())
        return ", ".join([*(words[word] for word in self.positional), *named])


def convention_of(kernel: Callable[..., Any], *, is_method: bool = False) -> Convention:
    """The convention of ``kernel``, a function or the method of a backend, by these rules.

    A parameter that `BY_NAME` knows gets what its name says. Where there are parameters A, B, As and Bs, these get the
    operands, in whichever order; elsewhere the first four others do. ``**keywords`` get the dtype where no parameter is
    named after it, and those of a method the recipe. A function of which nothing is known gets the operands and the
    dtype one after the other.

    Raises MisfitError.
    """
    _refuse_what_only_looks_callable(kernel)
    untold = (OUT_DTYPE, RECIPE) if is_method else (OUT_DTYPE,)
    signature = signature_of(kernel)
    if signature is None:
        named = {word: word for word in untold}
        return Convention(OPERANDS, named, True) if is_method else Convention((*OPERANDS, OUT_DTYPE), {})
    parameters = signature.parameters
    given: dict[str, Any] = {name: BY_NAME[name] for name in parameters if name in BY_NAME}
    given |= _operands(parameters)
    given |= _open_ended(parameters, [word for word in untold if word not in given.values()], given)
    _check(parameters, given)
    taken = {name: given[name] for name in parameters if name in given and name != OUT}
    bound = inspect.BoundArguments(signature, taken)
    is_open = is_method and any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    names_out = OUT in parameters
    found = Convention(bound.args, bound.kwargs, takes_out=names_out or is_open, names_out=names_out)
    try:
        signature.bind(*found.positional, **found.named, **({OUT: OUT} if found.takes_out else {}))
    except TypeError as error:
        raise MisfitError(f"cannot be called with operands and a dtype ({error})") from None
    return found


def _refuse_what_only_looks_callable(kernel: Any) -> None:
    if inspect.iscoroutinefunction(kernel):
        raise MisfitError("is a coroutine function, which computes nothing when it is called: leave `async` out")
    if inspect.isgeneratorfunction(kernel) or inspect.isasyncgenfunction(kernel):
        raise MisfitError("is a generator, which computes nothing when it is called: return the result")
    if type(kernel).__module__.startswith(LAUNCHED):
        raise MisfitError("is launched over a grid: name a function that makes the result, launches it and returns it")


def _check(parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Raise MisfitError where something is not given that has to be, on one side or the other."""
    required = {p.name for p in parameters.values() if p.default is p.empty and _is_one(p)}
    missing = [name for name in parameters if name in required - given.keys()]
    if OUT_DTYPE not in _flat(given):
        hint = f" (if {missing[0]} is one, give it that name)" if missing else ""
        raise MisfitError(f"takes no out_dtype{hint}, and results of several dtypes are asked for")
    if OUT in required:
        raise MisfitError("asks for an out, which most calls have none for: give it the default None")
    if missing:
        raise MisfitError(f"asks for {', '.join(missing)} as well, which nobody hands over: give it a default")


def signature_of(kernel: Any) -> inspect.Signature | None:
    """The signature of a callable, of a torch operator too; None where it does not tell."""
    import torch

    schema = _schema_of(kernel)
    if schema is not None:
        return inspect.Signature([_parameter(argument) for argument in schema.arguments])
    try:
        return inspect.signature(kernel.forward if isinstance(kernel, torch.nn.Module) else kernel)
    except (TypeError, ValueError):
        return None


def _schema_of(kernel: Any) -> Any:
    """The schema of a torch operator, of a custom one or of a scripted function; None of anything else."""
    import torch

    places = (kernel, getattr(kernel, "default", None), getattr(kernel, "_opoverload", None))
    found = (getattr(place, name, None) for place in places for name in ("_schema", "schema"))
    return next((schema for schema in found if isinstance(schema, torch._C.FunctionSchema)), None)


def _parameter(argument: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, kind, default=default)


def _operands(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """The parameters that get the operands."""
    if next(iter(parameters), "") == "self":
        raise MisfitError("is a method of an object that nobody has made: name the class, or make it a staticmethod")
    if all(name in parameters for name in OPERANDS):
        return {name: name for name in OPERANDS}
    places = [p for p in parameters.values() if p.name not in BY_NAME and p.kind in _POSITIONAL]
    rest = next((p.name for p in parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    if len(places) < len(OPERANDS) and rest is None:
        raise MisfitError("does not take the four operands A, B, As, Bs")
    given: dict[str, Any] = {p.name: word for p, word in zip(places, OPERANDS, strict=False)}
    return given if rest is None else {**given, rest: OPERANDS[len(places) :]}


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _open_ended(
    parameters: Mapping[str, inspect.Parameter], left: list[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The words ``left`` that go into ``**keywords``, or without these the dtype behind ``*operands``."""
    kinds = {p.kind: p.name for p in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return {kinds[inspect.Parameter.VAR_KEYWORD]: {word: word for word in left}}
    rest = kinds.get(inspect.Parameter.VAR_POSITIONAL)
    if rest is not None and OUT_DTYPE in left:
        return {rest: (*given.get(rest, ()), OUT_DTYPE)}
    return {}


def _flat(given: Mapping[str, Any]) -> list[str]:
    """Every word that is handed over."""
    return [word for taken in given.values() for word in ((taken,) if isinstance(taken, str) else taken)]


def _is_one(parameter: inspect.Parameter) -> bool:
    return parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
