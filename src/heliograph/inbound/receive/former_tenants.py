"""Heeds STOP and START for all accounts that have texted a phone from a shared number, where none
of them has done so lately. The text belongs to none of them, and the person may mean any of them.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from heliograph.carriers import BINARY
from heliograph.database.hot import HotTx
from heliograph.inbound.keywords import IncomingText, KeywordAction, MatchedKeyword, match
from heliograph.inbound.receive import route_sql as sql
from heliograph.inbound.receive.apply_keywords import ReceivedKeyword
from heliograph.inbound.receive.route import TextRoute
from heliograph.opt_outs import scope_of_sender


class _KeywordForMany(NamedTuple):
    text: IncomingText
    matched: MatchedKeyword
    phones: frozenset[str]


def built_in_word(text: IncomingText, route: TextRoute) -> MatchedKeyword | None:
    """Returns the built-in word that a text is, if it opts out or in and may be meant for any of
    several accounts.
    """
    if not route.guessed or text.sandbox or text.encoding == BINARY or not text.is_complete:
        return None
    found = match(text.text, {}, first_word=route.first_word)
    is_for_all = found is not None and found.rule.action in (
        KeywordAction.OPT_OUT,
        KeywordAction.OPT_IN,
    )
    return found if is_for_all else None


async def keywords_for_former_tenants(
    tx: HotTx,
    texts: Sequence[IncomingText],
    routed: Sequence[TextRoute],
    received: Sequence[ReceivedKeyword],
) -> list[ReceivedKeyword]:
    """Returns what these texts say to accounts that have texted their phones from these numbers,
    and to which they do not say it anyway. It concerns the number's texts alone, and no account
    that does not know the phone. Nothing is answered, because each of them would answer the person.
    """
    keywords = [
        _KeywordForMany(text, matched, route.guessed)
        for text, route in zip(texts, routed, strict=True)
        if (matched := built_in_word(text, route)) is not None
        and (not text.is_repeat or matched.rule.action is KeywordAction.OPT_OUT)
    ]
    asked_phones = {
        sql.SharedNumber(each.text.recipient, int(phone))
        for each in keywords
        for phone in each.phones
    }
    tenants = defaultdict(list)
    for row in await sql.FORMER_TENANTS.rows(tx, sorted(asked_phones)):
        tenants[row.digits, str(row.phone)].append(row.account_id)
    already_received = {(each.text.id, each.text.account_id, each.text.sender) for each in received}
    return [
        ReceivedKeyword(
            each.text._replace(account_id=account_id, sender=phone),
            each.matched,
            scope_of_sender(each.text.recipient),
            is_for_all=True,
        )
        for each in keywords
        for phone in sorted(each.phones)
        for account_id in tenants[each.text.recipient, phone]
        if (each.text.id, account_id, phone) not in already_received
    ]
