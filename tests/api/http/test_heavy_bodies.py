"""No request of a megabyte holds the event loop for more than 20 ms, whatever is in it, and the
watchdog says so.
"""

from collections.abc import Iterable
from itertools import chain

import pytest

from heliograph import accounts
from heliograph.base import clock, metrics
from heliograph.wallet import ledger
from tests.support.api.cast import Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.held import Held, held, little_garbage
from tests.support.api.service import Service
from tests.support.heavy_bodies import heavy_others, heavy_sends, largest_sends

pytestmark = ON_SQLITE

HELD_S_MAX = 0.020
# the least of them counts: what else the process does at times, such as collecting garbage, is not
# the request's
TRIES = 5
# of the watchdog, which goes by the clock of a machine that others use too; it was 1 s and more
# while requests held the loop
P99_S_MAX = 0.25
# looks that come late because the machine stood still; a body that holds the loop makes one late at
# each of its tries
LATE_BY_OTHERS = 3
Post = tuple[str, str, bytes]  # path, what is heavy in it, body


def least(api: Service, who: Actor, path: str, body: bytes, within_s: float = HELD_S_MAX) -> Held:
    tries: list[Held] = []
    while len(tries) < TRIES and not (
        tries and min(tries, key=lambda one: one.seconds).seconds <= within_s
    ):
        tries.append(api.run(held(api.app, who.key(), path, body)))
    return min(tries, key=lambda one: one.seconds)


def too_long(api: Service, who: Actor, posts: Iterable[Post], status: int) -> list[str]:
    """Returns a line for each that holds the loop for longer than it may."""
    with little_garbage():
        answered = [(f"{path}: {name}", least(api, who, path, body)) for path, name, body in posts]
    wrong = [
        f"{name}: {one.status} {one.reason}"
        for name, one in answered
        if one.status not in (status, 404)
    ]
    assert not wrong, wrong
    return [
        f"{name}: {one.seconds * 1_000:.1f} ms"
        for name, one in answered
        if one.seconds > HELD_S_MAX
    ]


def slow_looks() -> tuple[float, float]:
    """Returns how many looks of the watchdog there were, and how many came later than P99_S_MAX."""
    buckets = {
        sample.labels["le"]: sample.value
        for metric in metrics.LOOP_DELAY.collect()
        for sample in metric.samples
        if "le" in sample.labels
    }
    return buckets["+Inf"], buckets["+Inf"] - buckets[str(P99_S_MAX)]


def test_no_hostile_body_holds_the_loop_and_the_watchdog_says_so(
    api: Service, amina: Actor
) -> None:
    before, late_before = slow_looks()
    assert not too_long(
        api,
        amina,
        chain((("/sms/send", name, body) for name, body in heavy_sends()), heavy_others()),
        400,
    )
    after, late_after = slow_looks()
    assert after > before
    assert late_after - late_before <= (after - before) * 0.01 + LATE_BY_OTHERS


@pytest.fixture
def rich(api: Service, amina: Actor) -> Actor:
    with api.db.write() as tx:
        accounts.change(tx, amina.account_id, daily_credits=None)
        ledger.grant(
            tx, amina.account_id, 1_000_000, "for ten thousand at a time", now_ms=clock.now_ms()
        )
    return amina


def test_the_largest_send_holds_the_loop_no_longer(api: Service, rich: Actor) -> None:
    assert not too_long(
        api, rich, (("/sms/send", name, body) for name, body in largest_sends()), 200
    )
