"""The standby that must confirm each commit is lost, and comes back, is given up, or becomes the
primary (docs/reliability.md, row 39).
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import httpx
import psycopg
import pytest

from heliograph.database import migrate
from tests.support import plain_http
from tests.support.faults.deployment import ALONE, PARTS, Deployment
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.faults.proxy import Proxy
from tests.support.faults.receivers import OPEN, Hearing, all_told, events_stored, hearing
from tests.support.services.standby import NAME, Pair

ANSWER_WITHIN_S = 2.0
MORE_ON_A_BUSY_MACHINE_S = quick_or_long(0.5, 0.0)
NOTICED_WITHIN_S = 5.0
BACK_WITHIN_S = 10.0
# past 12 s statements are given up, past 20 s a process begins anew
LOST_FOR_S = (2.0, 5.0, 13.0, 25.0)
HANGS_FOR_S = 15.0  # past every limit that might cancel what hangs
WINDOW = 10
CANCELLED = "canceling wait for synchronous replication"  # of the log of PostgreSQL
NewDeployment = Callable[..., Deployment]


class Asked(NamedTuple):
    """Tells of one request that is answered in a thread of the API."""

    what: str
    status: int
    took_s: float


@dataclass
class Loss:
    """Tells of one loss of the standby: the slowest answer, until when 20 were accepted again, and
    when /readyz noticed it.
    """

    number: int
    slowest_s: float
    recovered_s: float
    noticed_s: float
    in_threads: list[Asked]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with Pair() as made:
        migrate.upgrade(made.url)
        yield made


def ready(deployment: Deployment) -> int:
    return plain_http.get(f"{deployment.api.address}/readyz", timeout=30).status_code


def asked(deployment: Deployment, number: int) -> list[Asked]:
    """Asks for a change that waits in a thread for its commit, and for something that is
    only read.
    """

    def timed(what: str, answer: Callable[[], httpx.Response]) -> Asked:
        began_s = time.monotonic()
        return Asked(what, answer().status_code, time.monotonic() - began_s)

    url, headers = f"{deployment.api.address}/api/v1", deployment.clients.headers
    contact = {"phone": f"+23320{number:07d}", "name": "Amina"}
    return [
        timed(
            "changed",
            lambda: plain_http.post(f"{url}/contacts", json=contact, headers=headers, timeout=30),
        ),
        timed("read", lambda: plain_http.get(f"{url}/balance", headers=headers, timeout=30)),
    ]


def ids_of_changes(heard: Hearing) -> dict[tuple[str, str], set[str]]:
    """Returns the ids of events under which each change of a message was told."""
    told: dict[tuple[str, str], set[str]] = defaultdict(set)
    for event in heard.events:
        told[event["data"]["id"], event["event"]].add(event["id"])
    return told


def assert_told_once(deployment: Deployment, heard: Hearing) -> None:
    deployment.settle()
    deployment.until(lambda: all_told(deployment, heard), "all is told")
    assert not [change for change, ids in ids_of_changes(heard).items() if len(ids) > 1], (
        "one change, two events"
    )
    assert (
        len(ids_of_changes(heard))
        == events_stored(deployment)
        == 2 * len(deployment.clients.accepted)
    )


@pytest.mark.fault(39)
def test_a_lost_standby_is_503_at_once_and_no_commit_is_cancelled(
    pair: Pair, new_deployment: NewDeployment
) -> None:
    """The standby is lost by SIGSTOP and by kill -9 in turns. It comes back, or commits are told
    not to wait for it any more, in turns.
    """
    deployment = new_deployment("postgresql", url=pair.url)
    deployment.env |= OPEN
    clients = deployment.clients
    deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    losses = [
        Loss(number, slowest_s=0, recovered_s=0, noticed_s=0, in_threads=[])
        for number in range(int(quick_or_long(1, 20)))
    ]
    with hearing(deployment) as heard:
        deployment.start(PARTS if LONG else ALONE)
        for loss in losses:
            _lose(deployment, pair, loss)
            if loss.number % 4 >= 2:  # it was given up
                _take_again(pair, loss.number)
        assert {reply.status for reply in clients.replies} <= {200, 503}
        in_threads = [one for loss in losses for one in loss.in_threads]
        assert {(one.what, one.status) for one in in_threads} <= {("changed", 503), ("read", 200)}
        slowest_s = max(*(loss.slowest_s for loss in losses), max(one.took_s for one in in_threads))
        assert slowest_s < ANSWER_WITHIN_S + MORE_ON_A_BUSY_MACHINE_S
        assert CANCELLED not in pair.primary.log
        assert_told_once(deployment, heard)
    assert all(server.process.poll() is None for server in deployment.servers)
    deployment.holds(
        recovered_s=max(loss.recovered_s for loss in losses),
        how=(
            f"{len(losses)} losses under load, the slowest answer after {slowest_s:.1f} s, /readyz"
            f" 503 after at most {max(loss.noticed_s for loss in losses):.1f} s; no commit"
            " cancelled,"
            f" {len(clients.accepted) * 2:,} changes told with one id each; from its return until"
            " 20 were accepted"
        ),
    )


def _lose(deployment: Deployment, pair: Pair, loss: Loss) -> None:
    """Loses the standby under load, and brings it back. Notes in `loss` what that did."""
    clients = deployment.clients
    with clients.sending(per_second=50, clients=8):
        clients.wait_for(20)
        lost = len(clients.replies)
        began_s = time.monotonic()
        (pair.standby.kill if loss.number % 2 else pair.standby.hang)()
        loss.noticed_s = deployment.until(
            lambda: ready(deployment) == 503, "/readyz says so", NOTICED_WITHIN_S
        )
        loss.in_threads += asked(deployment, 2 * loss.number)
        until_s = began_s + (LOST_FOR_S[loss.number % 4] if LONG else 3.0)
        while time.monotonic() < until_s:
            assert ready(deployment) == 503
            time.sleep(0.1)
        loss.in_threads += asked(deployment, 2 * loss.number + 1)
        _bring_back(pair, loss.number)
        back = len(clients.replies)
        loss.recovered_s = deployment.until(
            lambda: sum(reply.status == 200 for reply in clients.replies[back:]) >= 20,
            "accepted again",
            BACK_WITHIN_S,
        )
        deployment.until(
            lambda: ready(deployment) == 200, "/readyz says so again", NOTICED_WITHIN_S
        )
    loss.slowest_s = max(
        reply.took_s
        for reply in clients.replies[lost:]
        if reply.at_s < began_s + loss.recovered_s + 60
    )


def _bring_back(pair: Pair, loss: int) -> None:
    if loss % 4 >= 2:
        pair.set_names("")
    elif loss % 2:
        pair.standby.start()
    else:
        pair.standby.go_on()


def _take_again(pair: Pair, loss: int) -> None:
    if loss % 2:
        pair.standby.start()
    else:
        pair.standby.go_on()
    pair.set_names(NAME)
    pair.wait_until_streaming()


@pytest.mark.long
@pytest.mark.fault(39)
def test_what_no_standby_confirmed_is_lost_with_the_primary_and_nobody_was_told(
    pair: Pair, new_deployment: NewDeployment
) -> None:
    """The commits hang, then the primary dies, and the standby takes its place: what was accepted
    is there, and what hung was seen by nobody.
    """
    deployment = new_deployment("postgresql", url=pair.url)
    deployment.env |= OPEN
    clients = deployment.clients
    deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    proxy = deployment.database_proxy()
    with hearing(deployment) as heard:
        deployment.start(ALONE)
        with clients.sending(per_second=50, clients=8):
            clients.wait_for(50)
            pair.standby.kill()
            deployment.until(lambda: ready(deployment) == 503, "/readyz says so", NOTICED_WITHIN_S)
            time.sleep(HANGS_FOR_S)
            assert CANCELLED not in pair.primary.log
            pair.primary.kill()
            proxy.cut()
            _promote(deployment, pair, proxy)
            back = len(clients.replies)
            recovered_s = deployment.until(
                lambda: sum(reply.status == 200 for reply in clients.replies[back:]) >= 20,
                "accepted again",
                30,
            )
        assert_told_once(deployment, heard)
        deployment.holds(
            repeated_max=WINDOW,
            recovered_s=recovered_s,
            how=(
                "commits hang, then the primary is killed and its standby promoted; one id a"
                " change; until 20 were accepted"
            ),
        )


def _promote(deployment: Deployment, pair: Pair, proxy: Proxy) -> None:
    """Promotes the standby, which has not had what was stored since it was killed, and has itself
    no standby.
    """
    pair.standby.start()
    with psycopg.connect(pair.standby.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
    # not by SQL: what it still replays from the primary may cancel a statement
    pair.standby.promote()
    proxy.lead_to(pair.standby.port)
    deployment.move_to(pair.standby.url)
