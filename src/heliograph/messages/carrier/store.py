"""Stores what a turn or a sweep decided: messages, what goes back to the queue, and refunds with
their ledger entries.
"""

from collections import defaultdict

from heliograph.base import ids
from heliograph.database.hot import HotTx, run_meanwhile
from heliograph.messages import groups
from heliograph.messages.accept import read_sql
from heliograph.messages.carrier import messages_sql
from heliograph.messages.carrier.inflight_sql import OUTSTANDING, InFlightOf
from heliograph.messages.carrier.messages_sql import SettledMessage
from heliograph.messages.carrier.settle import move, refund_due
from heliograph.messages.carrier.withdrawn_by_opt_out import find_unwanted
from heliograph.messages.changes import rollups
from heliograph.messages.changes.collect import Changes, MessageRow, requeued_run
from heliograph.messages.changes.events import events_of, listeners_of_changes
from heliograph.messages.changes.tallies import tallies_added
from heliograph.messages.queue.rank import HELD_FROM_US
from heliograph.messages.queue.sql import QUEUE_AGAIN
from heliograph.messages.read.message import CAMPAIGN_PREFIX, SEND_PREFIX
from heliograph.messages.states import FAILED
from heliograph.wallet import INSERT_ENTRIES, Entry, alarm, ledger
from heliograph.wallet.store_figures import RefundedWallet, store_refunded
from heliograph.webhooks import emit_rows, rows_of


async def store_changes(tx: HotTx, carrier_id: int, changes: Changes) -> None:
    """Writes all changes, and the events that tell of them. Refunds are decided here: once
    nothing of a failed message is on the wire any more.
    """
    await _block_unwanted(tx, changes)
    failed = [
        row for row in changes.messages.values() if row.status == FAILED and refund_due(row) > 0
    ]
    refunds = await _refunds(tx, failed)
    for row, credits in refunds:
        row.refunded += credits
        row.changed = True
    listeners = listeners_of_changes(changes)
    storing = messages_sql.store_messages(
        tx, [_settled_row(row) for _, row in sorted(changes.messages.items()) if row.changed]
    )
    event_rows = await run_meanwhile(
        storing, lambda: rows_of(listeners, events_of(changes, listeners))
    )
    if refunds:
        await _pay_back(tx, refunds, changes.now_ms)
    await _queue_again(tx, carrier_id, changes)
    if moved := tallies_added(changes.messages.values()):
        await groups.add(tx, moved.items(), carrier_id)
    await rollups.mark(tx, changes.messages.values())
    await emit_rows(tx, event_rows)


async def _block_unwanted(tx: HotTx, changes: Changes) -> None:
    """Fails what comes back from a carrier for people who have opted out meanwhile. It is asked
    under the lock of the messages: an opt-out that waits for it looks for them again.
    """
    for message_id in await find_unwanted(tx, map(changes.messages.__getitem__, changes.requeued)):
        if move(changes.messages[message_id], FAILED, changes.now_ms, "blocked"):
            del changes.requeued[message_id]


async def _queue_again(tx: HotTx, carrier_id: int, changes: Changes) -> None:
    """Queues what comes back from a carrier. Messages of a paused campaign go to where its other
    messages are held.
    """
    group_of = {
        message_id: changes.messages[message_id].group_id for message_id in changes.requeued
    }
    held = await groups.find_held(
        tx, {group_id for group_id in group_of.values() if group_id is not None}
    )
    await QUEUE_AGAIN.rows(
        tx,
        [
            requeued_run(changes.messages[message_id], back, carrier_id).moved(
                HELD_FROM_US * (group_of[message_id] in held)
            )
            for message_id, back in changes.requeued.items()
        ],
    )


async def _refunds(tx: HotTx, failed: list[MessageRow]) -> list[tuple[MessageRow, int]]:
    several = [row.id for row in failed if row.segments > 1]
    outstanding = {
        message.message_id
        for message in await OUTSTANDING.rows(
            tx, [InFlightOf(message_id) for message_id in several]
        )
    }
    return [(row, refund_due(row)) for row in failed if row.id not in outstanding]


def _settled_row(row: MessageRow) -> SettledMessage:
    return SettledMessage(
        row.id,
        row.status,
        row.parts_accepted,
        parts_delivered=row.parts_delivered,
        error_code=row.error_code,
        error_message=row.error_message,
        refunded=row.refunded,
        sent_at_ms=row.sent_at_ms,
        delivered_at_ms=row.delivered_at_ms,
        failed_at_ms=row.failed_at_ms,
    )


async def _credits_by_send(
    tx: HotTx, refunds: list[tuple[MessageRow, int]]
) -> dict[tuple[str, str], list[int]]:
    """Returns the credits to pay back by account and by the send or campaign, in text form."""
    campaigns = await groups.campaigns_of(
        tx, {row.group_id for row, _ in refunds if row.group_id is not None}
    )
    by_send: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, credits in refunds:
        reference = (
            ids.text_of_raw(SEND_PREFIX, row.send_id)
            if row.group_id is None
            else ids.text_of_raw(CAMPAIGN_PREFIX, campaigns[row.group_id])
        )
        by_send[row.account_id, reference].append(credits)
    return by_send


async def _pay_back(tx: HotTx, refunds: list[tuple[MessageRow, int]], now_ms: int) -> None:
    """Writes one ledger entry for each send or campaign. The figures after it are taken under
    the wallets' locks.
    """
    by_send = await _credits_by_send(tx, refunds)
    wallets = {
        wallet.account_id: wallet
        for wallet in await read_sql.lock_wallets(
            tx, sorted({account_id for account_id, _ in by_send})
        )
    }
    credits = {account_id: wallet.sms_credits for account_id, wallet in wallets.items()}
    entries: list[Entry] = []
    # a series of ids, made under the locks: the ledger lists entries in the order of their figures
    first_entry = ids.new_number()
    for (account_id, reference), paid_back in sorted(by_send.items()):
        credits[account_id] += sum(paid_back)
        wallet = wallets[account_id]
        count = len(paid_back)
        entries.append(
            Entry(
                ids.raw_of_number(first_entry + len(entries)),
                account_id,
                ledger.SALES_ID,
                type="sms_refund",
                currency=wallet.currency,
                amount_minor=0,
                credits=sum(paid_back),
                balance_after_minor=wallet.balance_minor,
                credits_after=credits[account_id],
                description=_refund_in_words(count),
                reference=reference,
                created_at_ms=now_ms,
            )
        )
    await store_refunded(
        tx,
        [_wallet_after_refund(wallet, credits[wallet.account_id]) for wallet in wallets.values()],
    )
    await INSERT_ENTRIES.rows(tx, entries)


def _refund_in_words(messages: int) -> str:
    """Returns what the ledger says of a refund, whyever its messages were not sent: a carrier
    refused them, they expired, or they were canceled.
    """
    if messages == 1:
        return "Refund for 1 message that was not sent"
    return f"Refund for {messages} messages that were not sent"


def _wallet_after_refund(wallet: read_sql.LockedWallet, sms_credits: int) -> RefundedWallet:
    """Returns a locked wallet as it is after its refunds: with so many credits."""
    judged = alarm.judge(
        is_armed=wallet.credits_alarm_armed,
        before=wallet.sms_credits,
        after=sms_credits,
        threshold=wallet.low_balance_credits,
    )
    return RefundedWallet(wallet.account_id, sms_credits, judged.is_armed)
