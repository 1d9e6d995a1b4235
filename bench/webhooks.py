"""Measures webhooks: how fast what waits is delivered and recorded, what they cost those who send,
and how soon a first one leaves.
"""

import asyncio
import http.client
import itertools
import json
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from bench import ours, setup, traffic
from bench.control import ask
from bench.databases import Databases, Installation, PostgresDatabases
from bench.processes import NotMeasured, cpu_seconds, helper
from bench.reading import Conditions, Reading, together
from bench.server import SECRET_KEY, scalar, sending, serving, set_up
from heliograph.accounts.tables import accounts
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.webhooks import Event, emit, endpoints, load_listeners
from heliograph.webhooks.http.address_guard import AllowedNetworks

EVENTS = 20_000
EVENTS_A_COMMIT = 1_000
ENDPOINTS = (1, 10)
DONE_WITHIN_S = 90.0
POLL_S = 0.05
FIRSTS = 40
FIRST_WITHIN_S = 5.0

_LEFT = "SELECT count(*) FROM (SELECT 1 FROM webhook_queue LIMIT 1) q"
_DELIVERED = "SELECT count(*) FROM webhook_deliveries WHERE outcome = 'delivered' AND tries = 1"
_LAST_SENT = "SELECT max(sent_at_ms) FROM messages"


