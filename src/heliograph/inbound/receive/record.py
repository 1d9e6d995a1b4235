"""Records what handsets sent: each text once, however often the carrier sends it, and a long one
when all its parts are there.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from heliograph.base import ids
from heliograph.base.paging import first_id_of
from heliograph.carriers import HandsetText, PartOf
from heliograph.database.hot import HotTx
from heliograph.inbound.keywords import NOTHING, IncomingText, KeywordAction, find_keywords
from heliograph.inbound.receive import store_sql as sql
from heliograph.inbound.receive.apply_keywords import (
    AppliedKeywords,
    ReceivedKeyword,
    apply_keywords,
)
from heliograph.inbound.receive.decode import TextPiece, decode
from heliograph.inbound.receive.events import emit_received
from heliograph.inbound.receive.former_tenants import built_in_word, keywords_for_former_tenants
from heliograph.inbound.receive.parts import Assembly, PartedText, TextKey, key_of
from heliograph.inbound.receive.replies import answer
from heliograph.inbound.receive.route import TextRoute, Way, routes
from heliograph.inbound.written_sender import WrittenSender
from heliograph.messages.accept import Replier
from heliograph.messages.read.replies import MessageReply, store_replies
from heliograph.messages.sweeps import UnwantedTexts
from heliograph.opt_outs import WHOLE_ACCOUNT, scope_of_sender

# a PDU that is stored for no longer than this, and comes once more, was sent again by the carrier
REPEATED_WITHIN_MS: Final = 60_000


class Recorded(NamedTuple):
    """Counts what was recorded: texts that are stored now, those of them that are no account's, and
    PDUs that the carrier had sent before. `replied` are the carriers that have replies to send, and
    `unwanted` what somebody has just opted out of.
    """

    texts: int
    unowned: int
    repeats: int
    replied: frozenset[int] = frozenset()
    unwanted: frozenset[UnwantedTexts] = frozenset()


class _PartKey(NamedTuple):
    group_id: str
    number: int


class _WholeText(NamedTuple):
    """Describes a text to be stored, but for its account and how often it was repeated. `known` is
    the text that was stored before, of which it is a repetition.
    """

    id: str
    written: WrittenSender
    recipient: str
    pieces: list[TextPiece]
    parts: int
    pdu: str | None
    received_at_ms: int
    sandbox_of: str | None = None
    is_repeat: bool = False  # it is stored, and came once more
    known: sql.KnownPdu | None = None


async def record(
    tx: HotTx,
    carrier_id: int,
    arrived: Sequence[HandsetText],
    now_ms: int,
    replier: Replier | None = None,
) -> Recorded:
    """Stores what came from one carrier, heeds keywords, and answers them if there is a `replier`.
    The carrier's next record waits until this transaction ends.
    """
    await sql.LOCK_CARRIER.rows(tx, sql.TextsOfCarrier(carrier_id))
    repeats: Counter[str] = Counter()  # by the raw id of a text
    single = [each for each in arrived if each.part is None]
    parted = [(each, each.part) for each in arrived if each.part is not None]
    whole = await _singles(tx, carrier_id, single, repeats, now_ms)
    repeated_parts = 0
    if parted:
        new_parts = await _parts(tx, carrier_id, parted, whole, repeats, now_ms)
        repeated_parts = len(parted) - new_parts
    unowned, heeded = await _store(tx, carrier_id, whole, repeats, now_ms)
    replied = set[int]()
    if replier is not None and heeded.keywords:
        replied = await answer(tx, replier, heeded, now_ms)
    stored = sum(not each.is_repeat for each in whole)
    repeated = len(whole) - stored + repeated_parts
    return Recorded(stored, unowned, repeated, frozenset(replied), unwanted=heeded.unwanted)


async def _singles(
    tx: HotTx,
    carrier_id: int,
    arrived: Sequence[HandsetText],
    repeats: Counter[str],
    now_ms: int,
) -> list[_WholeText]:
    """Returns the texts that came in one piece, and counts those that are not new."""
    since = first_id_of(now_ms - REPEATED_WITHIN_MS)
    asked = [
        sql.PduSince(carrier_id, digest, since)
        for digest in sorted({text.digest for text in arrived})
    ]
    known = {row.pdu: row for row in await sql.KNOWN_PDUS.rows(tx, asked)}
    id_of_digest = {digest: row.id for digest, row in known.items()}
    whole = []
    for text in arrived:
        is_repeat = text.digest in id_of_digest
        raw_id = id_of_digest.setdefault(text.digest, _new_id(now_ms))
        repeats[raw_id] += is_repeat
        piece = TextPiece(1, text.alphabet, text.octets)
        whole.append(
            _WholeText(
                raw_id,
                WrittenSender(text.sender, text.is_national),
                text.recipient,
                [piece],
                parts=1,
                pdu=text.digest,
                received_at_ms=now_ms,
                sandbox_of=text.sandbox_of,
                is_repeat=is_repeat,
                known=known.get(text.digest),
            )
        )
    return whole


async def _parts(
    tx: HotTx,
    carrier_id: int,
    arrived: Sequence[tuple[HandsetText, PartOf]],
    whole: list[_WholeText],
    repeats: Counter[str],
    now_ms: int,
) -> int:
    """Stores parts, and adds to `whole` the texts that are so by now, and to `repeats` how often
    parts of them were sent again. Returns how many of the parts are new.
    """
    known = await _known_parts(tx, carrier_id, arrived, now_ms)
    stored: list[sql.StoredPart] = []
    waiting: Counter[_PartKey] = Counter()  # repetitions of parts of texts that are not whole
    touched: dict[str, tuple[PartedText, HandsetText]] = {}
    for piece, part in arrived:
        text, is_new = known.assembly.place(piece, part)
        if not is_new:
            if text.inbound_id is not None:
                repeats[text.inbound_id] += 1
            else:
                waiting[_PartKey(text.group_id, part.number)] += 1
            continue
        stored.append(_stored_part(carrier_id, text, piece, part, now_ms))
        touched[text.group_id] = text, piece
        known.began_ms.setdefault(text.group_id, now_ms)
        if text.is_whole:
            text.inbound_id = raw_id = _new_id(now_ms)
            repeats[raw_id] += known.repeats[text.group_id]
    joined = {
        group_id: text.inbound_id
        for group_id, (text, _) in touched.items()
        if text.inbound_id is not None
    }
    for group_id, inbound_id in joined.items():
        text, piece = touched[group_id]
        whole.append(
            _WholeText(
                inbound_id,
                WrittenSender(piece.sender, piece.is_national),
                piece.recipient,
                text.in_order,
                text.total,
                pdu=None,
                received_at_ms=known.began_ms[group_id],
            )
        )
        repeats[inbound_id] += sum(
            waiting.pop(key) for key in list(waiting) if key.group_id == group_id
        )
    await sql.STORE_PARTS.rows(tx, stored)
    counted = sorted(waiting.items())
    again = [sql.RepeatedPart(key.group_id, key.number, more) for key, more in counted]
    await sql.REPEAT_PARTS.rows(tx, again)
    await sql.JOIN_PARTS.rows(
        tx,
        [sql.JoinedParts(group_id, inbound_id) for group_id, inbound_id in sorted(joined.items())],
    )
    return len(stored)


class _KnownParts(NamedTuple):
    """Holds what is known of texts whose parts have come; by group also when each text began, and
    how many of its parts came again before it was whole.
    """

    assembly: Assembly
    began_ms: dict[str, int]
    repeats: Counter[str]


async def _known_parts(
    tx: HotTx, carrier_id: int, arrived: Sequence[tuple[HandsetText, PartOf]], now_ms: int
) -> _KnownParts:
    """Returns what is known of the texts that these are parts of."""
    keys = {key_of(each, part) for each, part in arrived}
    asked = sorted(sql.TextOfParts(carrier_id, **key._asdict()) for key in keys)
    assembly = Assembly(lambda: _new_id(now_ms))
    texts: dict[str, PartedText] = {}
    began_ms: dict[str, int] = {}
    repeats: Counter[str] = Counter()
    for row in sorted(await sql.KNOWN_PARTS.rows(tx, asked)):  # by group: in order of time
        text = texts.get(row.group_id)
        if text is None:
            text = texts[row.group_id] = PartedText(row.group_id, row.total)
            assembly.know(TextKey(row.sender, row.recipient, row.reference, row.total), text)
        text.inbound_id = row.inbound_id
        text.add(row.number, row.pdu, TextPiece(row.number, row.alphabet, bytes(row.octets)))
        began_ms[row.group_id] = min(
            row.received_at_ms, began_ms.get(row.group_id, row.received_at_ms)
        )
        repeats[row.group_id] += row.repeats
    return _KnownParts(assembly, began_ms, repeats)


def _stored_part(
    carrier_id: int, text: PartedText, came: HandsetText, part: PartOf, now_ms: int
) -> sql.StoredPart:
    return sql.StoredPart(
        group_id=text.group_id,
        number=part.number,
        total=part.total,
        carrier_id=carrier_id,
        sender=came.sender,
        recipient=came.recipient,
        reference=part.reference,
        alphabet=came.alphabet,
        octets=came.octets,
        pdu=came.digest,
        repeats=0,
        received_at_ms=now_ms,
        inbound_id=None,
        is_national=came.is_national,
    )


async def store_overdue(tx: HotTx, overdue: sql.OverdueText, now_ms: int) -> Recorded:
    """Stores what there is of a text whose other parts have not come in time. It stores nothing if
    they have come by now.
    """
    await sql.LOCK_CARRIER.rows(tx, sql.TextsOfCarrier(overdue.carrier_id))
    parts = await sql.PARTS_OF_GROUP.rows(tx, sql.PartsOfText(overdue.group_id))
    if not parts:
        return Recorded(0, 0, 0)
    inbound_id = _new_id(now_ms)
    whole = _WholeText(
        inbound_id,
        WrittenSender(parts[0].sender, bool(parts[0].is_national)),
        parts[0].recipient,
        [TextPiece(part.number, part.alphabet, bytes(part.octets)) for part in parts],
        parts[0].total,
        pdu=None,
        received_at_ms=min(part.received_at_ms for part in parts),
    )
    repeats = Counter({inbound_id: sum(part.repeats for part in parts)})
    unowned, _ = await _store(tx, overdue.carrier_id, [whole], repeats, now_ms)
    await sql.JOIN_PARTS.rows(tx, [sql.JoinedParts(overdue.group_id, inbound_id)])
    return Recorded(1, unowned, 0)


async def _store(
    tx: HotTx, carrier_id: int, whole: list[_WholeText], repeats: Counter[str], now_ms: int
) -> tuple[int, AppliedKeywords]:
    """Stores texts, each for its number's account, with the events that tell of them, and counts
    repetitions of those that were stored before. Returns how many are no account's. A repetition
    that is to be a text of its own becomes one in `whole`.
    """
    ways = [Way(each.written, each.recipient, each.sandbox_of) for each in whole]
    by_way = await routes(tx, carrier_id, ways, now_ms)
    routed = [by_way[way] for way in ways]
    rows = []
    for whole_text, route in zip(whole, routed, strict=True):
        decoded = decode(whole_text.pieces, complete=len(whole_text.pieces) == whole_text.parts)
        rows.append(
            sql.StoredText(
                id=whole_text.id,
                carrier_id=carrier_id,
                account_id=route.account_id,
                sandbox=whole_text.sandbox_of is not None,
                sender=route.sender,
                recipient=whole_text.recipient,
                text=decoded.text,
                encoding=decoded.encoding,
                parts=whole_text.parts,
                parts_received=len(whole_text.pieces),
                pdu=whole_text.pdu,
                repeats=repeats.get(whole_text.id, 0),
                received_at_ms=whole_text.received_at_ms,
                keyword=None,
                opt_out_suspected=False,
                in_reply_to=route.in_reply_to,
            )
        )
    received = await _note_keywords(tx, carrier_id, rows, whole, routed, now_ms)
    rows = [row for row, whole_text in zip(rows, whole, strict=True) if not whole_text.is_repeat]
    await sql.STORE_TEXTS.rows(tx, rows)
    replies = [MessageReply(row.in_reply_to, row.id) for row in rows if row.in_reply_to is not None]
    await store_replies(tx, replies)
    await emit_received(tx, rows, now_ms)
    heeded = (
        await apply_keywords(tx, received, now_ms) if received else AppliedKeywords([], set(), {})
    )
    new = {row.id for row in rows}
    counted = [
        sql.RepeatedText(raw_id, count)
        for raw_id, count in sorted(repeats.items())
        if count and raw_id not in new
    ]
    await sql.REPEAT_TEXTS.rows(tx, counted)
    return sum(row.account_id is None for row in rows), heeded


async def _note_keywords(
    tx: HotTx,
    carrier_id: int,
    rows: list[sql.StoredText],
    whole: list[_WholeText],
    routed: Sequence[TextRoute],
    now_ms: int,
) -> list[ReceivedKeyword]:
    """Notes in each row which keyword its text is and, if that decides it, whose the text is and
    who wrote it. Returns the texts that are a keyword. `whole` are the texts that the rows were
    made of, and `routed` their routes. Of those that are stored already, only who opts out is
    heeded once more: the phone may have opted in since. If another account has texted it since, it
    opts out of that one's, which gets a text of its own.
    """
    texts = [_incoming(row, each) for row, each in zip(rows, whole, strict=True)]
    read_texts = await find_keywords(tx, carrier_id, texts)
    received = []
    own_ids: dict[tuple[str, str | None], str] = {}  # by the text that is stored, and the account
    for row_index, text in enumerate(texts):
        read_text = read_texts.get(text.id, NOTHING)
        matched = read_text.matched or built_in_word(text, routed[row_index])
        word = None if matched is None else matched.word
        rows[row_index] = replace(
            rows[row_index], keyword=word, opt_out_suspected=read_text.is_suspected
        )
        if read_text.account_id is not None and read_text.account_id != text.account_id:
            text = text._replace(account_id=read_text.account_id, sender=read_text.sender)
            rows[row_index] = replace(
                rows[row_index],
                account_id=text.account_id,
                sender=text.sender,
                in_reply_to=None,  # what it answers is another account's
            )
        if read_text.matched is None:
            continue
        if not text.is_repeat or read_text.matched.rule.action is KeywordAction.OPT_OUT:
            known = whole[row_index].known
            if known is not None and known.account_id != text.account_id:
                key = (known.id, text.account_id)
                is_repeat = key in own_ids
                own_id = own_ids.setdefault(key, _new_id(now_ms))
                text = text._replace(id=own_id, is_repeat=is_repeat)
                rows[row_index] = replace(rows[row_index], id=own_id, repeats=0)
                whole[row_index] = whole[row_index]._replace(id=own_id, is_repeat=is_repeat)
            scope = scope_of_sender(text.recipient) if read_text.one_sender else WHOLE_ACCOUNT
            received.append(ReceivedKeyword(text, read_text.matched, scope))
    return received + await keywords_for_former_tenants(tx, texts, routed, received)


def _incoming(row: sql.StoredText, whole_text: _WholeText) -> IncomingText:
    return IncomingText(
        row.id,
        row.account_id,
        row.sandbox,
        sender=row.sender,
        written=whole_text.written if row.in_reply_to is None else WrittenSender(row.sender),
        recipient=row.recipient,
        text=row.text,
        encoding=row.encoding,
        is_complete=row.parts_received == row.parts,
        is_repeat=whole_text.is_repeat,
    )


def _new_id(now_ms: int) -> str:
    return ids.raw_of_number(ids.new_number(now_ms))
