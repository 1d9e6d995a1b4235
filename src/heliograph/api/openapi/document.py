"""Makes the OpenAPI 3.1 description from the table of endpoints and from what is written about
each.
"""

from collections.abc import Iterable
from typing import Final

from heliograph.api.openapi import (
    campaigns,
    connect,
    contacts,
    errors,
    inbound,
    keywords,
    messages,
    opt_outs,
    otp,
    plugin,
    senders,
    wallet,
    webhooks,
)
from heliograph.api.openapi.errors import failure, shared_failures
from heliograph.api.openapi.guide import EXAMPLE_BASE_URL, guide
from heliograph.api.openapi.parts import (
    HEADERS,
    IDEMPOTENCY_KEY,
    RATE_HEADERS,
    Json,
    Operation,
    always,
    headers,
)
from heliograph.api.openapi.reasons import (
    ALWAYS,
    ON_POST,
    WHEN_CHANGING,
    WITH_BODY,
    WITH_PATH_ID,
    of_status,
)
from heliograph.base.json import encode
from heliograph.requests import Endpoint

VERSION: Final = "1.0.0"  # docs/api.md, "Versions"
BASE_PATH: Final = "/api/v1"
TAGS: Final = {
    messages.TAG: "Send SMS, and follow each message until it is delivered.",
    opt_outs.TAG: "Keep who wants no texts of yours, or none of one sender.",
    inbound.TAG: "Read the texts that handsets have sent to your numbers.",
    keywords.TAG: "Choose what your numbers do when a handset sends a word to them.",
    otp.TAG: "Send a code to a phone, and verify it.",
    wallet.TAG: "Read the balance, the SMS credits, and every change of them.",
    campaigns.TAG: (
        "Read campaigns and their statistics. The operator makes campaigns, with `heliograph"
        " campaign create`."
    ),
    senders.TAG: "Register the names and numbers that your messages come from.",
    contacts.TAG: "Keep the people whom you send to, with tags, custom fields and opt-outs.",
    connect.TAG: "Provision customers of your own, and act for them.",
    webhooks.TAG: webhooks.TAG_DESCRIPTION,
    plugin.TAG: (
        "Endpoints for a shop's plugin: it links a site, shows the account's status, and stores its"
        " log."
    ),
}
SUCCESS: Final = always(True, "True for every success.")
_ROOMS: Final = (
    wallet,
    messages,
    opt_outs,
    inbound,
    keywords,
    otp,
    campaigns,
    senders,
    contacts,
    connect,
    plugin,
)
OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    place: operation for room in _ROOMS for place, operation in room.OPERATIONS.items()
}


class UndescribedEndpoint(LookupError):
    """An endpoint has no description; write it in the module of its room here."""


def openapi_document(endpoints: Iterable[Endpoint], base_url: str = "") -> bytes:
    """Returns the description as JSON. `base_url` is the public address, if it is known. Raises
    UndescribedEndpoint.
    """
    return encode(describe(endpoints, base_url))


def describe(endpoints: Iterable[Endpoint], base_url: str = "") -> Json:
    """Returns the description of exactly these endpoints. Raises UndescribedEndpoint."""
    paths: dict[str, Json] = {}
    table = list(endpoints)
    for endpoint in table:
        operation = OPERATIONS.get((endpoint.method, endpoint.path))
        if operation is None:
            raise UndescribedEndpoint(f"{endpoint.method} {endpoint.path}")
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(
            endpoint, operation
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Heliograph API",
            "version": VERSION,
            "summary": (
                "Bulk SMS, one-time passwords, contacts and campaigns, paid from prepaid credits."
            ),
            "description": guide(table, base_url or EXAMPLE_BASE_URL),
        },
        "servers": [{"url": f"{base_url}{BASE_PATH}"}],
        "security": [{"apiKey": []}],
        "tags": [{"name": name, "description": description} for name, description in TAGS.items()],
        "paths": paths,
        "webhooks": webhooks.WEBHOOKS,
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key: `sk_live_…`, or `sk_test_…` for the sandbox.",
                }
            },
            "schemas": {
                name: schema
                for part in (errors, *_ROOMS, webhooks)
                for name, schema in part.SCHEMAS.items()
            },
            "headers": HEADERS,
            "responses": shared_failures(),
        },
    }


def _operation(endpoint: Endpoint, operation: Operation) -> Json:
    described: Json = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": _name(endpoint.method, endpoint.path),
        "description": (
            f"{operation.description}\n\nRequires the permission `{endpoint.permission}`."
        ),
        "x-permission": endpoint.permission,
        "parameters": [
            *operation.parameters,
            *([IDEMPOTENCY_KEY] if endpoint.method == "POST" else []),
        ],
        "responses": {
            "200": _success(endpoint, operation),
            **{
                str(status): failure(status, found)
                for status, found in of_status(_reasons(endpoint, operation)).items()
            },
        },
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {
                "application/json": {"schema": operation.body, "example": operation.body_example}
            },
        }
    return described


def _name(method: str, path: str) -> str:
    return method.lower() + path.translate(str.maketrans("/-", "__", "{}"))


def _links(operation: Operation) -> Json:
    found = {
        link.name: {
            "operationId": _name(*link.to),
            "parameters": {link.parameter: f"$response.body#{link.place}"},
        }
        for link in operation.links
    }
    return {"links": found} if found else {}


def _reasons(endpoint: Endpoint, operation: Operation) -> tuple[str, ...]:
    return (
        *ALWAYS,
        *(WITH_BODY if endpoint.takes_body else ()),
        *(WHEN_CHANGING if endpoint.method != "GET" else ()),
        *(ON_POST if endpoint.method == "POST" else ()),
        *(WITH_PATH_ID if "{id}" in endpoint.path else ()),
        *operation.reasons,
    )


def _success(endpoint: Endpoint, operation: Operation) -> Json:
    replayed = ("Idempotent-Replayed",) if endpoint.method == "POST" else ()
    answer = operation.answer
    schema = {
        **answer,
        "required": ["success", *answer["required"]],
        "properties": {"success": SUCCESS, **answer["properties"]},
    }
    return {
        "description": "Done.",
        "headers": headers("X-Request-Id", *RATE_HEADERS, *replayed),
        **_links(operation),
        "content": {
            "application/json": {
                "schema": schema,
                "example": {"success": True, **operation.example},
            }
        },
    }
