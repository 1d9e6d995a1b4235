"""HEAD is answered wherever GET is, in the same way and without a body (RFC 9110, 9.3.2)."""

from typing import Any

import httpx

from heliograph.base import clock
from tests.support.api.cast import Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.requests_of import examples, own_path
from tests.support.api.service import Service

pytestmark = ON_SQLITE

READS = [example for example in examples() if example.endpoint.method == "GET"]
EACH_ITS_OWN = ("x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset")


def asked(api: Service, method: str, key: str, path: str, **more: Any) -> httpx.Response:
    response = api.run(
        api.client.request(
            method, f"/api/v1{path}", headers={"Authorization": f"Bearer {key}"}, **more
        )
    )
    api.contract.check(method, response)
    return response


def heads(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in EACH_ITS_OWN}


def test_each_read_is_answered_with_the_same_head_and_no_body(api: Service, amina: Actor) -> None:
    key = amina.key()
    for example in READS:
        path = own_path(api, key, example)
        get, head = (asked(api, method, key, path) for method in ("GET", "HEAD"))
        assert (get.status_code, head.status_code) == (200, 200), str(example)
        assert heads(head) == heads(get)
        assert int(head.headers["content-length"]) == len(get.content) > 0
        assert head.content == b""


def test_it_takes_the_same_key_permission_and_form(api: Service, amina: Actor) -> None:
    for example in READS:
        for key, path, status in (
            (amina.key()[:-1], example.path, 401),
            (amina.key("contacts.write"), example.path, 403),
            (amina.key(), f"{example.path}?surprise=1", 400),
        ):
            get, head = (asked(api, method, key, path) for method in ("GET", "HEAD"))
            assert (get.status_code, head.status_code, head.content) == (status, status, b""), str(
                example
            )
            assert heads(head).keys() == heads(get).keys()


def test_it_counts_against_the_rate(api: Service, amina: Actor) -> None:
    api.move_clock(60_000 - clock.now_ms() % 60_000)
    key = amina.key(tier="free")
    left = [asked(api, "HEAD", key, "/balance").headers["x-ratelimit-remaining"] for _ in range(10)]
    assert left == [str(count) for count in range(9, -1, -1)]
    refused = asked(api, "HEAD", key, "/balance")
    assert (refused.status_code, refused.content) == (429, b"")
    assert int(refused.headers["retry-after"]) > 0
