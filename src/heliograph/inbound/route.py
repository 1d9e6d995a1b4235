"""Decides whose a text is that came in, and which message of ours it answers."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.base.clock import HOUR_MS
from heliograph.base.paging import first_id_of
from heliograph.database.hot import HotTx
from heliograph.inbound import route_sql as sql
from heliograph.text import NUMBER_DIGITS_MAX

# a text answers the newest message of these hours: what comes later begins something new
ANSWERS_WITHIN_MS: Final = 72 * HOUR_MS
_PHONE: Final = re.compile(rf"[1-9][0-9]{{,{NUMBER_DIGITS_MAX - 1}}}", re.ASCII)


class Way(NamedTuple):
    """Says who wrote to which number, as a text has it."""

    sender: str
    recipient: str


class TextRoute(NamedTuple):
    """Says whose a text is (None: nobody's), and the message that it answers. Its ids are raw."""

    account_id: str | None = None
    in_reply_to: str | None = None


NOBODYS: Final = TextRoute()


async def routes(
    tx: HotTx, carrier_id: int, ways: Sequence[Way], now_ms: int
) -> dict[Way, TextRoute]:
    """Returns the route of each way. Texts of the same way have the same route."""
    asked = [
        sql.OurNumber(carrier_id, digits) for digits in sorted({each.recipient for each in ways})
    ]
    owners = {each.digits: each.account_id for each in await sql.OWNERS.rows(tx, asked)}
    owned = {way: owners[way.recipient] for way in ways if way.recipient in owners}
    answered = await _answered(tx, owned, now_ms)
    return {way: TextRoute(account_id, answered.get(way)) for way, account_id in owned.items()}


async def _answered(tx: HotTx, owned: dict[Way, str], now_ms: int) -> dict[Way, str]:
    """Returns the newest message that the owner of a number sent from it to the phone."""
    since = first_id_of(now_ms - ANSWERS_WITHIN_MS)
    asked = sorted(
        sql.Addressed(account_id, way.recipient, int(way.sender))
        for way, account_id in owned.items()
        if _is_phone(way.sender)
    )
    return {
        Way(str(each.phone), each.digits): each.message_id
        for each in await sql.newest_messages(tx, asked, since)
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
