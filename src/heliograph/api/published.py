"""Anybody may read this without a key: the API's description, for programs and for people. It is
made once, when the process starts.
"""

from collections.abc import Iterable

from heliograph.api.api import JSON, Scope
from heliograph.api.bodies import Headers
from heliograph.api.docs import content_security_policy, docs_page
from heliograph.api.openapi import BASE_PATH, EXAMPLE_BASE_URL, openapi_document
from heliograph.api.pages import Page, Shown
from heliograph.requests import Endpoint


def published_pages(endpoints: Iterable[Endpoint], base_url: str | None) -> dict[str, Page]:
    """Returns the pages by path. Raises Undescribed for an endpoint of which nothing is written."""
    document = openapi_document(endpoints, base_url or "")
    return {
        f"{BASE_PATH}/openapi.json": _page(document, [JSON]),
        "/docs": _page(
            docs_page(document, base_url or EXAMPLE_BASE_URL),
            [
                (b"content-type", b"text/html; charset=utf-8"),
                (b"content-security-policy", content_security_policy().encode()),
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"no-referrer"),
            ],
        ),
    }


def _page(body: bytes, headers: Headers) -> Page:
    async def show(scope: Scope) -> Shown:
        return Shown(body, headers)

    return show
