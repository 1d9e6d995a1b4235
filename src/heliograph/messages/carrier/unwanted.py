"""Finds which messages that come back to the queue are wanted no more, because their recipients
have opted out since they were accepted.

A text that passes opt-outs, such as the confirmation of one, is accepted after the opt-out that it
passes. So a text that is older than the opt-out does not pass it; a campaign's never does.
"""

from collections.abc import Iterable
from typing import Final

from heliograph.base import ids
from heliograph.database.hot import HotTx
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Row
from heliograph.messages.changes import MessageRow


class _ComesBack(Row, frozen=True):
    message_id: Id
    send_id: Id
    account_id: Id
    sandbox: Bool
    phone: BigInt


class _OptedOutOf(Row, frozen=True):
    """Names an opt-out that a message falls under. Its id says when it was made."""

    message_id: Id
    opt_out_id: Id


# a sender as opt-outs know it (`opt_outs.folded_sender`): only digits are written with a plus
FOLDED_SENDER: Final = "ltrim(lower(s.sender), '+')"
# OFFSET 0, and CROSS JOIN on SQLite, leave no other way than to look into the index once for each.
_OPTED_OUT: Final = BatchStatement(
    _ComesBack,
    _OptedOutOf,
    postgresql=f"""
        SELECT g.message_id, found.id AS opt_out_id FROM :given AS g, LATERAL (
            SELECT o.id, o.sender FROM suppressions o WHERE o.account_id = g.account_id
                AND o.sandbox = g.sandbox AND o.phone = g.phone OFFSET 0) AS found, sends s
        WHERE s.id = g.send_id AND s.type <> 'otp'
            AND (found.sender = '' OR found.sender = {FOLDED_SENDER})""",
    sqlite=f"""
        SELECT g.value ->> 0 AS message_id, o.id AS opt_out_id FROM json_each(:given) AS g
            CROSS JOIN suppressions o ON o.account_id = g.value ->> 2
                AND o.sandbox = g.value ->> 3 AND o.phone = g.value ->> 4
            CROSS JOIN sends s ON s.id = g.value ->> 1
        WHERE s.type <> 'otp' AND (o.sender = '' OR o.sender = {FOLDED_SENDER})""",
)


def is_older(message_id: str, opt_out_id: str) -> bool:
    """Returns whether a message was accepted before an opt-out was made. Both ids are raw."""
    return ids.made_at_ms(int(message_id, 16)) < ids.made_at_ms(int(opt_out_id, 16))


async def unwanted_among(tx: HotTx, rows: Iterable[MessageRow]) -> set[str]:
    """Returns the ids (raw) of those messages under lock that are wanted no more. One-time
    passwords always are. Without messages, nothing is asked.
    """
    by_id = {row.id: row for row in rows if row.recipient is not None}
    found = await _OPTED_OUT.rows(
        tx,
        [
            _ComesBack(row.id, row.send_id, row.account_id, row.sandbox, row.recipient or 0)
            for row in by_id.values()
        ],
    )
    return {
        one.message_id
        for one in found
        if by_id[one.message_id].group_id is not None or is_older(one.message_id, one.opt_out_id)
    }
