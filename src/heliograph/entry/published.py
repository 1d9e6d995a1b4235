"""What anybody may read without a key: the API's description, for programs and for people. Made once, when the process starts."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from heliograph.base import ids
from heliograph.base.errors import MethodNotAllowed
from heliograph.entry.docs import content_security_policy, docs_page
from heliograph.entry.http import Headers, Scope, Send, rendered, respond
from heliograph.entry.openapi import BASE_PATH, EXAMPLE_BASE_URL, openapi_document
from heliograph.keys import Endpoint

Page: TypeAlias = Callable[[Scope, Send], Awaitable[None]]


def published_pages(endpoints: Iterable[Endpoint], base_url: str | None) -> dict[str, Page]:
    """The pages by path. Raises Undescribed for an endpoint of which nothing is written."""
    document = openapi_document(endpoints, base_url or "")
    return {
        f"{BASE_PATH}/openapi.json": _page(document, [(b"content-type", b"application/json")]),
        "/docs": _page(docs_page(document, base_url or EXAMPLE_BASE_URL), [
            (b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", content_security_policy().encode()),
            (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]),
    }  # fmt: skip


def _page(body: bytes, headers: Headers) -> Page:
    async def answer(scope: Scope, send: Send) -> None:
        request_id = f"req_{ids.new_number():032x}"
        named = (b"x-request-id", request_id.encode())
        if scope["method"] in ("GET", "HEAD"):
            await respond(send, 200, [*headers, named], body, head=scope["method"] == "HEAD")
            return
        refusal = rendered(MethodNotAllowed(["GET", "HEAD"]), request_id)
        await respond(send, 405, [(b"content-type", b"application/json"), (b"allow", b"GET, HEAD"), named], refusal)

    return answer
