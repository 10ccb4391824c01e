"""Malformed inputs, made from valid ones: the same ones in every run, since each follows from its number alone."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

HUGE = 10**30
NESTED: Any = json.loads("[" * 200 + "]" * 200)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, HUGE, -HUGE, 0.5, 1e308, float("nan"), float("inf")),
    *("", " ", "x", "../../x", "\x00", "\x1b[31m", "\u202e", "\ud800", "<script>", "a\nb", "|`*_", "é" * 500),
    *([], {}, [None], {"": None}, [[]], {"x": {"x": []}}, NESTED),
)
"""Values that hardly belong anywhere."""
BYTES = (b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\n", b"\r", b'"', b"[", b"{", b"1e999", b"\xef\xbb\xbf", b"-")
CHARACTERS = "/\\-.:*?[](){}<>|'\"`~!@#$%^&=+,; \t\n\x00\x1b\u202eé0129xkmnsS\ud800"


def mutated_values(value: Any, seeds: range) -> Iterator[Any]:
    """Copies of a JSON ``value`` in which one member, anywhere, was replaced, removed, doubled or renamed."""
    for seed in seeds:
        chance = random.Random(seed)
        changed = copy.deepcopy(value)
        _mutate(changed, chance)
        yield changed


def _mutate(root: Any, chance: random.Random) -> None:
    places = list(_places(root))
    holder, key = chance.choice(places)
    action = chance.random()
    if action < 0.7:
        holder[key] = copy.deepcopy(chance.choice(ODD))
    elif action < 0.85:
        del holder[key]
    elif isinstance(holder, dict):
        holder[str(key) + chance.choice(CHARACTERS)] = holder.pop(key)
    else:
        holder.insert(key, copy.deepcopy(holder[key]))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])


def mutated_bytes(text: bytes, seeds: range) -> Iterator[bytes]:
    """Copies of ``text`` that were cut, or in which a few bytes were replaced, removed, doubled or put in."""
    for seed in seeds:
        chance = random.Random(seed)
        changed = bytearray(text)
        if chance.random() < 0.2:
            del changed[chance.randrange(len(changed)) :]
        for _ in range(chance.choice((1, 1, 2, 5))):
            at = chance.randrange(len(changed) + 1)
            changed[at : at + chance.choice((0, 1, 1, 8))] = chance.choice((*BYTES, b"", bytes(changed[at : at + 9])))
        yield bytes(changed)


def mutated_words(words: list[str], seeds: range) -> Iterator[str]:
    """Words in which a few characters, or all between two slashes, were replaced, removed, doubled or put in."""
    for seed in seeds:
        chance = random.Random(seed)
        word = chance.choice(words)
        for _ in range(chance.choice((1, 1, 2, 4))):
            parts = word.split("/")
            at, in_part = chance.randrange(len(word) + 1), chance.randrange(len(parts))
            put = "".join(chance.choices(CHARACTERS, k=chance.choice((0, 1, 1, 3))))
            word = chance.choice(
                (
                    word[:at] + put + word[at + 1 :],
                    word[:at] + put + word[at:],
                    word[:at],
                    "/".join(parts[:in_part] + parts[in_part + 1 :]),
                    "/".join([*parts[:in_part], chance.choice(words).split("/")[-1], *parts[in_part + 1 :]]),
                    "/".join([*parts[:in_part], parts[in_part], *parts[in_part:]]),
                    word.replace("0", str(HUGE), 1),
                    word.upper(),
                )
            )
        yield word