def waiting(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures how long `serve` takes to deliver events that wait for one endpoint, and for ten:
    from the first POST until all are recorded.
    """
    readings = []
    for count in ENDPOINTS:
        with (
            _installation(conditions, databases) as (installation, sink),
            _queued(installation, sink["port"], count),
            serving(installation) as server,
        ):
            readings.append(
                _delivered(
                    f"ours.webhooks_{count}.{databases.kind}", installation, sink, [server.pid]
                )
            )
    return readings


def waiting_two(conditions: Conditions, databases: PostgresDatabases) -> list[Reading]:
    """Measures the same with two `heliograph worker`."""
    with (
        _installation(conditions, databases) as (installation, sink),
        _queued(installation, sink["port"], ENDPOINTS[-1]),
        sending(installation, 2, "worker") as pids,
    ):
        return [_delivered(f"ours.webhooks_two.{databases.kind}", installation, sink, pids)]


def drain(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures a queue of one account's that is let go twice: unheard, and with an endpoint that
    hears of `sent` and `delivered`. POSTs are made meanwhile.
    """
    kind = databases.kind
    unheard, _ = _drained(conditions, databases, heard=False)
    heard, posts_per_s = _drained(conditions, databases, heard=True)
    return [
        Reading(f"ours.unheard.{kind}", unheard.value, unheard.errors, unheard.detail),
        Reading(f"ours.heard.{kind}", heard.value, heard.errors, heard.detail),
        Reading(f"ours.heard_share.{kind}", heard.value / unheard.value),
        Reading(f"ours.heard_posts.{kind}", posts_per_s),
    ]


def first(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures one message after another on an idle server: from the moment when each became `sent`
    to its POST.
    """
    with (
        _installation(conditions, databases) as (installation, sink),
        helper("bench.smsc", log=conditions.folder / "smsc.log") as smsc,
    ):
        setup.point_carrier(installation, smsc["port"], SECRET_KEY)
        _add_endpoints(installation, sink["port"], 1, ["message.sent"])
        with serving(installation) as server:
            # the first loads the HTTP client
            _, *took_ms = [
                _one(installation, server.port, sink["control_port"], number)
                for number in range(FIRSTS + 1)
            ]
            return [
                Reading(
                    f"ours.first_post.{databases.kind}",
                    statistics.median(took_ms),
                    detail={"took_ms": took_ms},
                )
            ]


@contextmanager
def _installation(
    conditions: Conditions, databases: Databases
) -> Iterator[tuple[Installation, dict[str, Any]]]:
    """Yields an installation, and the ports of a receiver."""
    with (
        set_up(conditions, databases) as installation,
        helper("bench.sink", "--posts", log=conditions.folder / "sink.log") as sink,
    ):
        yield installation, sink


@contextmanager
def _queued(installation: Installation, port: int, count: int) -> Iterator[None]:
    """Makes so many endpoints, for which EVENTS of their accounts wait in all."""
    account_ids = _add_endpoints(installation, port, count, ["all"])
    asyncio.run(_happened(installation, account_ids))
    yield


def _add_endpoints(
    installation: Installation, port: int, count: int, kinds: list[str]
) -> list[str]:
    """Adds one for each of the first accounts, in the order of their keys. Returns the ids of these
    accounts.
    """
    database = Database(installation.url)
    try:
        with database.write() as tx:
            oldest = (
                sa.select(accounts.c.id)
                .where(accounts.c.name.like("bench %"))
                .order_by(accounts.c.id)
                .limit(count)
            )
            account_ids = list(tx.execute(oldest).scalars())
            for account_id in account_ids:
                endpoints.add(
                    tx,
                    account_id,
                    f"http://127.0.0.1:{port}/hook",
                    kinds,
                    sandbox=False,
                    include_customers=False,
                    secret_key=SECRET_KEY,
                    allow=AllowedNetworks(loopback=True),
                    now_ms=clock.now_ms(),
                )
            return account_ids
    finally:
        database.close()


async def _happened(installation: Installation, account_ids: list[str]) -> None:
    database = Database(installation.url)
    happened = (
        Event(account_id, False, "message.delivered", clock.now_ms(), _record(number))
        for number, account_id in zip(range(EVENTS), itertools.cycle(account_ids))
    )
    try:
        while some := list(itertools.islice(happened, EVENTS_A_COMMIT)):
            async with database.hot() as tx:
                await emit(tx, await load_listeners(tx, account_ids), some)
    finally:
        await database.close_hot()
        database.close()


def _record(number: int) -> dict[str, Any]:
    """Returns a record as long as a message's."""
    at = "2026-01-01T00:00:00.000Z"
    return {
        "id": f"msg_{number:026}",
        "send_id": f"snd_{number:026}",
        "campaign_id": None,
        "type": "sms",
        "sender": traffic.SENDER,
        "recipient": traffic.recipient(number),
        "country_code": "GH",
        "message": traffic.TEXT,
        "encoding": "GSM-7",
        "segments": 1,
        "credits": 1,
        "credits_refunded": 0,
        "status": "delivered",
        "error": None,
        "reference": None,
        "sandbox": False,
        "created_at": at,
        "sent_at": at,
        "delivered_at": at,
        "failed_at": None,
    }


def _delivered(
    figure: str, installation: Installation, sink: dict[str, Any], pids: list[int]
) -> Reading:
    """Measures from the first POST until nothing waits any more."""
    used, deadline = sum(map(cpu_seconds, pids)), time.monotonic() + DONE_WITHIN_S
    while (counted := ask(sink["control_port"]))[
        "requests"
    ] < EVENTS and time.monotonic() < deadline:
        time.sleep(POLL_S)
    while scalar(installation, _LEFT) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    seconds, recorded = time.time() - counted["first_at"], scalar(installation, _DELIVERED)
    if not recorded:
        raise NotMeasured(f"nothing was delivered within {DONE_WITHIN_S:g} s: {counted}")
    detail = {
        "cpu_s": sum(map(cpu_seconds, pids)) - used,
        "seconds": seconds,
        "posts_per_s": EVENTS / (counted["last_at"] - counted["first_at"]),
    }
    errors = {"not delivered": EVENTS - recorded, "posted again": counted["requests"] - EVENTS}
    return Reading(figure, recorded / seconds, together(errors), detail)


def _drained(conditions: Conditions, databases: Databases, *, heard: bool) -> tuple[Reading, float]:
    """Measures messages a second. Returns their reading, and POSTs a second."""
    with _installation(conditions, databases) as (installation, sink):
        _add_endpoints(
            installation, sink["port"], 1 if heard else 0, ["message.sent", "message.delivered"]
        )
        answered, wrong = ours.fill(conditions, installation, keys=1)
        with helper(
            "bench.smsc", "--receipts", "--track", log=conditions.folder / "smsc.log"
        ) as smsc:
            setup.point_carrier(installation, smsc["port"], SECRET_KEY)
            with serving(installation) as server:
                used = server.cpu_seconds()
                done = ours.until_delivered(installation, smsc["control_port"])
                detail = {"cpu_s": server.cpu_seconds() - used, **asdict(done)}
                errors, posts_per_s = done.errors_of(answered), 0.0
                if heard:
                    posts_per_s = _until_told(installation, sink, 2 * done.stored, errors)
                return Reading("", done.per_s, together(wrong, errors), detail), posts_per_s


def _until_told(
    installation: Installation, sink: dict[str, Any], expected: int, errors: dict[str, int]
) -> float:
    """Waits until each message has had both its events. Returns POSTs a second, while messages were
    sent and after.
    """
    deadline = time.monotonic() + DONE_WITHIN_S
    while (
        ask(sink["control_port"])["requests"] < expected or scalar(installation, _LEFT)
    ) and time.monotonic() < deadline:
        time.sleep(ours.POLL_S)
    counted, recorded = ask(sink["control_port"]), scalar(installation, _DELIVERED)
    errors |= {
        "events not delivered": expected - recorded,
        "posted again": counted["requests"] - expected,
    }
    return float(counted["requests"] / (counted["last_at"] - counted["first_at"]))


def _one(installation: Installation, port: int, control_port: int, number: int) -> float:
    """Returns how many milliseconds one message took."""
    time.sleep(random.uniform(0.05, 0.35))  # at any moment of a poll
    before = ask(control_port)["requests"]
    body = json.dumps(
        {
            "sender": traffic.SENDER,
            "message": traffic.TEXT,
            "recipients": [traffic.recipient(number)],
        }
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=FIRST_WITHIN_S)
    connection.request(
        "POST",
        "/api/v1/sms/send",
        body,
        {"Authorization": f"Bearer {ours.keys_of(installation, 1).read_text().strip()}"},
    )
    if connection.getresponse().status != 200:
        raise NotMeasured("a send was not accepted")
    connection.close()
    deadline = time.monotonic() + FIRST_WITHIN_S
    while (counted := ask(control_port))["requests"] == before:
        if time.monotonic() > deadline:
            raise NotMeasured(f"no POST within {FIRST_WITHIN_S:g} s")
        time.sleep(POLL_S)
    return float(counted["last_at"] * 1_000 - scalar(installation, _LAST_SENT))
