"""Serves the API as an ASGI application. It takes one request from its first byte to its response,
in the order of docs/api.md, "Order of judgement".

401 → 429 → 404 path / 405 → 403 → 413 → 400 form → idempotency → 404 record → 400 that needs the
database → 402. The first five stand here; the rest is the endpoint's. It is raw ASGI because a
framework's own handler costs more than all else together.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, unquote

from heliograph.accounts import text_of_id
from heliograph.api.bodies import IN_ONE_PIECE, Disconnected, Headers, Receive, Scope, read_body
from heliograph.api.nearest_path import PathSuggestions
from heliograph.api.threads import Threads
from heliograph.base import cancelling, clock, ids, metrics
from heliograph.base.errors import (
    Forbidden,
    InvalidRequest,
    MethodNotAllowed,
    NoSuchPath,
    RateLimited,
    ServiceError,
)
from heliograph.base.forms import SHOWN_MAX, Query, quote_value
from heliograph.base.json import encode
from heliograph.base.log import Log, error_fields
from heliograph.base.short_texts import shorten
from heliograph.database.cache import ConfigCache
from heliograph.database.commits import Commits
from heliograph.keys import KeyUsage, Limiter, Principal, RateAllowance, authenticate
from heliograph.requests import (
    ApiResponse,
    Call,
    Endpoint,
    InThread,
    RequestEnd,
    RequestLog,
    end_of,
    idempotency_key,
)

QUERY_OCTETS_MAX: Final = 8_192
QUERY_PARAMETERS_MAX: Final = 100  # as many as a response names
INTERNAL_ERROR: Final = 500
# threads for what awaited endpoints must not do in the event loop; one an account. More would only
# contend for the interpreter
ASIDE: Final = 2

Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

log = Log(__name__)
SUCCEEDED: Final = RequestEnd(200)
JSON: Final = (b"content-type", b"application/json")


class Api:
    """Serves everything below /api/v1."""

    def __init__(
        self, endpoints: Iterable[Endpoint], cache: ConfigCache, limiter: Limiter, commits: Commits
    ) -> None:
        self._routes = EndpointTable(endpoints)
        self.suggestions = self._routes.suggestions
        self._cache = cache
        self._limiter = limiter
        self._threads = Threads(commits)
        self._aside = Threads(commits, ASIDE, 1, name="aside")
        self.usage = KeyUsage()
        self.requests = RequestLog()
        # for the log
        self.client_of: Callable[[Scope], object | None] = lambda scope: scope["client"]
        # set at log level debug only: a line a request costs as much as the request
        self.logs_requests = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_s = time.perf_counter()
        request_id = new_request_id()
        headers: Headers = [JSON, (b"x-request-id", request_id.encode())]
        route = "unknown"
        ended = SUCCEEDED
        principal: Principal | None = None
        try:
            principal = await authenticate(self._cache, scope["headers"])
            self.usage.note(principal.key_id, clock.now_ms())
            allowance = await self._limiter.take(principal.key_id, principal.per_minute)
            headers += _rate_headers(allowance)
            if allowance.exceeded:
                raise RateLimited(
                    f"This key may make {allowance.limit} requests a minute.",
                    retry_after_s=allowance.reset_s,
                )
            endpoint, parameters = self._routes.find(
                scope["method"], scope["path"].removeprefix("/api/v1"), _parts(scope)
            )
            route = endpoint.path
            _permit(endpoint, principal)
            taken = await read_body(scope, receive) if endpoint.takes_body else b""
            call = _call(
                endpoint,
                scope,
                taken,
                principal=principal,
                request_id=request_id,
                parameters=parameters,
                in_thread=partial(self._aside.run, principal.account_id),
            )
            response = await self._answer(endpoint, call)
            if response.replayed:
                headers.append((b"idempotent-replayed", b"true"))
            body = response.raw or encode({"success": True, **response.body})
        except Disconnected:
            return
        except Exception as error:  # noqa: BLE001  whatever it was, the client gets a response
            cancelling.raise_if_cancelled(error)
            failure = failure_response(error, request_id, route)
            ended = end_of(error)
            headers += failure.headers
            body = failure.body
        await respond(scope, send, ended.status, headers, body)
        seconds = time.perf_counter() - started_s
        metrics.count_request(scope["method"], route, ended.status, seconds)
        if principal is not None:
            self.requests.note(principal, request_id, scope["method"], route, ended, seconds)
        if self.logs_requests:
            log.debug(
                "request",
                request_id=request_id,
                account=principal and text_of_id(principal.account_id, is_customer=False),
                client=str(self.client_of(scope)),
                method=scope["method"],
                route=route,
                status=ended.status,
                milliseconds=round(seconds * 1_000, 1),
            )

    async def _answer(self, endpoint: Endpoint, call: Call) -> ApiResponse:
        if endpoint.handle is not None:
            return await endpoint.handle(call)
        assert endpoint.handle_in_thread is not None
        work = partial(endpoint.handle_in_thread, call)
        return await self._threads.run(
            call.principal.account_id, work, changes=endpoint.method != "GET"
        )

    def close(self) -> None:
        self._threads.close()
        self._aside.close()


class EndpointTable:
    """Finds the endpoint of a path: by a look-up if the path is fixed, part by part if it has an id
    in it.
    """

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in endpoints:
            for path in (endpoint.path, *endpoint.other_paths):
                by_path.setdefault(path, {})[endpoint.method] = endpoint
        for methods in by_path.values():
            if "GET" in methods:
                # the same response without its body (RFC 9110, 9.3.2)
                methods["HEAD"] = methods["GET"]
        self.suggestions = PathSuggestions(by_path)
        self._fixed = {path: methods for path, methods in by_path.items() if "{" not in path}
        self._templates = [
            (path.split("/"), methods) for path, methods in by_path.items() if "{" in path
        ]

    def find(self, method: str, path: str, parts: list[str]) -> tuple[Endpoint, dict[str, str]]:
        """Returns the endpoint of a path, and the path's parameters. `parts` are the segments of
        the path; one may hold a slash that was sent as `%2F`.

        Raises NoSuchPath, or MethodNotAllowed with what the path does answer.
        """
        methods = self._fixed.get(path, {}) if len(parts) == path.count("/") + 1 else {}
        parameters: dict[str, str] = {}
        if method not in methods:  # GET /messages/send is a message's path, though POST is not
            with_id, found = self._match(parts)
            if not methods or method in with_id:
                methods, parameters = with_id, found
        if not methods:
            raise NoSuchPath(self.suggestions.not_found(method, path))
        endpoint = methods.get(method)
        if endpoint is None:
            allowed = sorted(methods)
            raise MethodNotAllowed(
                allowed,
                self.suggestions.not_answered(
                    method, path if path in self._fixed else methods[allowed[0]].path, allowed
                ),
            )
        return endpoint, parameters

    def _match(self, parts: list[str]) -> tuple[dict[str, Endpoint], dict[str, str]]:
        for template, methods in self._templates:
            if len(template) == len(parts) and all(
                part if want == "{id}" else want == part
                for want, part in zip(template, parts, strict=True)
            ):
                return methods, {
                    want[1:-1]: part
                    for want, part in zip(template, parts, strict=True)
                    if want == "{id}"
                }
        return {}, {}


def _parts(scope: Scope) -> list[str]:
    """Returns the parts of the path below `/api/v1`, the first of which is empty. They are split
    before they are decoded (RFC 3986, 2.2).

    A server may leave `raw_path` out (ASGI, HTTP connection scope); then a slash that was sent as
    `%2F` is like any other.
    """
    raw_path: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw_path.lower():
        path: str = scope["path"]
        return path.removeprefix("/api/v1").split("/")
    parts = [unquote(part) for part in raw_path.decode("ascii").split("/")]
    return ["", *parts[3:]] if parts[:3] == ["", "api", "v1"] else parts


def _permit(endpoint: Endpoint, principal: Principal) -> None:
    if endpoint.permission not in principal.permissions:
        raise Forbidden(f"This key lacks the permission {endpoint.permission}.")
    if principal.suspended and endpoint.method != "GET":
        raise Forbidden(
            "This account is suspended: it can read, but change nothing.",
            reason="account_suspended",
        )
    if principal.is_customer and endpoint.partners_only:
        raise Forbidden(
            "This account is a Connect customer, and cannot have customers of its own.",
            reason="nested_customer",
        )


def _call(
    endpoint: Endpoint,
    scope: Scope,
    body: bytes,
    principal: Principal,
    request_id: str,
    parameters: dict[str, str],
    in_thread: InThread,
) -> Call:
    headers: Headers = scope["headers"]
    if endpoint.takes_body:
        _check_content(headers)
    query_string: bytes = scope["query_string"]
    if len(query_string) > QUERY_OCTETS_MAX:
        raise InvalidRequest(
            f"The query string is longer than {QUERY_OCTETS_MAX} characters.",
            reason="invalid_query",
        )
    return Call(
        principal,
        request_id,
        parameters,
        query=Query(_query_pairs(query_string)),
        body=body,
        idempotency_key=idempotency_key(headers) if endpoint.method == "POST" else None,
        in_thread=in_thread,
    )


def _query_pairs(query_string: bytes) -> list[tuple[str, str]]:
    if not query_string:
        return []
    if query_string.count(b"&") >= QUERY_PARAMETERS_MAX:
        raise InvalidRequest(
            f"The query string has more than {QUERY_PARAMETERS_MAX} parameters.",
            reason="invalid_query",
        )
    try:
        return parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise InvalidRequest(
            "The query string is not percent-encoded UTF-8.", reason="invalid_query"
        ) from error


def _check_content(headers: Headers) -> None:
    for name, value in headers:
        if name == b"content-encoding" and value.strip().lower() not in (b"identity", b""):
            coding = shorten(value.decode("latin-1"), SHOWN_MAX)
            raise InvalidRequest(
                f"The body is compressed (Content-Encoding: {coding}), which is not read here; send"
                " it as it is.",
                reason="invalid_json",
            )
        if name == b"content-type" and value.split(b";")[0].strip().lower() not in (
            b"application/json",
            b"",
        ):
            raise InvalidRequest(
                "Content-Type must be application/json, not"
                f" {quote_value(value.decode('latin-1'))}.",
                reason="invalid_json",
            )


def _rate_headers(allowance: RateAllowance) -> Headers:
    return [
        (b"x-ratelimit-limit", b"%d" % allowance.limit),
        (b"x-ratelimit-remaining", b"%d" % max(allowance.remaining, 0)),
        (b"x-ratelimit-reset", b"%d" % allowance.reset_s),
    ]


def error_headers(error: ServiceError) -> Headers:
    """Returns what a failure's response has beside the headers of all responses."""
    headers: Headers = []
    if error.retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after_s))
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", ", ".join(error.allowed).encode()))
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return headers


