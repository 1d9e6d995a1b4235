"""Answers pages without an API key, by their path; at any other path there is nothing. Errors have
the same shape as the API's.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from heliograph.api.api import JSON, Send, failure_response, new_request_id, respond
from heliograph.api.bodies import Headers, Scope
from heliograph.api.nearest_path import DESCRIBED, PathSuggestions
from heliograph.base import cancelling
from heliograph.base.errors import MethodNotAllowed, NoSuchPath

METHODS: Final = ("GET", "HEAD")


class PageResponse(NamedTuple):
    """Holds a page that is there, which is answered with a 200."""

    body: bytes
    headers: Headers


Page: TypeAlias = Callable[[Scope], Awaitable[PageResponse]]


async def answer_page(
    pages: Mapping[str, Page], scope: Scope, send: Send, suggestions: PathSuggestions
) -> None:
    """Answers a request for one of the pages, each of which raises ServiceError when it cannot be
    shown. `suggestions` knows the API's paths.
    """
    path: str = scope["path"]
    request_id = new_request_id()
    status = 200
    try:
        # under one spelling only: a proxy judges what it passes on by that
        if path not in pages or scope["raw_path"] != path.encode():
            raise NoSuchPath(suggestions.not_below_base(scope["method"], path, pages))
        if scope["method"] not in METHODS:
            raise MethodNotAllowed([*METHODS], f"{path} answers {', '.join(METHODS)}. {DESCRIBED}")
        body, headers = await pages[path](scope)
    except Exception as error:  # noqa: BLE001  whatever it was, the client gets a response
        cancelling.raise_if_cancelled(error)
        failure = failure_response(error, request_id, path if path in pages else "unknown")
        status, body = failure.status, failure.body
        headers = [JSON, *failure.headers]
    await respond(scope, send, status, [*headers, (b"x-request-id", request_id.encode())], body)
