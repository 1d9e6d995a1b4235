"""Decides whose a text is that came in, who wrote it, and which message of ours it answers."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.base.clock import HOUR_MS
from heliograph.base.paging import first_id_of
from heliograph.database.hot import HotTx
from heliograph.database.partitions import first_id_of_month, month_of
from heliograph.inbound.receive import route_sql as sql
from heliograph.inbound.written_sender import (
    WrittenSender,
    international,
    is_dialled_at_home,
    may_be_texted,
)
from heliograph.messages.states import VALIDITY_S

# a text answers the message that left last in these hours: what comes later begins something new
ANSWERS_WITHIN_MS: Final = 72 * HOUR_MS
_LEAVES_WITHIN_MS: Final = 1_000 * max(VALIDITY_S)  # after it was accepted


class Way(NamedTuple):
    """Says who wrote to which number, as a text has it. `sandbox_of` is the account (raw id) whose
    sandbox has the phone, if it is one of a sandbox: it writes to a sender of that account.
    """

    sender: WrittenSender
    recipient: str
    sandbox_of: str | None = None


class _Texted(NamedTuple):
    """Says which phone (E.164 digits) was texted from which number."""

    phone: str
    digits: str


class TextRoute(NamedTuple):
    """Says whose a text is (None if it is nobody's), who wrote it, and the message that it answers.
    Its ids are raw. `guessed` has the phones that may have written it: it is filled only if the
    number is shared and nobody has lately texted any of them from it. `first_word` says whether a
    keyword may stand before other words there.
    """

    account_id: str | None
    sender: str
    in_reply_to: str | None = None
    guessed: frozenset[str] = frozenset()
    first_word: bool = False


async def routes(
    tx: HotTx, carrier_id: int, ways: Sequence[Way], now_ms: int
) -> dict[Way, TextRoute]:
    """Returns the route of each way. Texts of the same way have the same route. A text to a number
    that is not ours is nobody's.

    Some carriers write phones as they are dialled at home. Such a sender is read by the country of
    the number's account, as a recipient is. Where several accounts share the number, it is the
    phone that one of them has texted.
    """
    called = sorted({each.recipient for each in ways})
    found = await sql.OWNERS.rows(tx, [sql.OurNumber(carrier_id, digits) for digits in called])
    numbers = {each.digits: each for each in found}
    owned: dict[Way, TextRoute] = {}
    shared: dict[Way, sql.NumberOwner] = {}
    known: dict[Way, TextRoute] = {}
    for way in dict.fromkeys(ways):
        number = numbers.get(way.recipient)
        if way.sandbox_of is not None:
            owned[way] = TextRoute(way.sandbox_of, way.sender.text)
        elif number is None:
            known[way] = TextRoute(None, way.sender.text)
        elif number.account_id is not None:
            sender = international(way.sender, number.country_code)
            owned[way] = TextRoute(number.account_id, sender)
        else:
            shared[way] = number
    left_since_ms = now_ms - ANSWERS_WITHIN_MS
    accepted_since_ms = left_since_ms - _LEAVES_WITHIN_MS
    since = sql.MessagesSince(
        left_since_ms=left_since_ms,
        since=first_id_of(accepted_since_ms),
        this_month=first_id_of_month(month_of(now_ms)),
        first_month=first_id_of_month(month_of(accepted_since_ms)),
    )
    return {**known, **await _owned(tx, owned, since), **await _shared(tx, shared, since)}


async def _owned(
    tx: HotTx, owned: dict[Way, TextRoute], since: sql.MessagesSince
) -> dict[Way, TextRoute]:
    """Returns the routes of texts to numbers that one account has, and of those in a sandbox. They
    answer the message that left last of those that the account sent from the number, or from the
    sender in its sandbox, to the phone.
    """
    asked = {
        way: sql.Addressed(
            account_id=route.account_id,
            sandbox=way.sandbox_of is not None,
            digits=way.recipient,
            phone=int(route.sender),
        )
        for way, route in owned.items()
        if route.account_id is not None and may_be_texted(route.sender)
    }
    answered = {
        sql.Addressed(each.account_id, bool(each.sandbox), each.digits, each.phone): each.message_id
        for each in await sql.newest_messages(tx, sorted(set(asked.values())), since)
    }
    return {
        way: route._replace(in_reply_to=answered.get(asked[way]) if way in asked else None)
        for way, route in owned.items()
    }


async def _shared(
    tx: HotTx, shared: dict[Way, sql.NumberOwner], since: sql.MessagesSince
) -> dict[Way, TextRoute]:
    """Returns the routes of texts to numbers that several accounts share: to the account whose
    message to the phone from the number left last, else to the number's catch-all account.
    """
    phones = await _phones(tx, shared)
    asked_numbers = {
        sql.SharedNumber(way.recipient, int(phone)) for way in shared for phone in phones[way]
    }
    last = {
        _Texted(str(each.phone), each.digits): each
        for each in await sql.newest_of_all(tx, sorted(asked_numbers), since)
    }
    route_of_way = {}
    for way, number in shared.items():
        texted = [
            last[read] for phone in phones[way] if (read := _Texted(phone, way.recipient)) in last
        ]
        newest = max(texted, key=_when_it_left, default=None)
        if newest is not None:
            route_of_way[way] = TextRoute(newest.account_id, str(newest.phone), newest.message_id)
        else:
            sender = international(way.sender, number.country_code)
            route_of_way[way] = TextRoute(
                number.catch_all_id,
                sender,
                guessed=frozenset(phones[way]),
                first_word=bool(number.first_word),
            )
    return route_of_way


def _when_it_left(message: sql.NewestMessage) -> tuple[int, str]:
    return message.left_at_ms, message.message_id


async def _phones(tx: HotTx, shared: dict[Way, sql.NumberOwner]) -> dict[Way, set[str]]:
    """Returns which phones may have written to shared numbers. A sender as it is dialled at home
    may be a phone of each country in which the number's accounts are; any other is one at most.
    """
    dialled_at_home = {way.recipient for way in shared if is_dialled_at_home(way.sender)}
    asked = [sql.SharedDigits(digits) for digits in sorted(dialled_at_home)]
    countries: dict[str, set[str]] = defaultdict(set)
    for each in await sql.COUNTRIES.rows(tx, asked):
        countries[each.digits].add(each.country_code)
    found = {}
    for way, number in shared.items():
        read = {international(way.sender, number.country_code)}
        if is_dialled_at_home(way.sender):
            read |= {international(way.sender, country) for country in countries[way.recipient]}
        found[way] = set(filter(may_be_texted, read))
    return found
