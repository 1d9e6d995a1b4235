"""Answers keywords, in the transaction that records and heeds them: who has opted out, who asks for
help, and who sends a word with a reply of its own.
"""

from typing import Final

from heliograph.database.hot import HotTx
from heliograph.inbound.keywords import KeywordAction, built_in_answer
from heliograph.inbound.receive import replies_sql as sql
from heliograph.inbound.receive.apply_keywords import AppliedKeywords, PhonesKeyword
from heliograph.messages.accept import Replier, Reply
from heliograph.opt_outs import WHOLE_ACCOUNT, OptOutOwner, scope_of_sender

_OF_A_SCOPE: Final = (KeywordAction.OPT_OUT, KeywordAction.OPT_IN)
# the answers to these also go to people who have opted out, or opt out while they wait
_TO_WHO_IS_OUT: Final = (KeywordAction.OPT_OUT, KeywordAction.HELP)


async def answer(tx: HotTx, replier: Replier, heeded: AppliedKeywords, now_ms: int) -> set[int]:
    """Sends the replies that are due, and returns the carriers that have something to send. A
    suspended account answers nothing.
    """
    # of several from one phone the last, but the confirmation of an opt-out before all others
    due = sorted(await _due(tx, heeded), key=lambda each: each.action is KeywordAction.OPT_OUT)
    last_by_phone = {
        (each.owner, each.phone.digits): each
        for each in due
        if heeded.brands[each.owner.account_id].is_active
    }
    requested = [
        sql.WantedReply(
            account_id=owner.account_id,
            sandbox=owner.sandbox,
            phone=int(digits),
            replied_at_ms=now_ms,
            confirmed_at_ms=now_ms if each.action is KeywordAction.OPT_OUT else None,
        )
        for (owner, digits), each in sorted(last_by_phone.items())
    ]
    allowed = {
        (OptOutOwner(each.account_id, bool(each.sandbox)), each.phone)
        for each in await sql.ALLOW.rows(tx, requested)
    }
    replies = [
        Reply(
            account_id=owner.account_id,
            sandbox=owner.sandbox,
            sender=each.received.text.recipient,
            phone=each.phone,
            text=text,
            answers_id=each.received.text.id,
            outlives_opt_outs=each.action in _TO_WHO_IS_OUT,
        )
        for (owner, digits), each in sorted(last_by_phone.items())
        if (owner, int(digits)) in allowed and (text := _text(heeded, each)) is not None
    ]
    if not replies:
        return set()
    sent = await replier.send(tx, replies)
    await sql.NOT_CONFIRMED.rows(
        tx,
        [
            sql.TextingPhone(owner.account_id, owner.sandbox, int(digits))
            for owner, digits in map(_phone_of, sent.left_out)
            if last_by_phone[owner, digits].action is KeywordAction.OPT_OUT
        ],
    )
    return sent.carriers


def _phone_of(reply: Reply) -> tuple[OptOutOwner, str]:
    return OptOutOwner(reply.account_id, reply.sandbox), reply.phone.digits


async def _due(tx: HotTx, heeded: AppliedKeywords) -> list[PhonesKeyword]:
    """Returns which keywords ask for an answer. Whoever has opted out is answered only to STOP and
    HELP, and a START that lifts nothing is answered only if it has a reply of its own.
    """
    due, if_wanted = [], []
    for keyword in heeded.keywords:
        if keyword.received.is_for_all:
            continue
        if keyword.action in _TO_WHO_IS_OUT:
            due.append(keyword)
        elif (
            keyword.received.matched.rule.reply is not None
            or keyword.received.text.id in heeded.lifted
        ):
            if_wanted.append(keyword)
    asked_phones = {
        sql.AskedPhone(
            account_id=keyword.owner.account_id,
            sandbox=keyword.owner.sandbox,
            phone=int(keyword.phone.digits),
            sender=_sender(keyword),
        )
        for keyword in if_wanted
    }
    unwanted = {
        (OptOutOwner(row.account_id, bool(row.sandbox)), row.phone)
        for row in await sql.SUPPRESSED.rows(tx, sorted(asked_phones))
    }
    due += [
        keyword
        for keyword in if_wanted
        if (keyword.owner, int(keyword.phone.digits)) not in unwanted
    ]
    return due


def _sender(keyword: PhonesKeyword) -> str:
    """Returns what the reply comes from, as opt-outs know it."""
    return scope_of_sender(keyword.received.text.recipient).sender


def _text(heeded: AppliedKeywords, keyword: PhonesKeyword) -> str | None:
    rule = keyword.received.matched.rule
    brand = heeded.brands[keyword.owner.account_id].name
    if keyword.action in _OF_A_SCOPE and keyword.received.scope != WHOLE_ACCOUNT:
        # the account's other senders stay as they are: the answer must not promise more than holds
        brand = f"{brand} ({keyword.received.text.recipient})"
    return rule.reply or built_in_answer(rule.action, rule.language, brand)
