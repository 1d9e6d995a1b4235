"""Makes the events `contact.opted_out` and `contact.opted_in`: one for each opt-out that is new or
was lifted, in the transaction of that change (docs/webhooks.md, "The events").
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.hot import HotTx, run_in
from heliograph.opt_outs.suppression import WHOLE_ACCOUNT, OptOutOwner, OptOutScope
from heliograph.opt_outs.tables import OptOutSource
from heliograph.webhooks import (
    CONTACT_OPTED_IN,
    CONTACT_OPTED_OUT,
    Event,
    emit,
    load_listeners,
)

# in the ids that belong to an inbound text: START can lift one opt-out of each kind
_PLACE_OF_ACCOUNT: Final = 1
_PLACE_OF_SENDER: Final = 2


class KeywordText(NamedTuple):
    """Names the text by which somebody opted out or in: its word, and its id both as a number and
    in text form. `number` is None for a text that came once more: its first event has that id.
    Both are None where the text is not the account's own.
    """

    word: str
    number: int | None
    inbound_id: str | None


class ChangedOptOut(NamedTuple):
    """Holds an opt-out that is new, or was lifted. `phone` is E.164 digits, and `source` says where
    this change comes from.
    """

    owner: OptOutOwner
    phone: str
    scope: OptOutScope
    source: OptOutSource
    opted_out: bool
    keyword: KeywordText | None = None

    @property
    def kind(self) -> str:
        return CONTACT_OPTED_OUT if self.opted_out else CONTACT_OPTED_IN


def store_opt_out_events(tx: Connection, changes: Sequence[ChangedOptOut], now_ms: int) -> None:
    """Does what `emit_opt_out_events` does, in an ordinary transaction."""
    if changes:
        run_in(tx, lambda hot: emit_opt_out_events(hot, changes, now_ms))


async def emit_opt_out_events(tx: HotTx, changes: Sequence[ChangedOptOut], now_ms: int) -> None:
    """Stores the events of these changes that somebody wants to hear."""
    if not changes:
        return
    listeners = await load_listeners(tx, {each.owner.account_id for each in changes})
    wanted = {
        (owner, kind)
        for owner, kind in {(each.owner, each.kind) for each in changes}
        if listeners.listeners_of(owner.account_id, sandbox=owner.sandbox, kind=kind)
    }
    events = [_event(each, now_ms) for each in changes if (each.owner, each.kind) in wanted]
    if events:
        await emit(tx, listeners, events)


def _event(change: ChangedOptOut, now_ms: int) -> Event:
    owner, keyword = change.owner, change.keyword
    data: dict[str, Any] = {
        "phone": change.phone,
        "sender": change.scope.sender or None,
        "source": change.source.value,
        "keyword": keyword and keyword.word,
        "inbound_id": keyword and keyword.inbound_id,
        "sandbox": owner.sandbox,
    }
    number = None
    if keyword is not None and keyword.number is not None:
        place = _PLACE_OF_ACCOUNT if change.scope == WHOLE_ACCOUNT else _PLACE_OF_SENDER
        number = ids.derived_number(keyword.number, place, now_ms)
    return Event(owner.account_id, owner.sandbox, change.kind, now_ms, data, number)
