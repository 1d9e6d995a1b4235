"""Stores the event `message.received`: one for each text that is stored for an account."""

from collections.abc import Sequence
from typing import Final

from heliograph.base import ids
from heliograph.base.json import encode
from heliograph.database.hot import HotTx
from heliograph.inbound.read import InboundText, as_inbound_record
from heliograph.inbound.receive.store_sql import StoredText
from heliograph.webhooks import MESSAGE_RECEIVED, Event, Listeners, emit, load_listeners

# octets of JSON: an event is at most 20 kB (docs/webhooks.md), and a text of 255 parts is longer
EVENT_TEXT_MAX: Final = 16_000
_PLACE: Final = 0  # in the ids that belong to an inbound text


async def emit_received(tx: HotTx, stored: Sequence[StoredText], now_ms: int) -> None:
    """Stores the events of texts, if anybody wants to hear them."""
    account_ids = {each.account_id for each in stored if each.account_id is not None}
    if not account_ids:
        return
    listeners = await load_listeners(tx, account_ids)
    if listeners:
        texts = [
            InboundText(**{name: getattr(row, name) for name in InboundText._fields})
            for row in stored
        ]
        await emit(tx, listeners, _events_of(texts, listeners, now_ms))


def _events_of(texts: Sequence[InboundText], listeners: Listeners, now_ms: int) -> list[Event]:
    """Returns the events that somebody wants to hear, of texts that are stored at `now_ms`."""
    return [
        _event(each, each.account_id, now_ms)
        for each in texts
        if each.account_id is not None
        and listeners.listeners_of(each.account_id, sandbox=each.sandbox, kind=MESSAGE_RECEIVED)
    ]


def _event(received: InboundText, account_id: str, now_ms: int) -> Event:
    """Returns the event. A text that is too long for it is left out: `GET /inbound/{id}` has it."""
    if received.text is not None and _is_too_long(received.text):
        received = received._replace(text=None)
    return Event(
        account_id,
        received.sandbox,
        MESSAGE_RECEIVED,
        now_ms,
        as_inbound_record(received),
        ids.derived_number(int(received.id, 16), _PLACE, now_ms),
    )


def _is_too_long(text: str) -> bool:
    return len(text) > EVENT_TEXT_MAX or len(encode(text)) > EVENT_TEXT_MAX
