"""Serves what anybody may read without a key: the API's description, for programs and for
people.

What programs read is made when the process starts, for every endpoint must be described. The page
for people takes a tenth of a second to render. It is rendered when somebody asks for it first, in a
thread, and once.
"""

import asyncio
from collections.abc import Callable, Iterable

from heliograph.api.api import JSON
from heliograph.api.bodies import Headers, Scope
from heliograph.api.docs import content_security_policy, docs_page
from heliograph.api.openapi import BASE_PATH, EXAMPLE_BASE_URL, openapi_document
from heliograph.api.pages import Page, PageResponse
from heliograph.requests import Endpoint


def published_pages(endpoints: Iterable[Endpoint], base_url: str | None) -> dict[str, Page]:
    """Returns the pages by path. Raises UndescribedEndpoint for an endpoint without a
    description.
    """
    document = openapi_document(endpoints, base_url or "")
    return {
        f"{BASE_PATH}/openapi.json": _page(document, [JSON]),
        "/docs": RenderedOnce(
            lambda: docs_page(document, base_url or EXAMPLE_BASE_URL),
            [
                (b"content-type", b"text/html; charset=utf-8"),
                (b"content-security-policy", content_security_policy().encode()),
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"no-referrer"),
            ],
        ),
    }


class RenderedOnce:
    """Holds a page that is rendered in a thread when it is asked for first. Whoever asks meanwhile
    waits for the same rendering. One that fails is tried again for whoever asks next.
    """

    def __init__(self, render: Callable[[], bytes], headers: Headers) -> None:
        self._render = render
        self._headers = headers
        self._rendering: asyncio.Task[bytes] | None = None

    async def __call__(self, _scope: Scope) -> PageResponse:
        if self._rendering is None or _has_failed(self._rendering):
            self._rendering = asyncio.create_task(asyncio.to_thread(self._render))
        # who goes away does not end it for the others
        return PageResponse(await asyncio.shield(self._rendering), self._headers)


def _has_failed(task: asyncio.Task[bytes]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _page(body: bytes, headers: Headers) -> Page:
    async def show(scope: Scope) -> PageResponse:
        return PageResponse(body, headers)

    return show
