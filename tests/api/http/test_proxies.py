"""A client's address behind proxies is believed only of the operator's own, and a forged
X-Forwarded-For leads nowhere.
"""

from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from heliograph.api.client_address import Proxies
from tests.support.api.service import Service

PROXIES = ("127.0.0.1", "::1", "10.0.0.0/8")
OUTSIDE = "203.0.113.9"


def scope(peer: str, forwarded: str | None) -> dict[str, Any]:
    return {
        "client": (peer, 5),
        "headers": [
            (b"x-forwarded-for", part.encode())
            for part in (forwarded or "").split("|")
            if forwarded is not None
        ],
    }


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        (OUTSIDE, None, OUTSIDE),
        (OUTSIDE, "127.0.0.1", OUTSIDE),  # forged by the client itself: it is no proxy
        ("127.0.0.1", OUTSIDE, OUTSIDE),
        # forged, and the proxy put the true one behind it
        ("127.0.0.1", f"127.0.0.1, {OUTSIDE}", OUTSIDE),
        # through two proxies, over two headers
        ("127.0.0.1", f"127.0.0.1|192.0.2.7,{OUTSIDE} , 10.1.2.3", OUTSIDE),
        ("::ffff:127.0.0.1", f"{OUTSIDE}:4711", OUTSIDE),
        ("::1", "[2001:db8::9]:4711", "2001:db8::9"),
        ("127.0.0.1", None, None),
        ("127.0.0.1", "unknown", None),
        # what a proxy of ours wrote last is not clear: what stands before it proves nothing
        ("127.0.0.1", f"{OUTSIDE}, nonsense", None),
        ("127.0.0.1", "10.1.2.3", None),
    ],
)
def test_the_client_is_the_last_that_is_no_proxy_of_ours(
    peer: str, forwarded: str | None, client: str | None
) -> None:
    found = Proxies(PROXIES).client_of(scope(peer, forwarded))
    assert (found and str(found)) == client


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "status"),
    [
        ((), "127.0.0.1", None, 200),
        ((), "127.0.0.1", "127.0.0.1", 403),  # a proxy that nobody has named
        ((), OUTSIDE, "127.0.0.1", 403),
        (PROXIES, "127.0.0.1", None, 403),  # the proxy does not say for whom
        (PROXIES, "127.0.0.1", OUTSIDE, 403),
        (PROXIES, "127.0.0.1", f"127.0.0.1, {OUTSIDE}", 403),
        (PROXIES, OUTSIDE, "127.0.0.1", 403),
        (("10.0.0.0/8",), "127.0.0.1", None, 200),
        (("10.0.0.0/8",), "10.1.2.3", "127.0.0.1", 200),
    ],
)
def test_without_a_token_metrics_are_for_clients_on_this_machine(
    api: Service, proxies: tuple[str, ...], peer: str, forwarded: str | None, status: int
) -> None:
    api.app.proxies = Proxies(proxies)
    assert _get(api, peer, "/metrics", forwarded).status_code == status


def test_the_log_has_the_client(api: Service) -> None:
    api.app.api.client_of, api.app.api.logs_requests = Proxies(PROXIES).client_of, True
    with capture_logs() as logs:
        _get(api, "127.0.0.1", "/api/v1/balance", f"127.0.0.1, {OUTSIDE}")
        _get(api, "192.0.2.1", "/api/v1/balance", OUTSIDE)
    assert [line["client"] for line in logs if line["event"] == "request"] == [OUTSIDE, "192.0.2.1"]


def _get(api: Service, peer: str, path: str, forwarded: str | None) -> httpx.Response:
    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(api.app, client=(peer, 5))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8080"
        ) as client:
            return await client.get(
                path, headers={} if forwarded is None else {"X-Forwarded-For": forwarded}
            )

    return api.run(get())
