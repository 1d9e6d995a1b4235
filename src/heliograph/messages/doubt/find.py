"""Finds messages of all accounts for an operator: by the id of a message or of its send, by a phone
number, or by the id that a carrier gave.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.carriers import Carrier, all_carriers
from heliograph.messages.carrier import facts_of
from heliograph.messages.carrier.refs import REF_MAX, canonical, canonical_of_receipt
from heliograph.messages.doubt.look_back import slice_of
from heliograph.messages.doubt.trace import MessageFilter, TracedMessage, newest, traced_by_ids
from heliograph.messages.read.message import MESSAGE_PREFIX, SEND_PREFIX
from heliograph.messages.tables import carrier_refs
from heliograph.text import parse_phone

SOUGHT_MAX: Final = REF_MAX + 65  # a carrier's name and its id


class SearchQuery(NamedTuple):
    """Says what is looked for: what somebody typed, of one account (raw id) or of all of them, and
    below which message (raw id) the list goes on.
    """

    text: str
    account_id: str | None = None
    before: str | None = None


class FoundMessages(NamedTuple):
    """Holds messages, newest first; `before` is where to go on, or None. `meanings` says what the
    text was read as: "message", "send", "number", "carrier". `since_ms` is when the time began that
    was looked at, if there are messages before it that were not.
    """

    rows: list[TracedMessage]
    before: str | None
    meanings: tuple[str, ...]
    since_ms: int | None = None


def find(tx: Connection, sought: SearchQuery, *, limit: int, now_ms: int) -> FoundMessages:
    """Returns at most `limit` messages. What is digits may be a number and a carrier's id."""
    text = sought.text.strip()
    prefix = text.partition("_")[0]
    if prefix == MESSAGE_PREFIX and (raw := ids.raw_of_text(MESSAGE_PREFIX, text)) is not None:
        return FoundMessages(_only_sought(traced_by_ids(tx, [raw]), sought), None, ("message",))
    if prefix == SEND_PREFIX and (raw := ids.raw_of_text(SEND_PREFIX, text)) is not None:
        wanted = MessageFilter(sought.account_id, before=sought.before, send_id=raw)
        return _page_of(tx, wanted, limit, "send")
    by_ref = (
        _only_sought(traced_by_ids(tx, _by_ref(tx, text)), sought) if sought.before is None else []
    )
    meanings = ("carrier",) if by_ref else ()
    phone = parse_phone(text)
    if phone is None:
        return FoundMessages(by_ref[:limit], None, meanings)
    to_number = _to_number(tx, sought, int(phone.digits), limit, now_ms)
    known = {each.message.id for each in by_ref}
    rows = by_ref + [each for each in to_number.rows if each.message.id not in known]
    return to_number._replace(rows=rows, meanings=meanings + to_number.meanings)


def _to_number(
    tx: Connection, sought: SearchQuery, number: int, limit: int, now_ms: int
) -> FoundMessages:
    """Returns messages to a number: of one account, all that are kept; of all accounts, those of
    the months that one page looks at.
    """
    wanted = MessageFilter(sought.account_id, before=sought.before, recipient=number)
    if sought.account_id is not None:
        return _page_of(tx, wanted, limit, "number")
    looked_at = slice_of(tx, sought.before, now_ms)
    found = _page_of(tx, wanted._replace(since_id=looked_at.first_id), limit, "number")
    if found.before is not None or not looked_at.is_more_before:
        return found
    return found._replace(before=looked_at.first_id, since_ms=looked_at.since_ms)


def _only_sought(found: Sequence[TracedMessage], sought: SearchQuery) -> list[TracedMessage]:
    return [each for each in found if sought.account_id in (None, each.account_id)]


def _page_of(tx: Connection, wanted: MessageFilter, limit: int, meaning: str) -> FoundMessages:
    rows, _ = newest(tx, wanted, limit + 1)
    before = rows[limit - 1].message.id if len(rows) > limit else None
    return FoundMessages(rows[:limit], before, (meaning,) if rows else ())


def _by_ref(tx: Connection, text: str) -> list[str]:
    """Returns the messages (raw ids) with this id of a carrier's, as its answers or its receipts
    print it. The carrier's name and a slash may stand in front of the id.
    """
    name, slash, ref = text.partition("/")
    carriers = all_carriers(tx)
    named = [each for each in carriers if slash and each.name == name]
    printed = ref if named else text
    if not printed or len(printed) > REF_MAX or "\0" in printed:
        return []
    forms = {each.id: _forms(each, printed) for each in named or carriers}
    query = sa.select(carrier_refs.c.carrier_id, carrier_refs.c.ref, carrier_refs.c.message_id)
    query = query.where(
        carrier_refs.c.carrier_id.in_(forms),
        carrier_refs.c.ref.in_(set().union(*forms.values())),
        carrier_refs.c.message_id.is_not(None),
    )
    rows = tx.execute(query).all() if forms else []
    return list({row.message_id for row in rows if row.ref in forms[row.carrier_id]})


def _forms(carrier: Carrier, printed: str) -> set[str]:
    return {canonical(printed), canonical_of_receipt(printed, facts_of(carrier).id_format)}
