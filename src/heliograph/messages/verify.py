"""Proof of the charges: what the ledger took and gave back for a send is what the send and its messages say, once each.

Sends, messages and entries are each read once, in the order of their ids, which is the order of time: what belongs together
comes soon after one another, so only sends whose charge or refund is still to come are kept in memory.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.messages.tables import messages, sends
from heliograph.wallet import DISCREPANCIES_MAX, Discrepancy, raw_id, streamed
from heliograph.wallet.tables import ledger_entries


class _Part(NamedTuple):
    """Credits of one send as one source tells them: the messages with their own sign, the ledger with the opposite one."""

    id: str  # of the send or the entry, raw: what all sources are ordered by
    account_id: str
    send: str  # its id in text form, as the ledger refers to it
    charged: int
    refunded: int


def verify_charges(tx: Connection) -> list[Discrepancy]:
    """What is wrong with charges and refunds; nothing, if all agree. At most DISCREPANCIES_MAX."""
    found: list[Discrepancy] = []
    open_: dict[tuple[str, str], tuple[int, int]] = {}  # (account, send) → charged and refunded that the other source has not told yet
    for part in merge(_by_messages(tx, found), _by_entries(tx, found), key=itemgetter(0)):
        key = (part.account_id, part.send)
        charged, refunded = open_.pop(key, (0, 0))
        left = (charged + part.charged, refunded + part.refunded)
        if left != (0, 0):
            open_[key] = left
        if len(found) >= DISCREPANCIES_MAX:
            break
    for (account_id, send), (charged, refunded) in open_.items():
        if len(found) >= DISCREPANCIES_MAX:
            break
        differences = [f"{kind} {abs(credits)} credits {'less' if credits > 0 else 'more'} than its messages say"
                       for kind, credits in (("charged", charged), ("refunded", refunded)) if credits]
        found.append(Discrepancy(account_id, f"for the send {send} the ledger {' and '.join(differences)}"))
    return found[:DISCREPANCIES_MAX]


def _by_messages(tx: Connection, found: list[Discrepancy]) -> Iterator[_Part]:
    """Sends joined with the sums of their messages; what does not agree between the two goes to `found`."""
    totals = _totals(tx)
    total = next(totals, None)
    columns = sends.c
    query = sa.select(raw_id(columns.id), raw_id(columns.account_id), columns.message_count, columns.credits_used).order_by(columns.id)
    for send_id, account_id, message_count, credits_used in streamed(tx, query):
        while total is not None and total[0] < send_id:
            found.append(Discrepancy(total[1], f"messages belong to the send {_send(total[0])}, which is not there"))
            total = next(totals, None)
        count = credits = refunded = 0
        if total is not None and total[0] == send_id:
            _, _, count, credits, refunded = total
            total = next(totals, None)
        if count != message_count:
            found.append(Discrepancy(account_id, f"the send {_send(send_id)} has {count} of its {message_count} messages"))
        if credits_used != credits:
            found.append(Discrepancy(account_id, f"the send {_send(send_id)} says {credits_used} credits, its messages {credits}"))
        if credits_used or refunded:
            yield _Part(send_id, account_id, _send(send_id), credits_used, refunded)
    if total is not None:
        found.append(Discrepancy(total[1], f"messages belong to the send {_send(total[0])}, which is not there"))


def _totals(tx: Connection) -> Iterator[tuple[str, str, int, int, int]]:
    """(send, account, messages, credits, refunded) of each send: its messages are a run of ids, so they come one after the other."""
    columns = messages.c
    query = sa.select(raw_id(columns.send_id), raw_id(columns.account_id), columns.credits, columns.refunded).order_by(columns.id)
    for (send_id, account_id), rows in groupby(streamed(tx, query), key=itemgetter(0, 1)):
        count = credits = refunded = 0
        for row in rows:
            count += 1
            credits += row[2]
            refunded += row[3]
        yield send_id, account_id, count, credits, refunded


def _by_entries(tx: Connection, found: list[Discrepancy]) -> Iterator[_Part]:
    columns = ledger_entries.c
    query = sa.select(raw_id(columns.id), raw_id(columns.account_id), columns.type, columns.credits, columns.reference)
    query = query.where(columns.type.in_(("sms_charge", "sms_refund"))).order_by(columns.id)
    for entry_id, account_id, kind, credits, reference in streamed(tx, query):
        if reference is None:
            found.append(Discrepancy(account_id, f"the entry {ids.text_of_raw('txn', entry_id)} names no send"))
        elif kind == "sms_charge":
            yield _Part(entry_id, account_id, reference, credits, 0)  # below zero: a charge takes credits away
        else:
            yield _Part(entry_id, account_id, reference, 0, -credits)


def _send(raw: str) -> str:
    return ids.text_of_raw("snd", raw)
