"""Configurations of models as Hugging Face spells them: those of public models, those in files, and their fields.

A file a public model, with where it comes from and what it was verified against.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from reprlib import repr as brief

from cases.files import read_file

MODELS = (
    "DeepSeek-V3",
    "Qwen3-0.6B",
    "Qwen3-1.7B",
    "Qwen3-4B",
    "Qwen3-8B",
    "Qwen3-14B",
    "Qwen3-32B",
    "Qwen3-30B-A3B",
    "Qwen3-235B-A22B",
    "Qwen3-Coder-480B-A35B",
    "Llama-3.1-8B",
    "Llama-3.1-70B",
    "Llama-3.1-405B",
)
"""Models whose configuration is part of this package."""
MLA = ("deepseek_v2", "deepseek_v3", "kimi_k2")
DENSE = ("llama", "mistral", "qwen2", "qwen3", "qwen3_vl_text")
MOE = ("qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text")
SUPPORTED = (
    f"supported model types are {', '.join(MLA + DENSE + MOE)}, and a configuration without one is read as llama"
)


def model(name: str) -> dict[str, object]:
    """The configuration of one of `MODELS`, with its source."""
    if name not in MODELS:
        raise ValueError(f"{brief(name)} is no known model; choose one of {', '.join(MODELS)}")
    return parse((resources.files("cases") / "models" / f"{name}.json").read_bytes())


def read(path: Path) -> dict[str, object]:
    """The JSON object in a file; ValueError with one sentence where there is none."""
    try:
        if path.is_dir():
            raise ValueError("is a directory; name the config.json in it")
        return parse(read_file(path))
    except FileNotFoundError:
        raise ValueError("there is no such file") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None


def parse(text: bytes) -> dict[str, object]:
    """The JSON object that ``text`` is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(value, dict):
        raise ValueError(f"holds {brief(value)}; a configuration is a JSON object")
    return value


def nested(config: Mapping[str, object], key: str) -> Mapping[str, object]:
    """The object under ``key``, empty where there is none."""
    value = config.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise ValueError(f"{key!r} is {brief(value)}; it must be an object")
    return value or {}


def size(config: Mapping[str, object], key: str) -> int:
    """The size under ``key``."""
    value = config.get(key)
    if value is None:
        raise ValueError(f"{key!r} is missing; {SUPPORTED}")
    if type(value) is not int or value < 1:
        raise ValueError(f"{key!r} is {brief(value)}; it must be a positive whole number")
    return value


def optional(config: Mapping[str, object], key: str) -> int:
    """The size under ``key``, 0 where it is absent, null or 0."""
    value = config.get(key)
    return 0 if value is None or (type(value) is int and value == 0) else size(config, key)


def not_converted(names: object, hidden_layers: int) -> tuple[str, ...]:
    """Modules that no layer has in FP8, by their name within one: ``names`` as ``modules_to_not_convert`` has them."""
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"'modules_to_not_convert' is {brief(names)}; it must be a list of module names")
    numbers: dict[str, set[str]] = {}
    everywhere = []
    for name in names:
        if numbered := re.search(r"(?:^|\.)layers\.(\d+)\.(.+)", name):
            numbers.setdefault(numbered[2], set()).add(numbered[1])
        else:
            everywhere.append(name)
    return (*everywhere, *(name for name, layers in numbers.items() if 0 < hidden_layers <= len(layers)))
