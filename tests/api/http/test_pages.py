"""Some pages stand outside of the API: /healthz, /readyz, /metrics and the description. Every other
path is refused.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from tests.support.api.databases import ON_SQLITE
from tests.support.api.service import Reply, Service

pytestmark = ON_SQLITE

PAGES = {
    "/healthz": "text/plain; charset=utf-8",
    "/readyz": "text/plain; charset=utf-8",
    "/metrics": "text/plain; version=",
    "/docs": "text/html; charset=utf-8",
    "/api/v1/openapi.json": "application/json",
}
NOWHERE = [
    "/",
    "/nothing",
    "/healthz/",
    "/HEALTHZ",
    "/docs/x",
    "/api",
    "/api/v2/balance",
    "/api/v1x",
    "//healthz",
    "/%00",
    "/" + "x" * 5_000,
]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]


def asked(
    api: Service, method: str, path: str, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    response = api.run(
        api.client.request(method, path, headers={"Host": "localhost", **(headers or {})})
    )
    assert response.headers["x-request-id"].startswith("req_"), (method, path)
    return response


def is_refused(api: Service, response: httpx.Response, name: str) -> bool:
    """Returns whether the answer has the one shape of failures."""
    assert response.json()["request_id"] == response.headers["x-request-id"]
    return api.contract.is_failure(name, response)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_read_and_nothing_else(api: Service, path: str) -> None:
    for method in METHODS:
        response = asked(api, method, path)
        if method in ("GET", "HEAD"):
            assert response.status_code == 200
            assert response.headers["content-type"].startswith(PAGES[path])
            assert (int(response.headers["content-length"]) > 0, response.content == b"") == (
                True,
                method == "HEAD",
            )
        else:
            assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")
            assert is_refused(api, response, "MethodNotAllowed")


@pytest.mark.judged_in_python
@pytest.mark.parametrize("path", NOWHERE)
def test_at_any_other_path_there_is_nothing(api: Service, path: str) -> None:
    for method in METHODS:
        response = asked(api, method, path)
        assert response.status_code == 404
        assert (
            response.content == b"" if method == "HEAD" else is_refused(api, response, "NoSuchPath")
        )


def test_the_apis_own_path_takes_a_key_like_all_below_it(api: Service) -> None:
    for path in ("/api/v1", "/api/v1/"):
        assert Reply(asked(api, "GET", path)).reason == "missing_key"
        assert (
            Reply(asked(api, "GET", path, {"Authorization": f"Bearer {api.amina.key()}"})).reason
            == "no_such_path"
        )


def test_a_database_without_this_versions_schema_is_not_ready(api: Service) -> None:
    with api.db.write() as tx:
        tx.execute(sa.text("UPDATE alembic_version SET version_num = '0' || version_num"))
    try:
        response = asked(api, "GET", "/readyz")
    finally:
        with api.db.write() as tx:
            tx.execute(sa.text("UPDATE alembic_version SET version_num = substr(version_num, 2)"))
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert "heliograph migrate" in response.json()["message"]
    assert is_refused(api, response, "Unavailable")


@pytest.mark.parametrize(
    ("token", "peer", "headers", "status"),
    [
        (None, "127.0.0.1", {}, 200),
        (None, "::1", {}, 200),
        (None, "192.0.2.1", {}, 403),
        (None, "127.0.0.1", {"X-Forwarded-For": "192.0.2.1"}, 403),
        ("t0ken", "192.0.2.1", {"Authorization": "Bearer t0ken"}, 200),
        ("t0ken", "127.0.0.1", {}, 403),
        ("t0ken", "127.0.0.1", {"Authorization": "Bearer t0ke"}, 403),
    ],
)
def test_metrics_are_for_the_tokens_holder_or_for_this_machine(
    api: Service, token: str | None, peer: str, headers: dict[str, str], status: int
) -> None:
    api.app._settings = replace(api.app._settings, metrics_token=token)

    async def read() -> Any:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(api.app, client=(peer, 5)),
            base_url="http://localhost:8080",
        ) as client:
            return await client.get("/metrics", headers=headers)

    response = api.run(read())
    assert response.status_code == status
    assert status == 200 or is_refused(api, response, "Forbidden")


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8080", 200),
        ("localhost", 200),
        ("LocalHost:8080", 200),
        ("[::1]:8080", 200),
        ("127.1.2.3", 200),
        ("rebound.example:8080", 403),
        ("localhost.example", 403),
        ("127.0.0.1.example", 403),
        ("192.0.2.1", 403),
        ("", 403),
        ("[::1", 403),
        ("127.0.0.1, x", 403),
    ],
)
def test_without_a_token_metrics_are_asked_for_by_a_name_of_this_machine(
    api: Service, host: str, status: int
) -> None:
    assert asked(api, "GET", "/metrics", {"Host": host}).status_code == status


def test_a_page_has_one_spelling(api: Service) -> None:
    for path in (
        "/%6detrics",
        "/metrics%20",
        "//metrics",
        "/healthz/",
        "/%68ealthz",
        "/api/v1/openapi%2ejson",
    ):
        assert asked(api, "GET", path, {"Host": "127.0.0.1"}).status_code in (401, 404), path
    assert asked(api, "GET", "/metrics?x=%6d", {"Host": "127.0.0.1"}).status_code == 200
