"""The OpenAPI 3.1 description, made from the table of endpoints and what is written of each."""

from collections.abc import Iterable
from typing import Any, Final

from heliograph.base.errors import FIELDS_REPORTED_MAX
from heliograph.base.json import encode
from heliograph.entry.openapi import campaigns, connect, contacts, messages, otp, plugin, senders, wallet
from heliograph.entry.openapi.guide import EXAMPLE_BASE_URL, guide
from heliograph.entry.openapi.parts import (
    EXAMPLE_REQUEST_ID,
    HEADERS,
    IDEMPOTENCY_KEY,
    RATE_HEADERS,
    Json,
    Operation,
    array,
    headers,
    one_of,
    record,
    ref,
    text,
)
from heliograph.entry.openapi.reasons import ALWAYS, ON_POST, REASONS, WHEN_CHANGING, WITH_BODY, WITH_PATH_ID, of_status
from heliograph.keys import Endpoint
from heliograph.messages.refusals import REJECTED_REPORTED_MAX

VERSION: Final = "1.0.0"  # specification section 9
BASE_PATH: Final = "/api/v1"
TAGS: Final = {
    messages.TAG: "Sending, and what became of it.",
    otp.TAG: "Codes that prove who holds a phone.",
    wallet.TAG: "Money, SMS credits, and the ledger that explains them.",
    campaigns.TAG: "One text for many: how far each is, and what has become of its messages.",
    senders.TAG: "What messages may come from.",
    contacts.TAG: "Whom you send to, and who wants no campaigns any more.",
    connect.TAG: "Customers of your own, whom you act for.",
    plugin.TAG: "What a shop's plugin asks and tells: it links a site, shows the account's status, and syncs its own log.",
}
_ROOMS: Final = (wallet, messages, otp, campaigns, senders, contacts, connect, plugin)
OPERATIONS: Final[dict[tuple[str, str], Operation]] = {place: operation for room in _ROOMS for place, operation in room.OPERATIONS.items()}

# Failures that many operations have in common. The first two belong to none: any other path, and any other method, is answered so.
_SHARED: Final[dict[tuple[str, ...], str]] = {
    ("no_such_path",): "NoSuchPath",
    ("method_not_allowed",): "MethodNotAllowed",
    ("invalid_query",): "InvalidQuery",
    ("url_too_long",): "UrlTooLong",
    ("headers_too_large",): "HeadersTooLarge",
    ("missing_key", "invalid_key"): "Unauthorized",
    ("missing_permission",): "Forbidden",
    ("missing_permission", "account_suspended"): "ForbiddenOrSuspended",
    ("no_such_record",): "NoSuchRecord",
    ("idempotency_key_reused", "idempotency_in_progress"): "IdempotencyConflict",
    ("payload_too_large",): "PayloadTooLarge",
    ("rate_limited",): "RateLimited",
    ("internal_error",): "InternalError",
    ("unavailable",): "Unavailable",
}

_ERROR: Final[Json] = {
    "type": "object", "required": ["success", "error", "message", "request_id"], "description": "The one shape of every failure.", "properties": {
        "success": {"const": False},
        "error": {
            "type": "object", "required": ["code", "message", "reason"], "properties": {
                "code": one_of(dict.fromkeys(reason.code for reason in REASONS.values()), "What happened."),
                "message": text("What happened, for people."),
                "reason": one_of(REASONS, "Why exactly."),
                "fields": array(record("One bad field.", field=text("Its JSON path, such as `recipients[3]`."),
                                       message=text("What was found, and what is allowed.")), "Every bad field.", maxItems=FIELDS_REPORTED_MAX),
                "rejected": array(messages.REJECTED, "With `no_valid_recipient`: the recipients.", maxItems=REJECTED_REPORTED_MAX),
                "required": {"type": "number", "description": "With 402: what it would cost."},
                "available": {"type": "number", "description": "With 402: what there is."},
                "attempts_remaining": {"type": "integer", "minimum": 0, "description": "With `otp_incorrect`: so many wrong codes lock the phone."}}},
        "verified": {"const": False, "description": "Of a code that was not taken: with the reasons that begin with `otp_`, at `/otp/verify`."},
        "message": text("The same as `error.message`."),
        "request_id": text("Names the request, also in our log.")}}  # fmt: skip


class Undescribed(LookupError):
    """An endpoint has no description; write it in the module of its capability here."""


def openapi_document(endpoints: Iterable[Endpoint], base_url: str = "") -> bytes:
    """The description as JSON. Raises Undescribed. `base_url`: the public address, if it is known."""
    return encode(describe(endpoints, base_url))