def new_request_id() -> str:
    """Returns a new id for the header X-Request-Id: `req_` and 32 hexadecimal digits."""
    return f"req_{ids.new_number():032x}"


class FailureResponse(NamedTuple):
    """Holds what is answered to a request that failed. `headers` are those that not all responses
    have.
    """

    status: int
    headers: Headers
    body: bytes


def failure_response(error: Exception, request_id: str, route: str) -> FailureResponse:
    """Returns the response to a request that failed. Of a fault of ours only the log tells more."""
    if not isinstance(error, ServiceError):
        log.error("request_failed", request_id=request_id, route=route, **error_fields(error))
        error = ServiceError(
            "Something went wrong on our side; the request id finds it in our log."
        )
    elif error.status >= INTERNAL_ERROR:
        log.warning(
            "request_not_served",
            request_id=request_id,
            route=route,
            status=error.status,
            reason=error.reason,
        )
    return FailureResponse(error.status, error_headers(error), error_body(error, request_id))


def error_body(error: ServiceError, request_id: str) -> bytes:
    """Returns a failure's body in the one shape that all failures have (docs/api.md, "Failure").
    The values of `error` stand at the top too, where some clients look for them.
    """
    detail: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "reason": error.reason,
        **error.extra,
    }
    if error.fields:
        detail["fields"] = [{"field": field, "message": message} for field, message in error.fields]
    return encode(
        {
            "success": False,
            **error.beside,
            "error": detail,
            "message": error.message,
            "request_id": request_id,
        }
    )


async def respond(scope: Scope, send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Answers a request, at once where its connection takes whole responses."""
    headers.append((b"content-length", b"%d" % len(body)))
    # taken out: while the scope holds it, each request is a circle that only the collector frees
    write_whole = scope.pop(IN_ONE_PIECE, None)
    if write_whole is not None:
        await write_whole(status, headers, body)
        return
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body_sent = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": body_sent})
