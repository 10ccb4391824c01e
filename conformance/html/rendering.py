"""A page from its template: text escaped, style and script inside, nothing else allowed to run or to load."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from conformance.errors import UsageError
from conformance.html.embedded import script_safe
from conformance.html.grid import fragment
from conformance.html.looks import Look

PLACE = files("conformance.html") / "templates"


def render(template: str, *, data: dict[str, Any], **context: Any) -> str:
    """The page of ``template``. ``data`` is what its script works on, the rest what can be read without one."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("conformance.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fragment"] = lambda filters: fragment(**filters)
    style, script = _asset("page.css"), _asset("picture.js") + _asset("page.js")
    # Our own files and JSON without a single "<": the only texts that are not escaped.
    own = {"style": Markup(style), "script": Markup(script), "data": Markup(script_safe(data))}
    page = environment.get_template(template).render(policy=_policy(style, script), icon=icon, **own, **context)
    return page + "\n"


def _policy(style: str, script: str) -> str:
    """The content security policy: this style and this script, by their hashes, and the icon, which is in the page."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (PLACE / name).read_text(encoding="utf-8")


ICON_COLOURS = {"good": "#1a7f37", "bad": "#cf222e", "open": "#9a6700"}


def icon(look: Look) -> str:
    """The symbol of a verdict for the browser's tab."""
    from urllib.parse import quote

    colour = ICON_COLOURS.get(look.tone, ICON_COLOURS["open"])
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="{colour}"/>'
        f'<text x="16" y="23" font-size="20" font-family="sans-serif" text-anchor="middle" fill="#fff">'
        f"{look.symbol}</text></svg>"
    )
    return f"data:image/svg+xml,{quote(drawn)}"


def put(text: str, path: Path) -> None:
    """Write ``text`` to ``path`` in one step: whoever looks finds the old file or the new one, never a part.

    Raises UsageError where that cannot be done.
    """
    draft = path.parent / f".{path.name}.{os.getpid()}"
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise UsageError(f"the page {str(path)!r} cannot be written ({error.strerror})") from error
