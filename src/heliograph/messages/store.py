"""Storing what a turn or a sweep decided: messages, what goes back to the queue, and refunds with their ledger entries."""

from collections import defaultdict

from heliograph.base import ids
from heliograph.base.hot import HotTx, meanwhile
from heliograph.messages import accept_sql, groups, turn_sql
from heliograph.messages.events import events_of, listeners_to
from heliograph.messages.fair import HELD_FROM_US
from heliograph.messages.read import CAMPAIGN_PREFIX
from heliograph.messages.settle import Changes, MessageRow, refund_due
from heliograph.messages.states import FAILED
from heliograph.wallet import SALES_ID
from heliograph.webhooks import emit_rows, rows_of

_REFUND = """
    UPDATE wallets SET sms_credits = w.sms_credits, credits_alarm_armed = w.armed
    FROM unnest($1::uuid[], $2::bigint[], $3::bool[]) AS w (account_id, sms_credits, armed) WHERE wallets.account_id = w.account_id"""
_REFUND_SQLITE = "UPDATE wallets SET sms_credits = ?2, credits_alarm_armed = ?3 WHERE account_id = ?1"

_REFUND_ENTRIES = """
    INSERT INTO ledger_entries (id, account_id, counterpart_id, type, currency, amount_minor, credits, balance_after_minor, credits_after,
                                description, reference, created_at_ms)
    SELECT id, account_id, counterpart_id, 'sms_refund', currency, 0, credits, balance_after, credits_after, description, reference, created_at_ms
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::bigint[])
         AS e (id, account_id, counterpart_id, currency, credits, balance_after, credits_after, description, reference, created_at_ms)"""
_REFUND_ENTRIES_SQLITE = """
    INSERT INTO ledger_entries (id, account_id, counterpart_id, type, currency, amount_minor, credits, balance_after_minor, credits_after,
                                description, reference, created_at_ms)
    VALUES (?, ?, ?, 'sms_refund', ?, 0, ?, ?, ?, ?, ?, ?)"""


async def store_changes(tx: HotTx, carrier_id: int, changes: Changes) -> None:
    """Writes all changes, and the events that tell of them. Refunds are decided here: once nothing of a failed message is on the wire any more."""
    failed = [row for row in changes.messages.values() if row.status == FAILED and refund_due(row) > 0]
    refunds = await _refunds(tx, failed)
    for row, credits in refunds:
        row.refunded += credits
        row.changed = True
    heard_by = listeners_to(changes)
    storing = turn_sql.store_messages(tx, [_stored(row) for _, row in sorted(changes.messages.items()) if row.changed])
    told = await meanwhile(storing, lambda: rows_of(heard_by, events_of(changes, heard_by)))
    if refunds:
        await _pay_back(tx, refunds, changes.now_ms)
    await _queue_again(tx, carrier_id, changes)
    if moved := groups.moved(changes.messages.values()):
        await groups.add(tx, moved.items(), carrier_id)
    await emit_rows(tx, told)


async def _queue_again(tx: HotTx, carrier_id: int, changes: Changes) -> None:
    """What comes back from a carrier; of a campaign that is paused, to where all of it waits."""
    group_of = {message_id: changes.messages[message_id].group_id for message_id in changes.requeued}
    held = await groups.to_be_held(tx, {group_id for group_id in group_of.values() if group_id is not None})
    await turn_sql.QUEUE_AGAIN.rows(tx, [
        (carrier_id, back.rank_us + HELD_FROM_US * (group_of[back.message_id] in held), back.message_id, 1, back.send_id, back.segments, back.prefix,
         back.attempt, back.not_before_ms, back.expires_at_ms) for back in changes.requeued.values()])


async def _refunds(tx: HotTx, failed: list[MessageRow]) -> list[tuple[MessageRow, int]]:
    several = [row.id for row in failed if row.segments > 1]
    outstanding = {row[0] for row in await turn_sql.OUTSTANDING.over(tx, several)} if several else set()
    return [(row, refund_due(row)) for row in failed if row.id not in outstanding]


def _stored(row: MessageRow) -> tuple[object, ...]:
    return (row.id, row.status, row.parts_accepted, row.parts_delivered, row.error_code, row.error_message, row.refunded, row.sent_at_ms,
            row.delivered_at_ms, row.failed_at_ms)


async def _pay_back(tx: HotTx, refunds: list[tuple[MessageRow, int]], now_ms: int) -> None:
    """One ledger entry a send, or campaign; the figures after it are taken under the wallets' locks."""
    campaigns = await groups.campaigns_of(tx, {row.group_id for row, _ in refunds if row.group_id is not None})
    by_send: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, credits in refunds:
        reference = ids.text_of_raw("snd", row.send_id) if row.group_id is None else ids.text_of_raw(CAMPAIGN_PREFIX, campaigns[row.group_id])
        by_send[row.account_id, reference].append(credits)
    wallets = {row[0]: row for row in await accept_sql.lock_wallets(tx, sorted({account_id for account_id, _ in by_send}))}
    held = {account_id: row[1] for account_id, row in wallets.items()}
    entries: list[tuple[object, ...]] = []
    first_entry = ids.new_number()  # a run, made under the locks: the ledger lists the entries in the order of their figures
    for (account_id, reference), paid_back in sorted(by_send.items()):
        held[account_id] += sum(paid_back)
        wallet = wallets[account_id]
        count = len(paid_back)
        entries.append((ids.raw_of_number(first_entry + len(entries)), account_id, SALES_ID, wallet[5], sum(paid_back), wallet[4], held[account_id],
                        f"Refund for {count} message{'s' * (count > 1)} not accepted by any carrier", reference, now_ms))
    rows = [(account_id, credits, bool(wallets[account_id][7]) or credits >= (wallets[account_id][6] or 0)) for account_id, credits in held.items()]
    await tx.over(_REFUND if tx.postgresql else _REFUND_SQLITE, *map(list, zip(*rows, strict=True)))
    await tx.over(_REFUND_ENTRIES if tx.postgresql else _REFUND_ENTRIES_SQLITE, *map(list, zip(*entries, strict=True)))
