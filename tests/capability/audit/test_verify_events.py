"""The proof of the events finds nothing where texts have lived, and finds whatever is then taken
away, added or changed.
"""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.audit.events import verify_events
from heliograph.audit.listeners import LISTENS_AFTER_MS
from heliograph.base import clock, ids
from heliograph.carriers import ReceiptState
from heliograph.messages.tables import messages
from heliograph.webhooks import endpoints
from heliograph.webhooks.tables import (
    KEPT_MS,
    webhook_deliveries,
    webhook_endpoints,
    webhook_events,
    webhook_queue,
)
from tests.support.capability.commands import Run
from tests.support.capability.event_tampering import EventFaults
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint, events
from tests.support.factories import PHONE, awaited, open_account

HOUR_MS = 3_600_000


async def lived(house: House) -> None:
    """Makes two texts: one is delivered, the other is not."""
    for state in (ReceiptState.DELIVRD, ReceiptState.UNDELIV):
        link = await house.submitted()
        link.receive(link.answer(*link.open.values())[0], PHONE, state)
        await link.turn.run_once()


def found(house: House) -> list[str]:
    with house.db.read() as tx:
        return [what for _, what in verify_events(tx, clock.now_ms())]


def _told_and_waiting(tx: Connection) -> None:
    waits = tx.execute(sa.select(webhook_queue)).first()
    assert waits is not None
    tx.execute(
        webhook_deliveries.insert().values(
            endpoint_id=waits.endpoint_id,
            event_id=waits.event_id,
            outcome="delivered",
            tries=1,
            at_ms=1,
        )
    )


EVENT = EventFaults(sa.select(webhook_events).where(webhook_events.c.kind == "message.delivered"))
FAULTS: dict[str, tuple[Callable[[Connection], None], list[str]]] = {
    "an event is missing": (EVENT.deleted, ["message.delivered of msg_"]),
    "an event is there twice": (EVENT.added, ["there are 2 events message.delivered of msg_"]),
    "an event was made up": (
        lambda tx: EVENT.added(tx, kind="message.failed"),
        ["says that message.failed of msg_… but it never happened"],
    ),
    "an event is of another time": (
        EVENT.changed(created_at_ms=1),
        ["says that message.delivered of msg_… happened at 1970"],
    ),
    "an event is another account's": (
        EVENT.changed(account_id=ids.raw_of_number(7)),
        ["belongs to another account"],
    ),
    "an event is of the other mode": (EVENT.changed(sandbox=True), ["to the other mode"]),
    "an event is about no message": (
        EVENT.changed(body='{"data": {"id": "msg_01m8128bvre00sdkf1nrvrb1qm"}}'),
        ["is about msg_01m8128bvre00sdkf1nrvrb1qm, which is not stored", "there is no event"],
    ),
    "an event shows another status": (
        EVENT.shown(status="failed"),
        ["message.delivered of msg_… shows the message as failed (error None)"],
    ),
    "an event shows an error": (
        EVENT.shown(error={"code": "expired", "message": "Late."}),
        ["shows the message as delivered (error expired)"],
    ),
    "an event shows another recipient": (
        EVENT.shown(recipient="233209999999"),
        ["message.delivered of msg_… shows another recipient"],
    ),
    "an event shows no recipient": (EVENT.shown(recipient=None), ["shows another recipient"]),
    "an event waits nowhere": (EVENT.forgotten, ["neither waits for the endpoint whe_"]),
    "an event waits, and is delivered": (_told_and_waiting, ["more than once"]),
}


@awaited
@pytest.mark.parametrize("fault", FAULTS)
async def test_what_is_wrong_with_events_is_found(house: House, fault: str) -> None:
    endpoint(house.db, house.amina_id, age_ms=HOUR_MS)
    await lived(house)
    assert (len(events(house.db)), found(house)) == (4, [])
    do, expected = FAULTS[fault]
    with house.db.write() as tx:
        do(tx)
    said = found(house)
    assert len(said) == len(expected), said
    for words in expected:
        assert any(all(word in what for word in words.split("…")) for what in said), said


@awaited
async def test_an_endpoint_is_held_to_what_it_was_to_hear(house: House) -> None:
    """Nothing is expected of an endpoint for what it did not ask for, what was before it,
    and what is older than events are kept.
    """
    customer = open_account(house.db, "customer", parent_id=house.amina_id)
    made, _ = endpoint(house.db, customer)
    hears = {
        "account_id": house.amina_id,
        "created_at_ms": clock.now_ms() - HOUR_MS,
        "kinds": "message.sent,message.delivered",
    }

    def is_missed(**columns: object) -> int:
        with house.db.write() as tx:
            tx.execute(webhook_endpoints.update().values(hears | columns))
        return len(found(house))

    await lived(house)  # nobody hears of it
    with house.db.read() as tx:
        first_ms = min(tx.execute(sa.select(messages.c.sent_at_ms)).scalars())
    assert is_missed() == 3
    assert is_missed(kinds="message.failed") == 1
    assert is_missed(kinds="wallet.low_balance") == 0
    assert is_missed(sandbox=True) == 0
    assert is_missed(sandbox=False, account_id=customer) == 0
    assert is_missed(listens_until_ms=1) == 0
    assert is_missed(listens_until_ms=None, created_at_ms=first_ms - LISTENS_AFTER_MS) == 3
    assert is_missed(created_at_ms=clock.now_ms() - LISTENS_AFTER_MS + 1) == 0
    assert is_missed(disabled_at_ms=1, disabled_reason="operator") == 3, "what it misses is kept"
    clock.move(by_ms=KEPT_MS - HOUR_MS // 2)
    assert is_missed(created_at_ms=first_ms - HOUR_MS) == 0
    assert made.account_id == customer


@awaited
async def test_a_partner_is_held_to_its_customers_and_each_endpoint_to_itself(house: House) -> None:
    customer = open_account(house.db, "customer", credits=10, parent_id=house.amina_id)
    endpoint(house.db, customer, age_ms=HOUR_MS)
    partner, _ = endpoint(
        house.db, house.amina_id, kinds=["message.sent"], include_customers=True, age_ms=HOUR_MS
    )
    await house.send(account_id=customer)
    link = house.turn()
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert found(house) == []
    with house.db.write() as tx:
        tx.execute(webhook_queue.delete().where(webhook_queue.c.endpoint_id == partner.id))
    [what] = found(house)
    assert endpoints.text_id(partner.id) in what


@awaited
async def test_ledger_verify_says_so(house: House, run: Run) -> None:
    endpoint(house.db, house.amina_id, age_ms=HOUR_MS)
    await lived(house)
    assert run("ledger", "verify", "--json").json["webhook_events"] == 4
    with house.db.write() as tx:
        EVENT.deleted(tx)
    said = run("ledger", "verify")
    assert (
        said.status,
        "there is no event" in said.out,
        "The ledger is not proven: account acc_" in said.err,
    ) == (1, True, True)
