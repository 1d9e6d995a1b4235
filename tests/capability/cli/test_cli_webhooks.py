"""The operator's commands about webhooks are run as they are typed; the receiver is a real one, and
the secret checks what it got.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from heliograph.accounts import notices
from heliograph.base import clock, ids
from heliograph.base.clock import HOUR_MS, rfc3339
from heliograph.database.database import Database
from heliograph.webhooks import endpoints
from heliograph.webhooks.deliver_sql import WaitingEvents
from heliograph.webhooks.http.address_guard import AllowedNetworks
from heliograph.webhooks.record_attempts import AttemptResult, Recorder
from heliograph.webhooks.replay import replay_span
from heliograph.webhooks.tables import KINDS, webhook_deliveries, webhook_endpoints, webhook_queue
from tests.support.capability.commands import CommandResult, Run
from tests.support.capability.sending import House
from tests.support.capability.webhooks import checked, happened, outcomes, waiting
from tests.support.factories import SECRET_KEY, awaited, open_account
from tests.support.wire.webhook_receiver import OK, receiving, says

URL = "https://shop.example/hook"


@pytest.fixture
def settled(house: House) -> Iterator[House]:
    """Yields a house that nothing is awaited of."""
    yield house
    house.db.close()


def add(run: Run, url: str = URL, *more: str) -> Any:
    return run("webhook", "add", url, "--account", "amina", "--events", "all", *more, "--json").json


async def later(run: Run, *args: object) -> CommandResult:
    """Runs a command, while the receiver of this test goes on."""
    return await asyncio.to_thread(run, *args)


def test_an_endpoint_is_added_shown_disabled_and_enabled(settled: House, run: Run) -> None:
    made = add(run, URL, "--mode", "sandbox", "--include-customers")
    assert made["secret"].startswith("whsec_")
    assert (made["mode"], made["include_customers"], made["status"], len(made["events"])) == (
        "sandbox",
        True,
        "enabled",
        len(KINDS),
    )
    with settled.db.read() as tx:
        assert made["secret"] not in str(tx.execute(webhook_endpoints.select()).all()), (
            "it is stored encrypted"
        )
    [listed] = run("webhook", "list", "--account", "amina", "--json").json
    assert listed == {name: value for name, value in made.items() if name != "secret"}
    for _ in range(2):
        disabled = run("webhook", "disable", made["id"], "--json").json
        assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "operator")
    assert run("webhook", "enable", made["id"], "--json").json["status"] == "enabled"


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ("webhook", "add", "http://shop.example/hook", "--account", "amina", "--events", "all"),
            "https",
        ),
        (
            ("webhook", "add", "https://127.0.0.1/hook", "--account", "amina", "--events", "all"),
            "loopback",
        ),
        (
            ("webhook", "add", URL, "--account", "amina", "--events", "message.read"),
            "message.delivered",
        ),
        (("webhook", "add", URL, "--account", "amina", "--events", ","), "at least one"),
        (("webhook", "add", URL, "--account", "kofi", "--events", "all"), "kofi"),
        (("webhook", "rotate", "whe_1"), "whe_1"),
        (("webhook", "events", "whe_01k5zzzzzzzzzzzzzzzzzzzzzz"), "whe_01k5"),
        (("webhook", "listen"), "No such command"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    settled: House, run: Run, args: tuple[str, ...], told: str
) -> None:
    said = run(*args)
    assert said.status in (1, 2)
    assert told in said.err
    assert settled.count(webhook_endpoints) == 0


def test_a_span_to_replay_that_cannot_be_is_said(settled: House, run: Run) -> None:
    made = add(run)
    for wrong, told in (
        (("--since", "1h", "--until", "2h"), "until must be later than the beginning"),
        (("--event", "evt_01k5zzzzzzzzzzzzzzzzzzzzzz", "--until", "2h"), "--until goes with"),
    ):
        assert told in run("webhook", "replay", made["id"], *wrong).err


def test_a_secret_is_rotated_and_only_one_at_a_time(settled: House, run: Run) -> None:
    made = add(run)
    rotated = run("webhook", "rotate", made["id"], "--json").json
    assert rotated["rotates_until"] is not None

    def signing() -> tuple[str, str | None]:
        with settled.db.read() as tx:
            return endpoints.secrets_of(
                tx, endpoints.raw_id(made["id"]), SECRET_KEY, clock.now_ms()
            )

    assert signing() == (rotated["secret"], made["secret"])
    assert "--finish" in run("webhook", "rotate", made["id"]).err
    assert run("webhook", "rotate", made["id"], "--finish", "--json").json["rotates_until"] is None
    assert signing() == (rotated["secret"], None)
    third = run("webhook", "rotate", made["id"], "--json").json
    clock.move(by_ms=endpoints.ROTATION_MS)
    assert signing() == (third["secret"], None)


@awaited
async def test_a_sample_is_signed_and_what_is_answered_is_shown(
    house: House, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK", "1")
    async with receiving(says(OK)) as receiver:
        made = (
            await later(
                run,
                "webhook",
                "add",
                receiver.url(),
                "--account",
                "amina",
                "--events",
                "message.failed",
                "--json",
            )
        ).json
        told = (await later(run, "webhook", "test", made["id"], "--json")).json
        assert (told["status"], told["reason"], told["answer"], told["event"]) == (
            200,
            None,
            "ok",
            "message.failed",
        )
    assert checked(receiver, made["secret"])["id"] == told["event_id"]
    refused = await later(run, "webhook", "test", made["id"])
    assert (refused.status, "connect" in refused.out) == (1, True)
    assert house.count(webhook_deliveries) == 0


async def record_answers(
    house: House, answers: Sequence[tuple[int | None, str | None, str]]
) -> None:
    """Records what was answered to the last try of each waiting event: a status, a reason and a
    text.
    """
    recorder, recording = Recorder(house.db), list[list[AttemptResult]]()
    with house.db.read() as tx:
        rows = [
            WaitingEvents(*row)
            for row in tx.execute(webhook_queue.select().order_by(webhook_queue.c.event_id))
        ]
    for row, (status, reason, answer) in zip(rows, answers, strict=True):
        recorder.add(
            AttemptResult(
                waiting=replace(row, tries=4),
                at_ms=clock.now_ms(),
                took_ms=12,
                status=status,
                reason=reason,
                answer=answer,
                retry_after=None,
            )
        )
    task = asyncio.create_task(recorder.run(lambda batch: recording.append(list(batch))))
    await recorder.wait_until_empty()
    task.cancel()


@awaited
async def test_events_and_attempts_are_listed_and_replayed(house: House, run: Run) -> None:
    made = await asyncio.to_thread(add, run)
    await happened(house, 3)
    answers = (
        (500, "status", "oops"),
        (200, None, "ok"),
        (None, "timeout", "no whole answer in time"),
    )
    await record_answers(house, answers)
    listed = (await later(run, "webhook", "events", made["id"], "--json")).json
    assert [(event["outcome"], event["tries"]) for event in listed] == [
        ("exhausted", 5),
        ("delivered", 5),
        ("exhausted", 5),
    ]
    failed = (
        await later(run, "webhook", "events", made["id"], "--failed", "--limit", "1", "--json")
    ).json
    assert failed == listed[:1]
    older = (
        await later(run, "webhook", "events", made["id"], "--before", failed[0]["id"], "--json")
    ).json
    assert older == listed[1:]
    tried = (await later(run, "webhook", "attempts", made["id"], "--json")).json
    assert sorted(
        (each["status"] or 0, each["reason"] or "", each["answer"]) for each in tried
    ) == sorted((status or 0, reason or "", answer) for status, reason, answer in answers)
    one = (
        await later(run, "webhook", "attempts", made["id"], "--event", listed[1]["id"], "--json")
    ).json
    assert [each["status"] for each in one] == [200]
    for until, count in (("30m", 0), (rfc3339(clock.now_ms() + HOUR_MS), 2)):
        span = ("--since", "1h", "--until", until)
        said = await later(run, "webhook", "replay", made["id"], *span, "--json")
        assert said.json["replayed"] == count
    assert (
        await later(run, "webhook", "replay", made["id"], "--event", listed[1]["id"], "--json")
    ).json["replayed"] == 1
    assert (len(waiting(house.db)), outcomes(house.db)) == (3, [])
    assert (
        await later(run, "webhook", "attempts", made["id"], "--event", listed[1]["id"], "--json")
    ).json == one
    assert "either" in (await later(run, "webhook", "replay", made["id"])).err
    assert "30 days" in (await later(run, "webhook", "replay", made["id"], "--since", "31d")).err
    await later(run, "webhook", "disable", made["id"])
    assert "enable" in (await later(run, "webhook", "replay", made["id"], "--since", "1h")).err


@awaited
async def test_notices_of_an_account_are_listed_newest_first(house: House, run: Run) -> None:
    chidi = open_account(house.db, "chidi")
    async with house.db.hot() as tx:
        for number in range(3):
            await notices.notify(
                tx, house.amina_id, "webhook_disabled", f"notice {number}", clock.now_ms() + number
            )
        await notices.notify(tx, chidi, "webhook_disabled", "a stranger's", clock.now_ms())
    listed = (await later(run, "account", "notices", "amina", "--limit", "2", "--json")).json
    assert [(notice["kind"], notice["text"]) for notice in listed] == [
        ("webhook_disabled", "notice 2"),
        ("webhook_disabled", "notice 1"),
    ]
    assert (
        listed[0]["account_id"]
        == (await later(run, "account", "show", "amina", "--json")).json["id"]
    )
    assert "notice 0" in (await later(run, "account", "notices", "amina")).out
    assert (await later(run, "account", "notices", "nobody")).status == 1


@awaited
async def test_attempts_are_those_of_the_newest_events_however_late_an_older_one_succeeds(
    house: House, run: Run
) -> None:
    made = await asyncio.to_thread(add, run)
    await happened(house, 4)
    recorder = Recorder(house.db)
    with house.db.read() as tx:
        rows = [
            WaitingEvents(*row)
            for row in tx.execute(webhook_queue.select().order_by(webhook_queue.c.event_id))
        ]
    for late_ms, (row, status) in enumerate(zip(reversed(rows), (500, 200, 500, 200), strict=True)):
        reason = None if status == 200 else "status"
        recorder.add(
            AttemptResult(
                waiting=row,
                at_ms=clock.now_ms() + late_ms,
                took_ms=12,
                status=status,
                reason=reason,
                answer="said",
                retry_after=None,
            )
        )
    task = asyncio.create_task(recorder.run(lambda batch: None))
    await recorder.wait_until_empty()
    task.cancel()
    newest_first = [ids.text_of_raw("evt", row.event_id) for row in reversed(rows)]
    for limit in (1, 3, 4):
        listed = (
            await later(run, "webhook", "attempts", made["id"], "--limit", str(limit), "--json")
        ).json
        assert [attempt["event_id"] for attempt in listed] == newest_first[:limit]


@awaited
async def test_an_outcome_that_is_recorded_while_others_are_replayed_is_not_lost(
    postgresql_house: House,
) -> None:
    house = postgresql_house
    with house.db.write() as tx:
        endpoint, _ = endpoints.add(
            tx,
            house.amina_id,
            "https://example.org/hook",
            ["message.sent"],
            sandbox=False,
            include_customers=False,
            secret_key=SECRET_KEY,
            allow=AllowedNetworks(),
            now_ms=clock.now_ms(),
        )
    await happened(house, 3)
    with house.db.write() as tx:
        events = list(
            tx.execute(webhook_queue.delete().returning(webhook_queue.c.event_id)).scalars()
        )
        first, between, last = sorted(events)
        tx.execute(
            webhook_deliveries.insert(),
            [failed(endpoint.id, event_id) for event_id in (first, last)],
        )
    others = Database(house.db.url)
    recorded: list[str] = []

    def record(*_: Any) -> None:
        """Stores a delivery after the first statement of the replay, as another process would."""
        if not recorded:
            recorded.append(between)
            with others.write() as tx:
                tx.execute(webhook_deliveries.insert().values(failed(endpoint.id, between)))

    try:
        with house.db.write() as tx:
            sa.event.listen(tx, "after_cursor_execute", record)
            assert replay_span(tx, endpoint, clock.now_ms() - 60_000, now_ms=clock.now_ms()) == 2
    finally:
        others.close()
    assert recorded
    assert (waiting_ids(house), outcomes(house.db)) == ({first, last}, [("exhausted", 5, None)])


def failed(endpoint_id: str, event_id: str) -> dict[str, Any]:
    return {
        "endpoint_id": endpoint_id,
        "event_id": event_id,
        "outcome": "exhausted",
        "tries": 5,
        "at_ms": clock.now_ms(),
    }


def waiting_ids(house: House) -> set[str]:
    with house.db.read() as tx:
        return set(
            tx.execute(webhook_queue.select().with_only_columns(webhook_queue.c.event_id)).scalars()
        )
