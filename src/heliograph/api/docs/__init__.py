"""GET /docs is the description of the API as one page for people. It is rendered once, from the
same document that programs read.

The page needs nothing but itself: no other file, no other host. Its policy allows its one style
sheet and its one script, by their hashes; without the script it can be read all the same.
"""

import base64
import hashlib
import json
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import jinja2

from heliograph.api.docs.markup import code, json_markup, markup
from heliograph.api.docs.view import page_view
from heliograph.api.openapi import EXAMPLE_BASE_URL


@lru_cache(maxsize=2)
def docs_page(document: bytes, base_url: str = EXAMPLE_BASE_URL) -> bytes:
    """Returns the page, in HTML. `document` is the OpenAPI description; `base_url` is the public
    address, for the examples. Rendering takes a tenth of a second, so a process that makes several
    applications, as tests do, renders it once.
    """
    described: dict[str, Any] = json.loads(document)
    page = (
        _environment()
        .get_template("page.html")
        .render(page_view(described, base_url), style=_part("style.css"), script=_part("script.js"))
    )
    return page.encode()


@cache
def content_security_policy() -> str:
    """Returns the value of the header `Content-Security-Policy` that goes with the page."""
    style, script = (
        base64.b64encode(hashlib.sha256(_part(name).encode()).digest()).decode()
        for name in ("style.css", "script.js")
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri"
        " 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def _part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text("utf-8")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__, ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"markup": markup, "code": code, "json": json_markup}
    return environment


__all__ = ["content_security_policy", "docs_page"]
