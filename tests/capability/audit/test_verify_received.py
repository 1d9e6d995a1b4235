"""The proof of the events of incoming texts finds nothing where texts were stored, and finds
whatever is then taken away, added or changed.
"""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.audit.events import verify_events
from heliograph.audit.listeners import LISTENS_AFTER_MS
from heliograph.base import clock, ids
from heliograph.base.clock import HOUR_MS
from heliograph.inbound.tables import inbound
from heliograph.webhooks.tables import KEPT_MS, webhook_endpoints, webhook_events
from tests.support.capability.event_tampering import EventFaults
from tests.support.capability.inbox import Inbox, written
from tests.support.factories import awaited


@pytest.fixture
def inbox(database_url: str) -> Inbox:
    """Returns an inbox to which Amina has listened for an hour."""
    inbox = Inbox(database_url)
    _asks(inbox, created_at_ms=clock.now_ms() - HOUR_MS)
    return inbox


def _asks(inbox: Inbox, **columns: object) -> None:
    with inbox.db.write() as tx:
        tx.execute(webhook_endpoints.update().values(columns))


def found(inbox: Inbox) -> list[str]:
    with inbox.db.read() as tx:
        return [what for _, what in verify_events(tx, clock.now_ms())]


def _text_deleted(tx: Connection) -> None:
    """Deletes the text that the first event is about."""
    tx.execute(inbound.delete().where(inbound.c.text == "one"))


EVENT = EventFaults(sa.select(webhook_events).order_by(webhook_events.c.id).limit(1))
NONE = "inb_01m8128bvre00sdkf1nrvrb1qm"
LAST = "inb_7zzzzzzzzzzzzzzzzzzzzzzzzz"
FAULTS: dict[str, tuple[Callable[[Connection], None], list[str]]] = {
    "an event is missing": (EVENT.deleted, ["there is no event message.received of inb_"]),
    "an event is there twice": (EVENT.added, ["there are 2 events message.received of inb_"]),
    "an event is of another time": (EVENT.changed(created_at_ms=1), ["happened at 1970"]),
    "an event is another account's": (
        EVENT.changed(account_id=ids.raw_of_number(7)),
        ["belongs to another account"],
    ),
    "an event is of the other mode": (EVENT.changed(sandbox=True), ["to the other mode"]),
    "an event is about no text": (
        EVENT.shown(id=NONE),
        [f"is about {NONE}, which is not stored", "there is no event"],
    ),
    "an event is about a text after the last": (
        EVENT.shown(id=LAST),
        [f"is about {LAST}, which is not stored", "there is no event"],
    ),
    "an event shows another sender": (EVENT.shown(**{"from": "233209999999"}), ["another sender"]),
    "a text is gone": (_text_deleted, ["which is not stored"]),
    "an event waits nowhere": (EVENT.forgotten, ["neither waits for the endpoint whe_"]),
}


@awaited
@pytest.mark.parametrize("fault", FAULTS)
async def test_what_is_wrong_with_events_of_texts_is_found(inbox: Inbox, fault: str) -> None:
    await inbox.came(written("one", 1), written("two", 2), written("whose", 3, to="9999"))
    await inbox.came(written("one", 1))
    assert (len(inbox.told()), found(inbox)) == (2, [])
    do, expected = FAULTS[fault]
    with inbox.db.write() as tx:
        do(tx)
    said = found(inbox)
    assert len(said) == len(expected), said
    for words in expected:
        assert any(words in what for what in said), said


@awaited
async def test_an_endpoint_is_held_to_the_texts_that_it_asked_for(inbox: Inbox) -> None:
    await inbox.came(written("one", 1))
    with inbox.db.write() as tx:
        tx.execute(inbound.update().values(sender=None, text=None))
    assert found(inbox) == [], "a text forgets after retention who wrote it"
    with inbox.db.write() as tx:
        EVENT.deleted(tx)
    assert len(found(inbox)) == 1
    for asked in (
        {"kinds": "message.sent"},
        {"kinds": "message.received", "created_at_ms": clock.now_ms() - LISTENS_AFTER_MS + 5_000},
    ):
        _asks(inbox, **asked)
        assert found(inbox) == []
    _asks(inbox, created_at_ms=clock.now_ms() - HOUR_MS)
    assert len(found(inbox)) == 1
    clock.move(by_ms=KEPT_MS)
    assert found(inbox) == [], "events are kept for so long"
