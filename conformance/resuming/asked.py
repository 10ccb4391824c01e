"""What a run was asked for, as the header of its report has it: enough to ask for it again. Needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.backends.names import place_of
from conformance.errors import UsageError
from conformance.records import Line
from conformance.request import Request
from conformance.shards.share import Shard

OPTIONS = {
    "backends": "--backend",
    "quantisers": "--quantiser",
    "linears": "--linear",
    "cases": "--case",
    "keyword": "-k",
}
"""What members are called on the command line, where that is another word."""
CODE = ("backends", "quantisers", "linears")
"""Members that can name code."""


@dataclass(frozen=True)
class Asked:
    """A request without its report folder, and the expression of ``-k``, "" for none."""

    request: Request
    keyword: str = ""

    def members(self) -> dict[str, Any]:
        """Everything that was asked for, by name."""
        return {name: getattr(self.request, name) for name in READERS if name != "keyword"} | {"keyword": self.keyword}

    def to_json(self) -> dict[str, Any]:
        """What the header says: all that is not as it is without a word."""
        usual = Asked(Request()).members()
        return {name: _plain(value) for name, value in self.members().items() if value != usual[name]}

    @classmethod
    def read(cls, header: Line, where: Path) -> Asked:
        """What ``header``, of the report in ``where``, says. Raises UsageError where that is not all of it."""
        try:
            told = {name: READERS[name](value) for name, value in header["asked"].items()}
        except (KeyError, TypeError):
            raise UsageError(
                f"the report in {str(where)!r} does not say all that its run was asked for, as one of a single run of "
                "this suite does: start another run"
            ) from None
        keyword = told.pop("keyword", "")
        return cls(Request(**told), keyword)

    def check_typed(self, typed: Asked, names: Collection[str], where: Path) -> None:
        """Raise UsageError where a member of ``names``, those that were ``typed`` again, contradicts."""
        then, now = self.members(), typed.members()
        for name in names:
            if then[name] != now[name]:
                raise UsageError(
                    f"{_option(name)} is {_told(now[name])} here, and the run in {str(where)!r} was asked for "
                    f"{_told(then[name])}: leave it out, or start another run"
                )

    def check_code(self, names: Collection[str], where: Path) -> None:
        """Raise UsageError where code is to be loaded and ``names`` lacks its member: a report is data."""
        lacking = [word for name in CODE if name not in names for word in self._code(name)]
        if lacking:
            raise UsageError(
                f"the run in {str(where)!r} judges code that only a command line may name, and no report: "
                f"add {' '.join(lacking)}"
            )

    def _code(self, name: str) -> Iterator[str]:
        """The options that name the member ``name``, where any of it is no registered name."""
        specs: tuple[str, ...] = getattr(self.request, name)
        places = [place_of(spec) for spec in specs]
        if any(place and place.is_typed for place in places):
            yield from (f"{_option(name)} {spec}" for spec in specs)


def members_called(words: Iterable[str]) -> set[str]:
    """The members that options of these names stand for; what says how to run, and not what, is none."""
    by_word = {option.lstrip("-"): name for name, option in OPTIONS.items()}
    return {by_word.get(word, word) for word in words} & READERS.keys()


def _option(name: str) -> str:
    return OPTIONS.get(name, f"--{name}")


def _told(value: Any) -> str:
    plain = _plain(value)
    return (", ".join(plain) if isinstance(plain, list) else str("" if plain is None else plain)) or "none"


def _plain(value: Any) -> Any:
    """``value`` as JSON has it."""
    if isinstance(value, tuple):
        return [str(each) for each in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _is(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_is(str, each) for each in _is(list, value))


READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("backends", "quantisers", "linears", "require", "cases"), _texts),
    **dict.fromkeys(("device", "profile", "keyword"), lambda value: _is(str, value)),
    **dict.fromkeys(("seed", "tp", "examples"), lambda value: _is(int, value)),
    **dict.fromkeys(("model", "baseline"), lambda value: Path(_is(str, value))),
    "deviations": lambda value: tuple(map(Path, _texts(value))),
    "quarantined": lambda value: _is(bool, value),
    "shard": lambda value: Shard.parse(_is(str, value)),
}
"""By member, how it is read from JSON; they raise TypeError for what is of another type."""
