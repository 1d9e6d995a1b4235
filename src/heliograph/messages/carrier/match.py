"""Receipts and messages are matched by the carrier's id. A receipt that matches none (yet) is
unmatched. This also learns how a carrier prints its ids.

A receipt is a message's if the id is the answer's and the handset agrees. All others are unmatched,
and are kept for 72 h. Where nobody has the id, the receipt is in the id's row of carrier_refs,
where an answer that comes late still finds it, and so may a doubt (`doubt/receipts.py`). Where
another message has it, the receipt has a row of its own, as it was printed. When it becomes known
how the carrier prints its ids, all of them are read as if they came then.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from heliograph.base import ids
from heliograph.carriers import Receipt, ReceiptState
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.messages.carrier import refs_sql
from heliograph.messages.carrier.refs import (
    AS_IS,
    AUTO,
    DEC,
    HEX,
    CarrierFacts,
    Ref,
    canonical_of_receipt,
    store_further_details,
    upsert,
)
from heliograph.messages.carrier.refs_sql import (
    After,
    OfCarrier,
    Oldest,
    ReadableReceipt,
    ReceiptKey,
    RefKey,
    Since,
    ToSetAside,
)
from heliograph.messages.carrier.settle import LAST_DIGITS, agrees, settle_receipt
from heliograph.messages.carrier.store import store_changes
from heliograph.messages.changes import message_lock
from heliograph.messages.changes.collect import Changes

# in one transaction; of each kind, newest first, where they are only looked at
UNMATCHED_AT_ONCE: Final = 500
# receipts that only one reading gives to a message of their handset, before that reading is
# believed
EVIDENCE_MIN: Final = 3
# of an id this large, or with letters, that is not a coincidence: one is evidence enough
LONG_ID: Final = 10_000
# A reading is believed when this many times more receipts speak for it than for all others. Another
# one may be the only one that finds a message, if the answer to the receipt's own message was lost.
MAJORITY: Final = 10
# as many of those a format needs that is not the one which the operator has set
RECEIPTS_AGAINST_SETTING: Final = 3


class Matching(NamedTuple):
    """Reports what became of receipts whose id belongs to a message."""

    settled: int
    # none of that message's; or, while the format is not known, perhaps another's of the same
    # handset
    foreign: list[Ref]
    evidence: int  # that the format in which they were read is the right one


async def match(
    tx: HotTx, carrier: CarrierFacts, refs: Sequence[Ref], changes: Changes
) -> Matching:
    """Settles the messages whose receipts are among these; the messages are locked."""
    receipts = [ref for ref in refs if ref.state is not None and ref.message_id in changes.messages]
    agreeing = [
        ref
        for ref in receipts
        if agrees(changes.messages[ref.message_id or ""].recipient, ref.recipient)
    ]
    unclear = await _unclear(tx, carrier.id, agreeing) if carrier.id_format == AUTO else frozenset()
    settled = [ref for ref in agreeing if ref.ref not in unclear]
    for ref in settled:
        settle_receipt(
            changes.messages[ref.message_id or ""],
            ref.parts or 0,
            ReceiptState(ref.state),
            ref.error,
            changes.now_ms,
        )
    foreign = _foreign(receipts, settled) if len(settled) < len(receipts) else []
    evidence = 0 if carrier.id_format == AS_IS else _evidence(settled)
    return Matching(len(settled), foreign, evidence)


def _foreign(receipts: Sequence[Ref], settled: Sequence[Ref]) -> list[Ref]:
    """Returns the receipts that settled nothing: of each id the latest, which stands in its row."""
    own = {id(ref) for ref in settled}
    latest = {ref.ref: ref for ref in receipts}
    return [ref for ref in latest.values() if id(ref) not in own]


def _evidence(settled: Sequence[Ref]) -> int:
    """Returns how strongly these matches prove the format of the carrier's ids. What a doubt has
    adopted proves nothing when its receipt comes again: no answer ever named it.
    """
    return sum(
        _weight(ref.ref, AS_IS) for ref in settled if ref.receipt is None or ref.printed is None
    )


async def _unclear(tx: HotTx, carrier_id: int, refs: Sequence[Ref]) -> frozenset[str]:
    """Returns the ids that, read in another format, are also the id of a message to the same
    handset, or may be when that message is answered.
    """
    others = {
        ref.ref: readings(ref.ref) - {ref.ref}
        for ref in refs
        if _is_decimal(ref.ref) and len(ref.ref) > 1
    }
    if not others:
        return frozenset()
    known = await handsets(tx, carrier_id, set().union(*others.values()))
    unanswered = await _unanswered(tx, carrier_id)
    unclear = set()
    for ref in refs:
        if ref.ref not in others:
            continue
        is_anothers = any(
            other in known and agrees(known[other], ref.recipient) for other in others[ref.ref]
        )
        may_become_anothers = (
            ref.recipient is not None
            and ref.recipient % LAST_DIGITS in unanswered
            and _weight(ref.ref, AS_IS) < EVIDENCE_MIN
        )
        if is_anothers or may_become_anothers:
            unclear.add(ref.ref)
    return frozenset(unclear)


async def set_aside(tx: HotTx, carrier_id: int, foreign: Sequence[Ref], now_ms: int) -> None:
    """Moves receipts out of the rows of messages to which they do not belong."""
    keys = sorted(RefKey(carrier_id, ref.ref) for ref in foreign)
    await store_further_details(tx, carrier_id, foreign)
    await refs_sql.SET_ASIDE.rows(tx, [_to_set_aside(key, now_ms) for key in keys])
    await refs_sql.CLEAR_REF.rows(tx, keys)


def _to_set_aside(key: RefKey, now_ms: int) -> ToSetAside:
    return ToSetAside(key.carrier_id, key.ref, ids.raw_of_number(ids.new_number(now_ms)), now_ms)


async def learn_id_format(
    db: Database, carrier: CarrierFacts, since_ms: int, matched: int
) -> str | None:
    """Returns how this carrier's receipts print its ids, if that is proven, else None.

    It is proven by what is unmatched, or by what has matched as ids are read now (`matched`, from
    Matching.evidence; with `auto`, as they are). Against a format that was set, small ids prove
    nothing, and one receipt proves too little.
    """
    async with db.hot() as tx:
        since = Since(carrier.id, since_ms, UNMATCHED_AT_ONCE)
        unmatched = [
            _PrintedReceipt(receipt.printed, receipt.recipient)
            for receipt in (
                *await refs_sql.PRINTED_REFS.rows(tx, since),
                *await refs_sql.PRINTED_RECEIPTS.rows(tx, since),
            )
            if receipt.recipient is not None
        ]
        known = await handsets(
            tx, carrier.id, {ref for receipt in unmatched for ref in readings(receipt.printed)}
        )
        unanswered = await _unanswered(tx, carrier.id)
    is_set = carrier.id_format != AUTO
    evidence: dict[str, int] = defaultdict(int, {carrier.id_format if is_set else AS_IS: matched})
    for receipt in unmatched:
        id_format = _only_format(receipt, known)
        if id_format is None:
            continue
        weight = _weight(canonical_of_receipt(receipt.printed, AS_IS), id_format)
        may_be_coincidence = is_set or receipt.recipient % LAST_DIGITS in unanswered
        if weight >= EVIDENCE_MIN or not may_be_coincidence:
            evidence[id_format] += weight
    return _proven(evidence, EVIDENCE_MIN * (RECEIPTS_AGAINST_SETTING if is_set else 1))


class _PrintedReceipt(NamedTuple):
    """Holds the id of an unmatched receipt as it is printed, and the handset that the receipt
    names.
    """

    printed: str
    recipient: int


def _only_format(receipt: _PrintedReceipt, known: Mapping[str, int | None]) -> str | None:
    """Returns the format in which a receipt's id is that of a message to its handset, if there is
    exactly one. `known` has, by id, the handset that the id's message is to.
    """
    format_of = {
        canonical_of_receipt(receipt.printed, id_format): id_format for id_format in (HEX, DEC)
    }
    format_of[canonical_of_receipt(receipt.printed, AS_IS)] = AS_IS
    possible = [
        id_format
        for ref, id_format in format_of.items()
        if known.get(ref) is not None and agrees(known[ref], receipt.recipient)
    ]
    return possible[0] if len(possible) == 1 else None


def _proven(evidence: Mapping[str, int], needed: int) -> str | None:
    """Returns the format for which there is enough evidence, and MAJORITY times as much as for all
    others together.
    """
    best = max(evidence, key=lambda id_format: evidence[id_format])
    others = sum(evidence.values()) - evidence[best]
    return best if evidence[best] >= max(needed, MAJORITY * others) else None


async def rematch(db: Database, carrier: CarrierFacts, now_ms: int) -> int:
    """Reads all unmatched receipts anew in the carrier's format as it is now. Returns how many
    found their message.
    """
    # first out of carrier_refs, all of them: the id of one, read anew, may be that of another one's
    # row
    while await _take_out(db, carrier.id, now_ms) == UNMATCHED_AT_ONCE:
        pass
    found, after = 0, ids.raw_of_number(0)
    while True:
        async with db.hot() as tx:
            rows = await refs_sql.UNMATCHED_RECEIPTS.rows(
                tx, After(carrier.id, after, UNMATCHED_AT_ONCE)
            )
            found += await _read_anew(
                tx, carrier, [row for row in rows if row.ref and row.ref.isprintable()], now_ms
            )
        if len(rows) < UNMATCHED_AT_ONCE:
            return found
        after = rows[-1].id


async def _take_out(db: Database, carrier_id: int, now_ms: int) -> int:
    async with db.hot() as tx:
        keys = sorted(
            RefKey(carrier_id, unmatched.ref)
            for unmatched in await refs_sql.UNMATCHED_REFS.rows(
                tx, Oldest(carrier_id, UNMATCHED_AT_ONCE)
            )
        )
        await refs_sql.SET_ASIDE.rows(tx, [_to_set_aside(key, now_ms) for key in keys])
        await refs_sql.FORGET_REF.rows(tx, keys)
    return len(keys)


async def _read_anew(
    tx: HotTx, carrier: CarrierFacts, rows: Sequence[ReadableReceipt], now_ms: int
) -> int:
    """Reads unmatched receipts as if they came now. What is foreign stays where it is; the others
    go where their ids are.
    """
    arrived = [
        Receipt(
            row.ref,
            ReceiptState(row.state),
            row.error,
            recipient=None if row.recipient is None else str(row.recipient),
            sender=row.sender,
            user_message_reference=row.user_message_reference,
            raw=b"",
            token=None,
            at_ms=row.received_at_ms,
        )
        for row in rows
    ]
    refs = await upsert(tx, carrier.id, carrier.id_format, [], arrived, now_ms)
    locked = await message_lock.lock_messages(
        tx, {ref.message_id for ref in refs if ref.message_id}
    )
    changes = Changes.of(now_ms, locked)
    matching = await match(tx, carrier, refs, changes)
    foreign = {ref.ref for ref in matching.foreign}
    await refs_sql.CLEAR_REF.rows(tx, sorted(RefKey(carrier.id, ref) for ref in foreign))
    await refs_sql.FORGET_RECEIPT.rows(
        tx,
        [
            ReceiptKey(row.id)
            for row in rows
            if canonical_of_receipt(row.ref, carrier.id_format) not in foreign
        ],
    )
    await store_changes(tx, carrier.id, changes)
    return matching.settled


async def handsets(tx: HotTx, carrier_id: int, refs: set[str]) -> dict[str, int | None]:
    """Returns, for each of these ids that a message has, the handset that the message is to."""
    return {
        handset.ref: handset.recipient
        for handset in await refs_sql.HANDSETS.rows(
            tx, [RefKey(carrier_id, ref) for ref in sorted(refs)]
        )
    }


async def _unanswered(tx: HotTx, carrier_id: int) -> set[int]:
    """Returns the last digits of the handsets whose messages the carrier was given and has not
    answered: any id may become theirs.
    """
    return {
        handset.recipient % LAST_DIGITS
        for handset in await refs_sql.UNANSWERED.rows(tx, OfCarrier(carrier_id))
    }


def readings(printed: str) -> set[str]:
    """Returns the ids that an answer may have had for this id of a receipt, one for each format."""
    return {canonical_of_receipt(printed, id_format) for id_format in (AS_IS, DEC, HEX)}


def _is_decimal(ref: str) -> bool:
    return re.fullmatch(r"[0-9]+", ref, re.ASCII) is not None


def _weight(ref: str, id_format: str) -> int:
    """Returns how much evidence for a format it is that an id, read in it, is that of a message to
    the handset. The ids 0 to 9 are the same in all formats.
    """
    if len(ref) == 1:
        return 0
    if id_format == AS_IS and not _is_decimal(ref):
        return EVIDENCE_MIN
    return EVIDENCE_MIN if int(ref, 16 if id_format == HEX else 10) >= LONG_ID else 1
