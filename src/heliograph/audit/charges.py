"""Proof of the charges: what the ledger took and gave back for a send is what the send and its
messages say, once each.

Sends, messages and entries are each read once, in the order of their ids, which is the order of
time: what belongs together comes soon after one another, so only sends whose charge or refund is
still to come are kept in memory.

Entries stay for ever, messages may not (retention.py). What sends that were deleted have cost is
held against nothing; what a campaign has cost that may have had such, against its tally.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.messages.read import CAMPAIGN_PREFIX
from heliograph.messages.retention.retention import MESSAGES, first_kept
from heliograph.messages.tables import groups, messages, sends, tallies
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy, raw_id, streamed
from heliograph.wallet.tables import ledger_entries

_SEND: Final = "snd"


class _Total(NamedTuple):
    """What the messages of one send add up to that are of one account and mode. Ids are raw."""

    send_id: str
    account_id: str
    sandbox: bool
    messages: int
    credits: int
    refunded: int


class _Part(NamedTuple):
    """Credits of one send as one source tells them: the messages with their own sign, the
    ledger with the opposite one.
    """

    id: str  # of the send or the entry, raw: what all sources are ordered by
    account_id: str
    # the id of the send, or of its campaign, in text form, as the ledger refers to it
    paid_for: str
    charged: int
    refunded: int


def verify_charges(tx: Connection) -> list[Discrepancy]:
    """What is wrong with charges and refunds; nothing, if all agree. At most DISCREPANCIES_MAX."""
    found: list[Discrepancy] = []
    # (account, send or campaign) → charged and refunded that the other source has not told yet
    open_: dict[tuple[str, str], tuple[int, int]] = {}
    first = first_kept(tx, MESSAGES)
    for part in merge(
        _by_messages(tx, first, found),
        _by_entries(tx, first, found),
        _by_tallies(tx, first),
        key=itemgetter(0),
    ):
        key = (part.account_id, part.paid_for)
        charged, refunded = open_.pop(key, (0, 0))
        left = (charged + part.charged, refunded + part.refunded)
        if left != (0, 0):
            open_[key] = left
        if len(found) >= DISCREPANCIES_MAX:
            break
    for (account_id, paid_for), (charged, refunded) in open_.items():
        if len(found) >= DISCREPANCIES_MAX:
            break
        differences = [
            f"{kind} {abs(credits)} credits {'less' if credits > 0 else 'more'} than its"
            " messages say"
            for kind, credits in (("charged", charged), ("refunded", refunded))
            if credits
        ]
        found.append(
            Discrepancy(account_id, f"for {paid_for} the ledger {' and '.join(differences)}")
        )
    return found[:DISCREPANCIES_MAX]


def _by_messages(tx: Connection, first: str, found: list[Discrepancy]) -> Iterator[_Part]:
    """Sends, from the id `first` on, joined with the sums of their messages; what does not agree
    between the two goes to `found`.
    """
    totals = _totals(tx, first)
    total = next(totals, None)
    columns = sends.c
    query = sa.select(
        raw_id(columns.id),
        raw_id(columns.account_id),
        columns.sandbox,
        columns.message_count,
        columns.credits_used,
        raw_id(groups.c.campaign_id),
    ).outerjoin_from(sends, groups, groups.c.id == columns.group_id)
    query = query.where(columns.id >= first)
    for send_id, account_id, sandbox, message_count, credits_used, campaign_id in streamed(
        tx, query.order_by(columns.id)
    ):
        while total is not None and total.send_id < send_id:
            found.append(
                Discrepancy(
                    total.account_id,
                    f"messages belong to the send {_send(total.send_id)}, which is not there",
                )
            )
            total = next(totals, None)
        count = credits = refunded = 0
        while total is not None and total.send_id == send_id:
            if (total.account_id, total.sandbox) != (account_id, sandbox):
                what = (
                    f"of the send {_send(send_id)} {total.messages} messages are another account's,"
                    " or of the other mode"
                )
                found.append(Discrepancy(account_id, what))
            count, credits, refunded = (
                count + total.messages,
                credits + total.credits,
                refunded + total.refunded,
            )
            total = next(totals, None)
        if count != message_count:
            found.append(
                Discrepancy(
                    account_id,
                    f"the send {_send(send_id)} has {count} of its {message_count} messages",
                )
            )
        if credits_used != credits:
            found.append(
                Discrepancy(
                    account_id,
                    f"the send {_send(send_id)} says {credits_used} credits, its messages"
                    f" {credits}",
                )
            )
        if (credits_used or refunded) and (campaign_id is None or campaign_id >= first):
            paid_for = (
                _send(send_id)
                if campaign_id is None
                else ids.text_of_raw(CAMPAIGN_PREFIX, campaign_id)
            )
            yield _Part(send_id, account_id, paid_for, credits_used, refunded)
    if total is not None:
        found.append(
            Discrepancy(
                total.account_id,
                f"messages belong to the send {_send(total.send_id)}, which is not there",
            )
        )


def _totals(tx: Connection, first: str) -> Iterator[_Total]:
    """Of each send: its messages are a run of ids, so they come one after the other."""
    columns = messages.c
    query = sa.select(
        raw_id(columns.send_id),
        raw_id(columns.account_id),
        columns.sandbox,
        columns.credits,
        columns.refunded,
    )
    query = query.where(columns.id >= first)
    for (send_id, account_id, sandbox), rows in groupby(
        streamed(tx, query.order_by(columns.id)), key=itemgetter(0, 1, 2)
    ):
        count = credits = refunded = 0
        for row in rows:
            count += 1
            credits += row.credits
            refunded += row.refunded
        yield _Total(send_id, account_id, sandbox, count, credits, refunded)


def _by_tallies(tx: Connection, first: str) -> Iterator[_Part]:
    """Campaigns that were made before the first message that is kept, by what was charged for them
    less what was paid back.
    """
    columns = groups.c
    query: Any = sa.select(
        raw_id(columns.campaign_id), raw_id(columns.account_id), sa.func.sum(tallies.c.credits)
    ).join_from(groups, tallies)
    query = (
        query.where(columns.campaign_id < first)
        .group_by(columns.campaign_id, columns.account_id)
        .order_by(columns.campaign_id)
    )
    for campaign_id, account_id, credits in streamed(tx, query):
        yield _Part(
            campaign_id, account_id, ids.text_of_raw(CAMPAIGN_PREFIX, campaign_id), int(credits), 0
        )


def _by_entries(tx: Connection, first: str, found: list[Discrepancy]) -> Iterator[_Part]:
    columns = ledger_entries.c
    # text ids are in the order of raw ones
    first_send, first_campaign = _send(first), ids.text_of_raw(CAMPAIGN_PREFIX, first)
    query = sa.select(
        raw_id(columns.id),
        raw_id(columns.account_id),
        columns.type,
        columns.credits,
        columns.reference,
    )
    query = query.where(columns.type.in_(("sms_charge", "sms_refund"))).order_by(columns.id)
    for entry_id, account_id, kind, credits, reference in streamed(tx, query):
        if reference is None:
            found.append(
                Discrepancy(
                    account_id,
                    f"the entry {ids.text_of_raw('txn', entry_id)} names neither a send nor a"
                    " campaign",
                )
            )
        elif _SEND < reference < first_send:
            continue
        elif kind == "sms_charge" or CAMPAIGN_PREFIX < reference < first_campaign:
            # below zero: a charge takes credits away
            yield _Part(entry_id, account_id, reference, credits, 0)
        else:
            yield _Part(entry_id, account_id, reference, 0, -credits)


def _send(raw: str) -> str:
    return ids.text_of_raw(_SEND, raw)