def describe(endpoints: Iterable[Endpoint], base_url: str = "") -> Json:
    """The description of exactly these endpoints. Raises Undescribed."""
    paths: dict[str, Json] = {}
    table = list(endpoints)
    for endpoint in table:
        operation = OPERATIONS.get((endpoint.method, endpoint.path))
        if operation is None:
            raise Undescribed(f"{endpoint.method} {endpoint.path}")
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Heliograph API", "version": VERSION, "summary": "Bulk SMS, prepaid credits, delivery receipts.",
                 "description": guide(table, base_url or EXAMPLE_BASE_URL)},
        "servers": [{"url": f"{base_url}{BASE_PATH}"}],
        "security": [{"apiKey": []}],
        "tags": [{"name": name, "description": description} for name, description in TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {"apiKey": {
                "type": "http", "scheme": "bearer", "description": "An API key: `sk_live_…`, or `sk_test_…` for the sandbox."}},
            "schemas": {"Error": _ERROR, **{name: schema for room in _ROOMS for name, schema in room.SCHEMAS.items()}},
            "headers": HEADERS,
            "responses": {name: _failure(REASONS[reasons[0]].status, list(reasons)) for reasons, name in _SHARED.items()},
        },
    }  # fmt: skip


def _operation(endpoint: Endpoint, operation: Operation) -> Json:
    described: Json = {
        "tags": [operation.tag], "summary": operation.summary,
        "operationId": _name(endpoint.method, endpoint.path),
        "description": f"{operation.description}\n\nTakes the permission `{endpoint.permission}`.",
        "x-permission": endpoint.permission,
        "parameters": [*operation.parameters, *([IDEMPOTENCY_KEY] if endpoint.method == "POST" else [])],
        "responses": {"200": _success(endpoint, operation),
                      **{str(status): _failure_or_ref(status, found) for status, found in of_status(_reasons(endpoint, operation)).items()}},
    }  # fmt: skip
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": operation.body, "example": operation.body_example}}}
    return described


def _name(method: str, path: str) -> str:
    return f"{method.lower()}{path.replace('/', '_').replace('-', '_').replace('{', '').replace('}', '')}"


def _links(operation: Operation) -> Json:
    found = {link.name: {"operationId": _name(*link.to), "parameters": {link.parameter: f"$response.body#{link.place}"}} for link in operation.links}
    return {"links": found} if found else {}


def _reasons(endpoint: Endpoint, operation: Operation) -> tuple[str, ...]:
    return (*ALWAYS, *(WITH_BODY if endpoint.takes_body else ()), *(WHEN_CHANGING if endpoint.method != "GET" else ()),
            *(ON_POST if endpoint.method == "POST" else ()), *(WITH_PATH_ID if "{id}" in endpoint.path else ()), *operation.reasons)


def _success(endpoint: Endpoint, operation: Operation) -> Json:
    replayed = ("Idempotent-Replayed",) if endpoint.method == "POST" else ()
    answer = operation.answer
    schema = {**answer, "required": ["success", *answer["required"]], "properties": {"success": {"const": True}, **answer["properties"]}}
    return {"description": "Done.", "headers": headers("X-Request-Id", *RATE_HEADERS, *replayed), **_links(operation),
            "content": {"application/json": {"schema": schema, "example": {"success": True, **operation.example}}}}


def _failure_or_ref(status: int, reasons: list[str]) -> Json:
    shared = _SHARED.get(tuple(reasons))
    return _failure(status, reasons) if shared is None else {"$ref": f"#/components/responses/{shared}"}


def _failure(status: int, reasons: list[str]) -> Json:
    detail: Json = {"code": {"const": REASONS[reasons[0]].code}, "reason": {"enum": reasons}}
    required = ["required", "available"] if status == 402 else []
    schema = {"allOf": [ref("Error"), {"properties": {"error": {"properties": detail, "required": required}}}]}
    sent = headers(*_headers_of(status))
    if "idempotency_in_progress" in reasons:  # with this one of the two reasons
        sent["Retry-After"] = {**HEADERS["Retry-After"], "required": False}
    return {"description": "\n".join(f"- `{name}`: {REASONS[name].meaning}" for name in reasons), "headers": sent,
            "content": {"application/json": {"schema": schema, "example": _failure_example(status, reasons[0])}}}


def _headers_of(status: int) -> tuple[str, ...]:
    """The rate is counted after the key is known, so after the headers are, and not while the database cannot be reached."""
    further = {405: ("Allow",), 429: ("Retry-After",)}
    alone = {401: ("X-Request-Id", "WWW-Authenticate"), 503: ("X-Request-Id", "Retry-After")} | dict.fromkeys((414, 431, 500), ("X-Request-Id",))
    return alone.get(status) or ("X-Request-Id", *RATE_HEADERS, *further.get(status, ()))


def _failure_example(status: int, reason: str) -> Json:
    message = REASONS[reason].meaning
    error: dict[str, Any] = {"code": REASONS[reason].code, "message": message, "reason": reason}
    if status == 402:
        error |= {"required": 2, "available": 1}
    return {"success": False, "error": error, "message": message, "request_id": EXAMPLE_REQUEST_ID}


