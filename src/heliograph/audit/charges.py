"""Proves the charges: what the ledger took and gave back for a send must be what the send and its
messages say, once each.

Sends, messages and entries are each read once, in the order of their ids, which is the order of
time. What belongs together comes soon after one another, so only sends whose charge or refund is
still to come are kept in memory.

Entries stay for ever, messages may not (retention.py). The cost of sends that were deleted is
compared with nothing. The cost of a campaign that may have had such sends is compared with its
tally.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.reads import raw_id, stream, stream_records
from heliograph.messages.read import CAMPAIGN_PREFIX, SEND_PREFIX
from heliograph.messages.retention import MESSAGES, first_kept
from heliograph.messages.tables import groups, messages, sends, tallies
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy, ledger
from heliograph.wallet.tables import ledger_entries


class _Total(NamedTuple):
    """Adds up the messages of one send that belong to one account and mode. Ids are raw."""

    send_id: str
    account_id: str
    sandbox: bool
    messages: int
    credits: int
    refunded: int


class _SendFigures(NamedTuple):
    """Holds what a send says of its messages. Ids are raw."""

    id: str
    account_id: str
    sandbox: bool
    message_count: int
    credits_used: int
    campaign_id: str | None


class _SmsEntry(NamedTuple):
    """Holds an entry of the ledger that charges or refunds texts. Its ids are raw."""

    id: str
    account_id: str
    type: str
    credits: int
    reference: str | None


class _SendCredits(NamedTuple):
    """Holds the credits of one send as one source tells them: the messages with their own sign, the
    ledger with the opposite one.
    """

    id: str  # of the send or the entry, raw: what all sources are ordered by
    account_id: str
    # the id of the send, or of its campaign, in text form, as the ledger refers to it
    paid_for: str
    charged: int
    refunded: int


class _Paid(NamedTuple):
    """Names what is paid for: `paid_for` is the id of a send or a campaign, in text form."""

    account_id: str
    paid_for: str


class _Untold(NamedTuple):
    """Holds the credits that one source has told and the other has not, so far."""

    charged: int = 0
    refunded: int = 0


def verify_charges(tx: Connection) -> list[Discrepancy]:
    """Returns what is wrong with charges and refunds: nothing, if all agree, and at most
    DISCREPANCIES_MAX.
    """
    discrepancies: list[Discrepancy] = []
    open_: dict[_Paid, _Untold] = {}
    first = first_kept(tx, MESSAGES)
    for part in merge(
        _by_messages(tx, first, discrepancies),
        _by_entries(tx, first, discrepancies),
        _by_tallies(tx, first),
        key=attrgetter("id"),
    ):
        paid = _Paid(part.account_id, part.paid_for)
        before = open_.pop(paid, _Untold())
        untold = _Untold(before.charged + part.charged, before.refunded + part.refunded)
        if untold != _Untold():
            open_[paid] = untold
        if len(discrepancies) >= DISCREPANCIES_MAX:
            break
    for paid, untold in open_.items():
        if len(discrepancies) >= DISCREPANCIES_MAX:
            break
        differences = [
            f"{kind} {abs(credits)} credits {'less' if credits > 0 else 'more'} than its"
            " messages say"
            for kind, credits in untold._asdict().items()
            if credits
        ]
        discrepancies.append(
            Discrepancy(
                paid.account_id, f"for {paid.paid_for} the ledger {' and '.join(differences)}"
            )
        )
    return discrepancies[:DISCREPANCIES_MAX]


def _by_messages(tx: Connection, first: str, found: list[Discrepancy]) -> Iterator[_SendCredits]:
    """Yields sends, from the id `first` on, joined with the sums of their messages. What does
    not agree between the two goes to `found`.
    """
    totals = _Totals(tx, first, found)
    columns = sends.c
    query = sa.select(
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.message_count,
        columns.credits_used,
        raw_id(groups.c.campaign_id).label("campaign_id"),
    ).outerjoin_from(sends, groups, groups.c.id == columns.group_id)
    query = query.where(columns.id >= first)
    for send in stream_records(tx, query.order_by(columns.id), _SendFigures):
        total = totals.of(send)
        found.extend(Discrepancy(send.account_id, what) for what in _differences(send, total))
        is_kept = send.campaign_id is None or send.campaign_id >= first
        if (send.credits_used or total.refunded) and is_kept:
            paid_for = (
                _send(send.id)
                if send.campaign_id is None
                else ids.text_of_raw(CAMPAIGN_PREFIX, send.campaign_id)
            )
            yield _SendCredits(
                send.id, send.account_id, paid_for, send.credits_used, total.refunded
            )
    totals.end()


def _differences(send: _SendFigures, total: _Total) -> Iterator[str]:
    """Tells what a send says of its messages otherwise than they do."""
    if total.messages != send.message_count:
        yield (
            f"the send {_send(send.id)} has {total.messages} of its {send.message_count} messages"
        )
    if total.credits != send.credits_used:
        yield (
            f"the send {_send(send.id)} says {send.credits_used} credits, but its messages"
            f" say {total.credits}"
        )


class _Totals:
    """Adds up messages send by send; it must be asked in the order of ids. Messages that belong to
    no send, or to another account than their send, are reported in `found`.
    """

    def __init__(self, tx: Connection, first: str, found: list[Discrepancy]) -> None:
        self._totals = _totals(tx, first)
        self._next = next(self._totals, None)
        self._found = found

    def of(self, send: _SendFigures) -> _Total:
        """Returns what all messages of a send add up to."""
        while self._next is not None and self._next.send_id < send.id:
            self._report_orphans(self._next)
            self._next = next(self._totals, None)
        whole = _Total(send.id, send.account_id, send.sandbox, 0, 0, 0)
        while self._next is not None and self._next.send_id == send.id:
            total = self._next
            if (total.account_id, total.sandbox) != (send.account_id, send.sandbox):
                what = (
                    f"{total.messages} messages of the send {_send(send.id)} belong to another"
                    " account, or to the other mode"
                )
                self._found.append(Discrepancy(send.account_id, what))
            whole = whole._replace(
                messages=whole.messages + total.messages,
                credits=whole.credits + total.credits,
                refunded=whole.refunded + total.refunded,
            )
            self._next = next(self._totals, None)
        return whole

    def end(self) -> None:
        """Reports the messages behind the last send. One finding is enough: they have no send."""
        if self._next is not None:
            self._report_orphans(self._next)

    def _report_orphans(self, total: _Total) -> None:
        what = f"messages belong to the send {_send(total.send_id)}, which is not stored"
        self._found.append(Discrepancy(total.account_id, what))


def _totals(tx: Connection, first: str) -> Iterator[_Total]:
    """Yields the total of each send. Its messages are a series of ids, so they come one after the
    other.
    """
    columns = messages.c
    query = sa.select(
        raw_id(columns.send_id).label("send_id"),
        raw_id(columns.account_id).label("account_id"),
        columns.sandbox,
        columns.credits,
        columns.refunded,
    )
    query = query.where(columns.id >= first)
    same_send = attrgetter("send_id", "account_id", "sandbox")
    for (send_id, account_id, sandbox), rows in groupby(
        stream(tx, query.order_by(columns.id)), key=same_send
    ):
        count = credits = refunded = 0
        for row in rows:
            count += 1
            credits += row.credits
            refunded += row.refunded
        yield _Total(send_id, account_id, sandbox, count, credits, refunded)


def _by_tallies(tx: Connection, first: str) -> Iterator[_SendCredits]:
    """Yields the campaigns that were made before the first message that is kept, with what was
    charged for them less what was paid back.
    """
    columns = groups.c
    query: Any = sa.select(
        raw_id(columns.campaign_id).label("campaign_id"),
        raw_id(columns.account_id).label("account_id"),
        sa.func.sum(tallies.c.credits).label("credits"),
    ).join_from(groups, tallies)
    query = (
        query.where(columns.campaign_id < first)
        .group_by(columns.campaign_id, columns.account_id)
        .order_by(columns.campaign_id)
    )
    for row in stream(tx, query):
        campaign = ids.text_of_raw(CAMPAIGN_PREFIX, row.campaign_id)
        yield _SendCredits(row.campaign_id, row.account_id, campaign, int(row.credits), 0)


def _by_entries(tx: Connection, first: str, found: list[Discrepancy]) -> Iterator[_SendCredits]:
    columns = ledger_entries.c
    # text ids are in the order of raw ones
    first_send, first_campaign = _send(first), ids.text_of_raw(CAMPAIGN_PREFIX, first)
    query = sa.select(
        raw_id(columns.id).label("id"),
        raw_id(columns.account_id).label("account_id"),
        columns.type,
        columns.credits,
        columns.reference,
    )
    query = query.where(columns.type.in_(("sms_charge", "sms_refund"))).order_by(columns.id)
    for entry in stream_records(tx, query, _SmsEntry):
        reference = entry.reference
        if reference is None:
            found.append(
                Discrepancy(
                    entry.account_id,
                    f"the entry {ids.text_of_raw(ledger.ID_PREFIX, entry.id)} names neither a send"
                    " nor a campaign",
                )
            )
        elif SEND_PREFIX < reference < first_send:
            continue
        elif entry.type == "sms_charge" or CAMPAIGN_PREFIX < reference < first_campaign:
            # below zero: a charge takes credits away
            yield _SendCredits(entry.id, entry.account_id, reference, entry.credits, 0)
        else:
            yield _SendCredits(entry.id, entry.account_id, reference, 0, -entry.credits)


def _send(raw: str) -> str:
    return ids.text_of_raw(SEND_PREFIX, raw)
