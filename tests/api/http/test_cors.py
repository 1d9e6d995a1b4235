"""Scripts of some origins may call the API from web pages, and their browsers are told so."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from heliograph.base import clock
from tests.support import plain_http
from tests.support.api.cast import PHONE
from tests.support.api.requests_of import examples
from tests.support.api.server import serving
from tests.support.api.service import Service, service_on

SHOP, OTHER = "https://shop.example", "http://localhost:5173"
STRANGERS = [
    "https://evil.example",
    "https://shop.example.evil.example",
    "http://shop.example",
    "https://shop.example:8443",
    "null",
    "*",
    "",
    "https://SHOP.example",
    f"{SHOP}/",
    f"{SHOP}, {OTHER}",
]
EXPOSED = (
    "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After,"
    " Idempotent-Replayed"
)


@pytest.fixture
def open_api(sqlite_url: str, tmp_path: Path) -> Iterator[Service]:
    with service_on(sqlite_url, tmp_path, cors_origins=(SHOP, OTHER)) as service:
        yield service


def asked(
    api: Service, method: str, path: str, headers: dict[str, str] | None = None, **more: object
) -> httpx.Response:
    sent = api.client.request(method, path, headers=headers, **more)  # type: ignore[arg-type]
    return api.run(sent)


def cors_of(response: httpx.Response) -> dict[str, str]:
    return {
        name: value
        for name, value in response.headers.items()
        if name.startswith("access-control-") or name == "vary"
    }


def preflight(origin: str, method: str = "POST") -> dict[str, str]:
    return {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization,content-type",
    }


def test_without_the_setting_no_origin_is_answered(api: Service) -> None:
    response = asked(api, "OPTIONS", "/api/v1/sms/send", preflight(SHOP))
    assert (response.status_code, cors_of(response)) == (401, {})
    response = asked(
        api,
        "GET",
        "/api/v1/balance",
        {"Origin": SHOP, "Authorization": f"Bearer {api.amina.key()}"},
    )
    assert (response.status_code, cors_of(response)) == (200, {})


@pytest.mark.parametrize("origin", [SHOP, OTHER])
def test_a_preflight_of_an_allowed_origin_names_what_the_api_reads(
    open_api: Service, origin: str
) -> None:
    for example in examples():
        response = asked(
            open_api,
            "OPTIONS",
            f"/api/v1{example.path}",
            preflight(origin, example.endpoint.method),
        )
        assert (response.status_code, response.content) == (204, b"")
        assert cors_of(response) == {
            "vary": "Origin",
            "access-control-allow-origin": origin,
            "access-control-expose-headers": EXPOSED,
            "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
            "access-control-max-age": "600",
            "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key",
        }
        assert example.endpoint.method in response.headers["access-control-allow-methods"]


@pytest.mark.parametrize("origin", STRANGERS)
def test_another_origin_is_told_nothing_that_a_browser_would_let_through(
    open_api: Service, origin: str
) -> None:
    response = asked(open_api, "OPTIONS", "/api/v1/sms/send", preflight(origin))
    assert (response.status_code, cors_of(response)) == (401, {"vary": "Origin"})
    response = asked(
        open_api,
        "GET",
        "/api/v1/balance",
        {"Origin": origin, "Authorization": f"Bearer {open_api.amina.key()}"},
    )
    assert (response.status_code, cors_of(response)) == (200, {"vary": "Origin"})


def test_two_origins_are_none(open_api: Service) -> None:
    response = open_api.run(
        open_api.client.get("/api/v1/balance", headers=[("Origin", SHOP), ("Origin", SHOP)])
    )
    assert cors_of(response) == {"vary": "Origin"}


def test_every_answer_can_be_read_by_the_script_that_asked(open_api: Service) -> None:
    open_api.move_clock(60_000 - clock.now_ms() % 60_000)
    key, slow = open_api.amina.key(), open_api.amina.key(tier="free")
    for _ in range(10):
        asked(open_api, "GET", "/api/v1/balance", {"Authorization": f"Bearer {slow}"})
    requests = [
        (200, "GET", "/balance", key),
        (200, "HEAD", "/balance", key),
        (401, "GET", "/balance", None),
        (429, "GET", "/balance", slow),
        (404, "GET", "/nothing", key),
        (405, "PATCH", "/balance", key),
        (405, "OPTIONS", "/balance", key),
        (403, "POST", "/sms/send", open_api.amina.key("sms.read")),
        (400, "POST", "/sms/send", key),
        (200, "GET", "/openapi.json", None),
    ]
    for status, method, path, who in requests:
        headers = {"Origin": SHOP, **({"Authorization": f"Bearer {who}"} if who else {})}
        response = asked(open_api, method, f"/api/v1{path}", headers)
        assert response.status_code == status, path
        assert cors_of(response) == {
            "vary": "Origin",
            "access-control-allow-origin": SHOP,
            "access-control-expose-headers": EXPOSED,
        }, path


def test_what_is_no_part_of_the_api_is_for_no_script(open_api: Service) -> None:
    for path in ("/docs", "/healthz", "/readyz", "/metrics", "/nothing"):
        assert cors_of(asked(open_api, "GET", path, {"Origin": SHOP, "Host": "localhost"})) == {}
        assert asked(open_api, "OPTIONS", path, preflight(SHOP)).status_code in (404, 405)


def test_a_server_whose_environment_names_an_origin_lets_its_page_send(
    postgresql_url: str, tmp_path: Path
) -> None:
    with (
        serving(postgresql_url, tmp_path, HELIOGRAPH_CORS_ORIGINS=f"{SHOP},{OTHER}") as server,
        plain_http.new_client(base_url=server.url) as client,
    ):
        key = server.cast.amina.key()
        first = client.options("/api/v1/sms/send", headers=preflight(SHOP))
        assert (first.status_code, first.headers["access-control-allow-origin"]) == (204, SHOP)
        assert not {"content-length", "transfer-encoding"} & set(first.headers)
        # on the same connection: the answers before this one have ended where they should
        for _ in range(2):
            sent = client.post(
                "/api/v1/sms/send",
                headers={
                    "Origin": SHOP,
                    "Authorization": f"Bearer {key}",
                    "Idempotency-Key": "one",
                },
                json={"sender": "AMINA", "message": "hello", "recipients": [PHONE]},
            )
            assert (sent.status_code, sent.headers["access-control-allow-origin"]) == (200, SHOP)
            head = client.head(
                "/api/v1/balance", headers={"Origin": SHOP, "Authorization": f"Bearer {key}"}
            )
            assert (
                head.status_code,
                head.headers["access-control-allow-origin"],
                head.content,
            ) == (200, SHOP, b"")
        assert sent.headers["idempotent-replayed"] == "true"
