"""Receipts settle doubts (docs/api.md, "Doubt"; docs/decisions/messages.md, M3). Of what was
submitted and never answered, they are the only word that comes.

A receipt finds its message by the carrier's id (that is done in the turn), else by the
user_message_reference that it brings back, else as the only message in doubt of that carrier with
that recipient and sender. If it could be two, that is one too many: nothing is settled by guess.
Where ids do not tell (there is none, or it is not known yet how they are printed), those that the
carrier has accepted count among the two. What finds nothing stays where it is for 72 h; an answer
that comes late still finds it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from heliograph.base import ids
from heliograph.base.paging import first_id_of
from heliograph.carriers import ReceiptState, SubmitAnswer, SubmitOutcome
from heliograph.carriers.smpp import user_message_reference
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.messages.carrier.inflight_sql import END_INFLIGHT, NOBODY, Try
from heliograph.messages.carrier.match import handsets, readings
from heliograph.messages.carrier.refs import AUTO, CarrierFacts
from heliograph.messages.carrier.refs_sql import (
    FORGET_RECEIPT,
    REF_OF_ANSWER,
    AnsweredRef,
    OfCarrier,
    ReceiptKey,
    Since,
)
from heliograph.messages.carrier.settle import (
    LAST_DIGITS,
    agrees,
    is_from,
    settle_answer,
    settle_receipt,
)
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes.collect import Changes
from heliograph.messages.changes.message_lock import lock_messages
from heliograph.messages.doubt import doubts_sql
from heliograph.messages.doubt.doubts_sql import OnTheWire, OwedReceiptQuery, StoredReceipt
from heliograph.messages.doubt.plausible_match import may_belong
from heliograph.messages.states import FINAL_RECEIPTS
from heliograph.messages.tables import RECEIPTS_KEPT_MS

RECEIPTS_MAX: Final = 2_000  # looked at in one transaction, of each kind, newest first


Pair = tuple[StoredReceipt, OnTheWire]


async def match_doubts(db: Database, carrier: CarrierFacts, since_ms: int, now_ms: int) -> int:
    """Settles the segments in doubt whose receipts came at `since_ms` or later. Returns how
    many.
    """
    async with db.hot() as tx:
        of_carrier = OfCarrier(carrier.id)
        if not await doubts_sql.ANY_IN_DOUBT.rows(tx, of_carrier):
            return 0
        since = Since(carrier.id, since_ms, RECEIPTS_MAX)
        unmatched = await doubts_sql.WITH_AN_ID.rows(tx, since) + await doubts_sql.WITHOUT.rows(
            tx, since
        )
        if not unmatched:
            return 0
        on_the_wire = await doubts_sql.ON_THE_WIRE.rows(tx, of_carrier)
        pairs = pair_by_reference(unmatched, on_the_wire)
        # only a last word needs no id to be remembered by, while it is not known how ids are
        # printed
        if carrier.id_format == AUTO:
            pairs = [(receipt, segment) for receipt, segment in pairs if _needs_no_id(receipt)]
            unmatched = [receipt for receipt in unmatched if _needs_no_id(receipt)]
        guessed = pair_the_only_one(
            unmatched,
            on_the_wire,
            {segment.key for _, segment in pairs},
            last_only=carrier.receipts == "last",
        )
        others = await _may_be_of_others(tx, carrier, guessed, now_ms)
        pairs += [
            (receipt, segment) for receipt, segment in guessed if segment.message_id not in others
        ]
        return await adopt(tx, carrier, pairs, now_ms)


def pair_by_reference(
    unmatched: Iterable[StoredReceipt], on_the_wire: Iterable[OnTheWire]
) -> list[Pair]:
    """Pairs receipts that bring back the reference of exactly one segment with it, if it is in
    doubt. The first receipt counts for each.
    """
    referred: dict[int, list[OnTheWire]] = defaultdict(list)
    for segment in on_the_wire:
        referred[user_message_reference(segment.message_id, segment.part)].append(segment)
    found: dict[tuple[str, int], Pair] = {}
    for receipt in sorted(unmatched, key=_time_order):
        if receipt.names_a_part and receipt.reference is not None:
            candidates = [
                segment
                for segment in referred.get(receipt.reference, ())
                if may_belong(receipt, segment)
            ]
            if len(candidates) == 1 and candidates[0].is_in_doubt:
                found.setdefault(candidates[0].key, (receipt, candidates[0]))
    return list(found.values())


def pair_the_only_one(
    unmatched: Iterable[StoredReceipt],
    on_the_wire: Sequence[OnTheWire],
    settled: set[tuple[str, int]],
    *,
    last_only: bool,
) -> list[Pair]:
    """Pairs receipts that can belong to one message only with the parts of that message, in order,
    if all of its parts on the wire are in doubt. A receipt that names a part by reference is never
    paired by a guess: if it names none of these parts, it is another message's.
    """
    by_digits: dict[int, list[OnTheWire]] = defaultdict(list)
    by_message: dict[str, list[OnTheWire]] = defaultdict(list)
    for segment in on_the_wire:
        if segment.recipient is not None:
            by_digits[segment.recipient % LAST_DIGITS].append(segment)
            by_message[segment.message_id].append(segment)
    of_message: dict[str, list[StoredReceipt]] = defaultdict(list)
    for receipt in sorted(unmatched, key=_time_order):
        if receipt.recipient is not None and not receipt.names_a_part:
            candidates = {
                segment.message_id
                for segment in by_digits.get(receipt.recipient % LAST_DIGITS, ())
                if may_belong(receipt, segment)
            }
            if len(candidates) == 1:
                of_message[candidates.pop()].append(receipt)
    pairs: list[Pair] = []
    for message_id, receipts in of_message.items():
        segments = by_message[message_id]
        in_doubt = sorted(
            segment
            for segment in segments
            if segment.key not in settled and (not last_only or _is_last(segment))
        )
        may_come = sum(segment.tries_in_doubt for segment in in_doubt)
        if all(segment.is_in_doubt for segment in segments) and len(receipts) <= may_come:
            pairs += zip(receipts, in_doubt, strict=False)
    return pairs


def _time_order(receipt: StoredReceipt) -> tuple[int, str]:
    return receipt.at_ms, receipt.ref_or_row_id


def _is_last(segment: OnTheWire) -> bool:
    return bool(segment.parts >> (segment.segments - 1))


def _needs_no_id(receipt: StoredReceipt) -> bool:
    return not receipt.has_id or ReceiptState(receipt.state) in FINAL_RECEIPTS


async def _may_be_of_others(
    tx: HotTx, carrier: CarrierFacts, pairs: Sequence[Pair], now_ms: int
) -> set[str]:
    """Finds the messages whose receipts may also belong to another message, one that is in doubt no
    more. That message went to the same handset, from the same sender. The carrier was given a part
    of it whose id was never learnt, or its id is one reading of the receipt's id. Where ids do not
    tell, it may also be a message that the carrier has accepted and whose receipt is still to come.
    To which part of one message a receipt without an id belongs makes no difference.
    """
    since, nobody = first_id_of(now_ms - RECEIPTS_KEPT_MS), ids.raw_of_number(0)
    segments = {segment.message_id: segment for _, segment in pairs}
    # its own accepted parts may be meant
    named = {
        segment.message_id
        for receipt, segment in pairs
        if receipt.has_id and carrier.id_format == AUTO
    }
    unnamed = {segment.message_id for receipt, segment in pairs if not receipt.has_id}
    owed: dict[str, list[str]] = defaultdict(list)
    for found in await doubts_sql.OWED_RECEIPTS.rows(
        tx,
        [
            OwedReceiptQuery(
                message_id,
                since,
                nobody if message_id in named else message_id,
                segment.account_id,
                segment.recipient,
                accepted=message_id in named | unnamed,
            )
            for message_id, segment in sorted(segments.items())
        ],
    ):
        owed[found.message_id].append(found.sender)
    known = await handsets(
        tx, carrier.id, {ref for receipt, _ in pairs for ref in _readings(receipt)}
    )
    return {
        segment.message_id
        for receipt, segment in pairs
        if len(owed[segment.message_id]) == doubts_sql.OWED_RECEIPTS_MAX
        or any(is_from(sender, receipt.sender) for sender in owed[segment.message_id])
        or any(ref in known and agrees(known[ref], receipt.recipient) for ref in _readings(receipt))
    }


def _readings(receipt: StoredReceipt) -> set[str]:
    return readings(receipt.printed) if receipt.printed is not None else set()


async def adopt(tx: HotTx, carrier: CarrierFacts, pairs: list[Pair], now_ms: int) -> int:
    """Gives the receipt's id to the segment, as if the answer had come; then the receipt counts.
    Returns how many were adopted.
    """
    ended = {
        (in_flight.message_id, in_flight.part)
        for in_flight in await END_INFLIGHT.rows(
            tx,
            sorted(
                Try(segment.message_id, segment.part, segment.attempt, NOBODY)
                for _, segment in pairs
            ),
        )
    }
    # not settled by its answer meanwhile
    pairs = [(receipt, segment) for receipt, segment in pairs if segment.key in ended]
    results = {receipt.ref_or_row_id: (receipt.state, receipt.error) for receipt, _ in pairs}
    refs = await REF_OF_ANSWER.rows(
        tx,
        sorted(
            AnsweredRef(
                carrier.id, receipt.ref_or_row_id, segment.message_id, segment.parts, now_ms
            )
            for receipt, segment in pairs
            if receipt.has_id
        ),
    )
    # a receipt that came after the look at it is newer
    results |= {ref.ref: (ref.state, ref.error) for ref in refs if ref.state}
    changes = Changes.of(
        now_ms, await lock_messages(tx, {segment.message_id for _, segment in pairs})
    )
    for receipt, segment in pairs:
        in_flight = segment.in_flight
        settle_answer(
            changes,
            SubmitAnswer(
                in_flight.message_id,
                in_flight.part,
                in_flight.parts,
                in_flight.attempt,
                SubmitOutcome.ACCEPTED,
            ),
            in_flight,
            receipt_needless=False,
        )
        state, error = results[receipt.ref_or_row_id]
        settle_receipt(
            changes.messages[in_flight.message_id],
            in_flight.parts,
            ReceiptState(state),
            error,
            now_ms,
        )
    await FORGET_RECEIPT.rows(
        tx, sorted(ReceiptKey(receipt.ref_or_row_id) for receipt, _ in pairs if not receipt.has_id)
    )
    await store_changes(tx, carrier.id, changes)
    return len(pairs)
