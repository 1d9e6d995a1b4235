"""Over all endpoints that take a body, some things must hold of it before its form is read."""

import gzip
import json
from typing import Any

from tests.support.api.cast import Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.requests_of import (
    MIB,
    NOT_JSON,
    bearer,
    is_answered,
    posts,
    sent,
)
from tests.support.api.service import Service

pytestmark = ON_SQLITE

POSTS = posts()


def test_a_body_over_one_mebibyte_is_refused_after_the_permission_and_before_its_form(
    api: Service, amina: Actor
) -> None:
    large = NOT_JSON + b" " * (MIB - len(NOT_JSON) + 1)

    async def in_pieces() -> Any:
        for start in range(0, len(large), 100_000):
            yield large[start : start + 100_000]

    for example in POSTS:
        headers = [bearer(amina.key())]
        for content in (large, in_pieces()):
            reply = sent(api, example, headers, content)
            assert (reply.status, reply.code, reply.reason) == (
                413,
                "PAYLOAD_TOO_LARGE",
                "payload_too_large",
            ), str(example)
        assert sent(api, example, headers, large[:-1]).reason == "invalid_json"
        assert sent(api, example, [bearer(amina.key("contacts.read"))], large).status == 403


def test_only_json_is_read(api: Service, amina: Actor) -> None:
    for example in POSTS:
        for content_type in (
            "text/plain",
            "application/xml",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "json",
        ):
            reply = api.request(
                example.endpoint.method,
                amina,
                example.path,
                headers={"Content-Type": content_type},
                **example.sends,
            )
            assert (reply.status, reply.reason) == (400, "invalid_json"), (
                str(example),
                content_type,
            )
        for content_type in ("application/json; charset=utf-8", "Application/JSON"):
            assert is_answered(api, amina, example, headers={"Content-Type": content_type}), (
                str(example),
                content_type,
            )


def test_a_compressed_body_is_told_as_one(api: Service, amina: Actor) -> None:
    for example in POSTS:
        content = gzip.compress(json.dumps(example.body).encode())
        for headers in ({"Content-Encoding": "gzip"}, {}):
            reply = api.request(
                example.endpoint.method, amina, example.path, content=content, headers=headers
            )
            assert (reply.status, reply.reason) == (400, "invalid_json"), str(example)
            assert "compressed" in reply.error["message"]
            assert "gzip" in reply.error["message"]
        assert is_answered(api, amina, example, headers={"Content-Encoding": "identity"}), str(
            example
        )


def test_an_empty_body_is_told_as_one(api: Service, amina: Actor) -> None:
    for example in POSTS:
        reply = api.request(example.endpoint.method, amina, example.path, content=b"")
        assert (reply.status, reply.reason, reply.error["message"]) == (
            400,
            "invalid_json",
            "The body is empty; send a JSON object.",
        ), str(example)
