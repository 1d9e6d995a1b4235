"""Makes the events `contact.opted_out` and `contact.opted_in`."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.base import ids
from heliograph.database.hot import HotTx
from heliograph.messages.read import INBOUND_PREFIX
from heliograph.opt_outs import OptOutOwner, OptOutScope, OptOutSource
from heliograph.webhooks import (
    CONTACT_OPTED_IN,
    CONTACT_OPTED_OUT,
    Event,
    emit,
    load_listeners,
)

_PLACE: Final = 1  # in the ids that belong to an inbound text


class KeywordOptOut(NamedTuple):
    """Holds what a keyword has changed: an opt-out is new, or was lifted. `inbound_id` is raw,
    `phone` is E.164 digits.
    """

    inbound_id: str
    owner: OptOutOwner
    phone: str
    scope: OptOutScope
    word: str
    opted_out: bool


async def tell_opt_outs(tx: HotTx, changes: Sequence[KeywordOptOut], now_ms: int) -> None:
    """Stores the events of these changes, if anybody wants to hear them."""
    if not changes:
        return
    listeners = await load_listeners(tx, {each.owner.account_id for each in changes})
    if listeners:
        events = [_event(each, now_ms) for each in changes]
        heard = [
            each
            for each in events
            if listeners.of(each.account_id, sandbox=each.sandbox, kind=each.kind)
        ]
        await emit(tx, listeners, heard)


def _event(change: KeywordOptOut, now_ms: int) -> Event:
    return Event(
        change.owner.account_id,
        change.owner.sandbox,
        CONTACT_OPTED_OUT if change.opted_out else CONTACT_OPTED_IN,
        now_ms,
        {
            "phone": change.phone,
            "sender": change.scope.sender or None,
            "source": OptOutSource.KEYWORD.value,
            "keyword": change.word,
            "inbound_id": ids.text_of_raw(INBOUND_PREFIX, change.inbound_id),
            "sandbox": change.owner.sandbox,
        },
        ids.derived_number(int(change.inbound_id, 16), _PLACE, now_ms),
    )
