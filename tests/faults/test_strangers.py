"""Strangers come to the port, before any key: what they send is no header, takes no memory, and
keeps nobody out (docs/reliability.md, rows 29 to 31).
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support import plain_http
from tests.support.api.strangers import (
    CHUNKED,
    FLOODS,
    GET,
    POST,
    asked,
    flood,
    idle,
    still_open,
)
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long
from tests.support.memory import peak_mb

BODY = b'{"sender": "AMINA", "message": "hello", "recipients": ["233201234567"]}'
FLOOD_OCTETS = 100_000_000
GROWTH_MAX_MB = 32.0  # of twelve floods at once; 100 MB of headers that were kept would be 1,300
FILES = 1_024
CROWD = 1_300
SLOWEST_MAX_S = 5.0  # on a machine that others use too


def balances(deployment: Deployment, until_s: float) -> list[float]:
    """Returns how long each of another client's requests took, all of which were answered."""
    took = []
    with plain_http.new_client(
        base_url=deployment.api.address, headers=deployment.clients.headers, timeout=30
    ) as client:
        while time.monotonic() < until_s:
            answer = client.get("/api/v1/balance")
            assert answer.status_code == 200, answer.text
            took.append(answer.elapsed.total_seconds())
    return sorted(took)


@pytest.mark.fault(29)
def test_trailers_say_nothing_of_who_asks(deployment: Deployment) -> None:
    tries = int(quick_or_long(20, 500))
    deployment.carrier()
    deployment.start()
    key = deployment.clients.headers["Authorization"].encode()
    with deployment.clients.sending(per_second=20):
        statuses = {
            asked(
                deployment.api.address,
                CHUNKED
                + b"\r\n%x\r\n%b\r\n0\r\nAuthorization: %b\r\n\r\n" % (len(BODY), BODY, key),
                ends=False,
            ).status
            for _ in range(tries)
        }
        read = [
            asked(
                deployment.api.address,
                b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For:"
                b" 203.0.113.9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Forwarded-For:"
                b" 127.0.0.1\r\n\r\n" % path,
                ends=False,
            ).status
            for path in (b"/metrics", b"/%6detrics")
            for _ in range(tries)
        ]
        # strangers may be done before a client has had its first answer
        deployment.clients.wait_for(5)
    assert statuses == {401}
    assert set(read) == {403, 404}
    deployment.holds(
        how=(
            f"{tries} sends whose only key stood in a trailer: each 401; {2 * tries} tries at"
            " `/metrics` and `/%6detrics` with `X-Forwarded-For` in a trailer: none read it;"
            " beside them a client sent as always"
        )
    )


@pytest.mark.fault(30)
def test_what_never_ends_takes_no_memory_and_nobodys_time(deployment: Deployment) -> None:
    octets, rounds = int(quick_or_long(FLOOD_OCTETS // 4, FLOOD_OCTETS)), int(quick_or_long(1, 3))
    deployment.carrier()
    deployment.start()
    key = deployment.clients.headers["Authorization"].removeprefix("Bearer ")
    deployment.clients.send(5)
    before_mb, sent = peak_mb(deployment.api.process.pid), 0
    with deployment.clients.sending(per_second=20), ThreadPoolExecutor(len(FLOODS)) as threads:
        for _ in range(rounds):
            flooding = [
                threads.submit(flood, deployment.api.address, kind, octets, 3.0, key)
                for kind in FLOODS
            ]
            took = balances(deployment, time.monotonic() + 3.0)
            sent += sum(each.result().octets for each in flooding)
    grown_mb = peak_mb(deployment.api.process.pid) - before_mb
    assert grown_mb < GROWTH_MAX_MB
    assert took[-1] < SLOWEST_MAX_S
    deployment.holds(
        how=(
            f"{len(FLOODS)} kinds at once, {sent / 1e6:,.0f} MB in all: refused, the process grew"
            f" by {grown_mb:.1f} MB at its peak; of {len(took)} requests of another the slowest"
            f" took {took[-1]:.2f} s"
        )
    )


@pytest.mark.fault(31)
def test_a_crowd_that_asks_nothing_keeps_nobody_out(deployment: Deployment) -> None:
    deployment.carrier()
    for command in (("serve",),) if deployment.kind == "sqlite" else (("api",), ("worker",)):
        deployment.run(*command, files=FILES)
    deployment.api.wait_until_ready()
    asked_for_s = quick_or_long(2.0, 75.0)  # longer than any connection may be idle
    with idle(deployment.api.address, CROWD) as crowd, deployment.clients.sending(per_second=20):
        took = balances(deployment, time.monotonic() + asked_for_s)
        elsewhere = [
            asked(deployment.api.address, head + b"\r\n", ends=False, source="127.0.0.2").status
            for head in (GET, POST)
        ]
        left = still_open(crowd)
    assert elsewhere == [401, 401]
    assert took[-1] < SLOWEST_MAX_S
    assert left <= FILES // 8
    assert deployment.api.log.count('"connections_limited"') >= 1
    deployment.holds(
        how=(
            f"{CROWD:,} idle connections of one address at `ulimit -n {FILES:,}`, of which {left}"
            f" were left after {asked_for_s:.0f} s: {len(took)} requests of others from the same"
            f" address all answered, the slowest in {took[-1]:.2f} s"
        )
    )
