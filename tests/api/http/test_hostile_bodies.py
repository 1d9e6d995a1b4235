"""What is not JSON, or no request, but looks like it, is a 400 on every POST, and never a 500
(docs/api.md, "Bodies").
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.base.json import PARTS_MAX
from tests.support.api.cast import Actor
from tests.support.api.databases import ON_POSTGRESQL
from tests.support.api.requests_of import own_path, posts
from tests.support.api.service import Service

POSTS = posts()
pytestmark = ON_POSTGRESQL

HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "blank": b" \n",
    "cut short": b'{"a": ',
    "two documents": b"{} {}",
    "trailing comma": b'{"a": 1,}',
    "single quotes": b"{'a': 1}",
    "comment": b'{"a": 1} // x',
    "invalid UTF-8": b'{"a": "\xff"}',
    "overlong UTF-8": b'{"a": "\xc0\xaf"}',
    "UTF-8 surrogate": b'{"a": "\xed\xa0\x80"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "float out of range": b'{"a": 1e999}',
    "integer out of range": b'{"a": ' + b"9" * 5_000 + b"}",
    "leading zero": b'{"a": 01}',
    "hexadecimal": b'{"a": 0x1}',
    "escaped NUL": b'{"a": "\\u0000"}',
    "NUL": b'{"a": "\x00"}',
    "NUL in a name": b'{"\\u0000": 1}',
    "control character": b'{"a": "\x01"}',
    "lone high surrogate": b'{"a": "\\ud800"}',
    "lone low surrogate": b'{"a": ["\\udc00"]}',
    "lone surrogate in a name": b'{"\\ud800": 1}',
    "bad escape": b'{"a": "\\x41"}',
    "deep array": b'{"a": ' + b"[" * 65 + b"]" * 65 + b"}",
    "deep object": b'{"a":' * 65 + b"1" + b"}" * 65,
    "very deep": b'{"a": ' + b"[" * 500_000,
    "deep and matched": b'{"a": ' + b"[" * 9_000 + b"]" * 9_000 + b"}",
    "more parts than there may be": b'{"a": [' + b"1," * 20_000 + b"1]}",
    "duplicate key": b'{"a": 1, "a": 1}',
    "duplicate key below": b'{"a": [{"b": 1, "b": 2}]}',
    "duplicate key, escaped": b'{"a": 1, "\\u0061": 1}',
    "array": b"[]",
    "string": b'"a"',
    "number": b"1",
    "null": b"null",
    "true": b"true",
}


@pytest.mark.parametrize("post", POSTS, ids=str)
def test_what_is_no_json_object_is_refused(api: Service, amina: Actor, post: Any) -> None:
    for name, body in HOSTILE.items():
        reply = api.request(post.endpoint.method, amina, post.path, content=body)
        assert (reply.status, reply.code, reply.reason) == (
            400,
            "INVALID_REQUEST",
            "invalid_json",
        ), name


@pytest.mark.parametrize("post", POSTS, ids=str)
def test_hostile_values_in_a_right_body_are_refused(api: Service, amina: Actor, post: Any) -> None:
    tester = amina.key(sandbox=True)  # a code can be right there, whenever it is given
    path = own_path(api, tester, post)
    whole = json.dumps({**post.body, "surprise": "VALUE"})
    for value in (
        "NaN",
        '"\\u0000"',
        '"\\ud800"',
        "1e999",
        "9" * 20,
        "[" * 64 + "]" * 64,
        '{"x": 1, "x": 1}',
    ):
        reply = api.request(
            post.endpoint.method, tester, path, content=whole.replace('"VALUE"', value).encode()
        )
        assert (reply.status, reply.reason) == (400, "invalid_json"), value
    nested = "[" * 63 + "]" * 63
    assert (
        api.request(
            post.endpoint.method, tester, path, content=whole.replace('"VALUE"', nested).encode()
        ).status
        == 200
    )


@pytest.mark.parametrize("post", POSTS, ids=str)
def test_unknown_fields_are_ignored_and_named(api: Service, amina: Actor, post: Any) -> None:
    tester = amina.key(sandbox=True)  # a code can be right there, whenever it is given
    path = own_path(api, tester, post)
    forged = {
        "surprise": {"deep": [1]},
        "__proto__": 1,
        "id": "x",
        "status": "approved",
        "account_id": "acc_1",
    }
    reply = api.request(post.endpoint.method, tester, path, json={**post.body, **forged})
    assert reply.status == 200
    assert [warning.split("'")[1] for warning in reply.body["warnings"]] == sorted(forged)
    assert "warnings" not in api.request(post.endpoint.method, tester, path, json=post.body).body


@pytest.mark.parametrize("post", POSTS, ids=str)
def test_a_thousand_bad_fields_make_a_short_answer(api: Service, amina: Actor, post: Any) -> None:
    tester = amina.key(sandbox=True)  # a code can be right there, whenever it is given
    path = own_path(api, tester, post)
    reply = api.request(
        post.endpoint.method,
        tester,
        path,
        json={**post.body, **{f"field {k} {'x' * 500}": k for k in range(1_000)}},
    )
    assert reply.status == 200
    assert len(reply.response.content) < 20_000
    reply = api.request(
        post.endpoint.method,
        tester,
        path,
        json={name: [None] * (PARTS_MAX // len(post.body) - 1) for name in post.body},
    )
    assert reply.status == 400
    assert 0 < len(reply.error["fields"]) <= 100
    assert len(reply.response.content) < 20_000


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=40)
    | st.sampled_from(["233201234567", "AMINA", "GH"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("post", POSTS, ids=str)
def test_any_values_in_the_known_fields_are_answered_as_described(
    api: Service, amina: Actor, post: Any
) -> None:
    names = api.contract.fields_of(post.endpoint)

    @settings(max_examples=30)
    @given(st.tuples(*[ANYTHING] * len(names)))  # one for each field: none is made for nothing
    @example(["\ud800"] * len(names))
    @example(["x" * 50_000] * len(names))
    def answered(values: Sequence[Any]) -> None:
        body = json.dumps(dict(zip(names, values, strict=True)))
        assert api.request(
            post.endpoint.method, amina, post.path, content=body.encode()
        ).status in (
            200,
            400,
            402,
            404,
        )

    answered()
