"""Decides whose a text is that came in, who wrote it, and which message of ours it answers."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.base.clock import HOUR_MS
from heliograph.base.paging import first_id_of
from heliograph.database.hot import HotTx
from heliograph.inbound import route_sql as sql
from heliograph.text import NUMBER_DIGITS_MAX, parse_phone

# a text answers the newest message of these hours: what comes later begins something new
ANSWERS_WITHIN_MS: Final = 72 * HOUR_MS
_PHONE: Final = re.compile(rf"[1-9][0-9]{{,{NUMBER_DIGITS_MAX - 1}}}", re.ASCII)


class Way(NamedTuple):
    """Says who wrote to which number, as a text has it."""

    sender: str
    recipient: str


class TextRoute(NamedTuple):
    """Says whose a text is (None: nobody's), who wrote it, and the message that it answers. Its ids
    are raw.
    """

    account_id: str | None
    sender: str
    in_reply_to: str | None = None


async def routes(
    tx: HotTx, carrier_id: int, ways: Sequence[Way], now_ms: int
) -> dict[Way, TextRoute]:
    """Returns the route of each way. Texts of the same way have the same route. A text to a number
    that is not ours is nobody's.

    A sender is read by the country of the number's account, as a recipient is, because some
    carriers write phones as they are dialled at home.
    """
    called = sorted({each.recipient for each in ways})
    found = await sql.OWNERS.rows(tx, [sql.OurNumber(carrier_id, digits) for digits in called])
    numbers = {each.digits: each for each in found}
    alike: dict[Way, list[Way]] = defaultdict(list)  # by how its sender is read
    for way in dict.fromkeys(ways):
        number = numbers.get(way.recipient)
        home = None if number is None else number.country_code
        alike[way._replace(sender=_international(way.sender, home))].append(way)
    owned: dict[Way, str] = {}
    shared: dict[Way, str | None] = {}  # with the number's catch-all account
    for way in alike:
        number = numbers.get(way.recipient)
        if number is not None and number.account_id is not None:
            owned[way] = number.account_id
        elif number is not None:
            shared[way] = number.catch_all_id
    since = first_id_of(now_ms - ANSWERS_WITHIN_MS)
    known = {**await _owned(tx, owned, since), **await _shared(tx, shared, since)}
    return {
        way: known.get(read, TextRoute(None, read.sender))
        for read, written in alike.items()
        for way in written
    }


def _international(sender: str, home: str | None) -> str:
    """Returns a sender as E.164 digits if it is a phone, and as it is otherwise. `home`: the
    country in which a number with a leading 0 is read; None: unknown.
    """
    phone = None if home is None else parse_phone(sender, None, home)
    return sender if phone is None else phone.digits


async def _owned(tx: HotTx, owned: dict[Way, str], since: str) -> dict[Way, TextRoute]:
    """Returns the routes of texts to numbers that one account has. They answer the newest message
    that the account sent from the number to the phone.
    """
    asked = sorted(
        sql.Addressed(account_id, way.recipient, int(way.sender))
        for way, account_id in owned.items()
        if _is_phone(way.sender)
    )
    answered = {
        Way(str(each.phone), each.digits): each.message_id
        for each in await sql.newest_messages(tx, asked, since)
    }
    return {
        way: TextRoute(account_id, way.sender, answered.get(way))
        for way, account_id in owned.items()
    }


async def _shared(tx: HotTx, shared: dict[Way, str | None], since: str) -> dict[Way, TextRoute]:
    """Returns the routes of texts to numbers that several accounts share: to the account that
    texted the phone from the number last, else to the number's catch-all account.
    """
    asked = sorted(
        sql.SharedNumber(way.recipient, int(way.sender)) for way in shared if _is_phone(way.sender)
    )
    last = {
        Way(str(each.phone), each.digits): TextRoute(
            each.account_id, str(each.phone), each.message_id
        )
        for each in await sql.newest_of_all(tx, asked, since)
    }
    return {
        way: last.get(way, TextRoute(catch_all_id, way.sender))
        for way, catch_all_id in shared.items()
    }


def _is_phone(sender: str) -> bool:
    """Returns whether messages may have gone to it: they go to numbers as they are dialled from
    abroad, without zeros before them.
    """
    return (
        sender.isascii()
        and sender.isdigit()
        and len(sender) <= NUMBER_DIGITS_MAX
        and sender[0] != "0"
    )
