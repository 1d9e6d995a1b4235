"""Says which messages an opt-out withdraws, and finds those among what comes back to the queue.

One-time passwords, the confirmation of an opt-out and what answers HELP are always wanted
(`answering_sends.outlives_opt_outs`). A text of a send that passes opt-outs is accepted after the
opt-out that it passes. So a text that is older than the opt-out does not pass it; a campaign's
never does.
"""

from collections.abc import Iterable
from typing import Final

from heliograph.base import ids
from heliograph.database.hot import HotTx
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Row, rows_by_key
from heliograph.messages.changes.collect import MessageRow


class _ReturningMessage(Row, frozen=True):
    message_id: Id
    send_id: Id
    account_id: Id
    sandbox: Bool
    phone: BigInt


class _OptedOutOf(Row, frozen=True):
    """Names an opt-out that a message falls under. Its id says when it was made."""

    message_id: Id
    opt_out_id: Id


# No transaction that stores an opt-out, or accepts a text beside it, takes longer.
ACCEPTED_BESIDE_MS: Final = 1_000
# a sender as opt-outs know it (`opt_outs.folded_sender`): only digits are written with a plus
FOLDED_SENDER: Final = "ltrim(lower(s.sender), '+')"
# a part of the condition that a message of the send `s` may be withdrawn by an opt-out
MAY_BE_UNWANTED: Final = """s.type <> 'otp' AND NOT EXISTS (
    SELECT 1 FROM answering_sends a WHERE a.send_id = s.id AND a.outlives_opt_outs)"""
_OPT_OUTS: Final = rows_by_key(
    "suppressions", "id, sender", account_id="g.account_id", sandbox="g.sandbox", phone="g.phone"
)
# CROSS JOIN leaves SQLite no other way than to look into the index once for each.
_OPTED_OUT: Final = BatchStatement(
    _ReturningMessage,
    _OptedOutOf,
    postgresql=f"""
        SELECT g.message_id, found.id AS opt_out_id
        FROM :given AS g, LATERAL {_OPT_OUTS} AS found, sends s
        WHERE s.id = g.send_id AND {MAY_BE_UNWANTED}
            AND (found.sender = '' OR found.sender = {FOLDED_SENDER})""",
    sqlite=f"""
        SELECT g.message_id AS message_id, o.id AS opt_out_id FROM json_each(:given) AS g
            CROSS JOIN suppressions o ON o.account_id = g.account_id
                AND o.sandbox = g.sandbox AND o.phone = g.phone
            CROSS JOIN sends s ON s.id = g.send_id
        WHERE {MAY_BE_UNWANTED} AND (o.sender = '' OR o.sender = {FOLDED_SENDER})""",
)


def is_withdrawn(message_id: str, group_id: int | None, opt_out_id: str | None) -> bool:
    """Returns whether an opt-out withdraws a message that may be unwanted. Ids are raw. `group_id`
    is that of a campaign's message. Without an opt-out that still holds, only a campaign's message
    is withdrawn. A text that was accepted within a second of the opt-out counts as older: whoever
    accepted it may not have seen the opt-out, which was being stored meanwhile.
    """
    if group_id is not None:
        return True
    if opt_out_id is None:
        return False
    accepted_ms, opted_out_ms = (ids.made_at_ms(int(raw, 16)) for raw in (message_id, opt_out_id))
    return accepted_ms <= opted_out_ms + ACCEPTED_BESIDE_MS


async def find_unwanted(tx: HotTx, rows: Iterable[MessageRow]) -> set[str]:
    """Returns the ids (raw) of those messages under lock that are wanted no more. Without messages,
    nothing is asked.
    """
    by_id = {row.id: row for row in rows if row.recipient is not None}
    found = await _OPTED_OUT.rows(
        tx,
        [
            _ReturningMessage(row.id, row.send_id, row.account_id, row.sandbox, row.recipient or 0)
            for row in by_id.values()
        ],
    )
    oldest: dict[str, str] = {}  # what has passed it passes those that came later
    for one in found:
        oldest[one.message_id] = min(one.opt_out_id, oldest.get(one.message_id, one.opt_out_id))
    return {
        message_id
        for message_id, opt_out_id in oldest.items()
        if is_withdrawn(message_id, by_id[message_id].group_id, opt_out_id)
    }
