"""Heeds who opts out or in by a keyword, in the transaction that records the text.

So no carrier is told that a STOP has arrived before it holds.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heliograph.base import ids
from heliograph.database.hot import HotTx
from heliograph.inbound.keywords import (
    IncomingText,
    KeywordAction,
    KeywordBrand,
    MatchedKeyword,
    brands,
)
from heliograph.messages.read import INBOUND_PREFIX
from heliograph.messages.sweeps import UnwantedTexts, cancel_unwanted
from heliograph.opt_outs import (
    WHOLE_ACCOUNT,
    ChangedOptOut,
    KeywordText,
    OptOutOwner,
    OptOutScope,
    OptOutSource,
    delete_opt_outs,
    emit_opt_out_events,
    scope_of_sender,
    store_opt_outs,
)
from heliograph.text import Phone, parse_phone


class ReceivedKeyword(NamedTuple):
    """Holds a text that is a keyword. `scope` says which texts one opts out of by it. If
    `is_for_all` holds, the text is not the account's, which is one of several that may be meant
    (`former_tenants.py`).
    """

    text: IncomingText
    matched: MatchedKeyword
    scope: OptOutScope
    is_for_all: bool = False


class PhonesKeyword(NamedTuple):
    """Holds what a phone said to an account."""

    received: ReceivedKeyword
    phone: Phone

    @property
    def owner(self) -> OptOutOwner:
        assert self.received.text.account_id is not None  # what is nobody's is not a keyword
        return OptOutOwner(self.received.text.account_id, self.received.text.sandbox)

    @property
    def action(self) -> KeywordAction:
        return self.received.matched.rule.action


class AppliedKeywords(NamedTuple):
    """Holds what was done: the keywords of phones, in their order, the texts (raw ids) that lifted
    an opt-out, and the accounts, by their raw ids.
    """

    keywords: list[PhonesKeyword]
    lifted: set[str]
    brands: dict[str, KeywordBrand]

    @property
    def unwanted(self) -> frozenset[UnwantedTexts]:
        """Returns the texts that those who opt out want no more."""
        return frozenset(
            _unwanted(each) for each in self.keywords if each.action is KeywordAction.OPT_OUT
        )


async def apply_keywords(
    tx: HotTx, received: Sequence[ReceivedKeyword], now_ms: int
) -> AppliedKeywords:
    """Does what keywords say, in their order. A sender that is not a phone number, such as a name,
    cannot opt out.
    """
    accounts = await brands(tx, {each.text.account_id or "" for each in received})
    keywords = [
        PhonesKeyword(each, phone)
        for each in received
        if (account := accounts.get(each.text.account_id or "")) is not None
        and (phone := parse_phone(each.text.sender, None, account.country_code)) is not None
    ]
    changes = []
    lifted = set[str]()
    for keyword_round in _rounds(keywords):
        out = await _opt_out(tx, keyword_round, sorted(accounts), now_ms)
        back = await _opt_in(tx, keyword_round)
        changes += [_change(each, opted_out=True) for each in out]
        changes += [_change(each, opted_out=False) for each in back]
        lifted |= {each.received.text.id for each in back}
    await emit_opt_out_events(tx, changes, now_ms)
    return AppliedKeywords(keywords, lifted, accounts)


def _rounds(keywords: Sequence[PhonesKeyword]) -> Iterator[list[PhonesKeyword]]:
    """Yields keywords in their order, as many at a time as are from different phones."""
    waiting = list(keywords)
    while waiting:
        some: dict[tuple[OptOutOwner, str], PhonesKeyword] = {}
        waiting = [
            each
            for each in waiting
            if some.setdefault((each.owner, each.phone.digits), each) is not each
        ]
        yield list(some.values())


async def _opt_out(
    tx: HotTx, keywords: Sequence[PhonesKeyword], wallets: Sequence[str], now_ms: int
) -> list[PhonesKeyword]:
    """Stores opt-outs, and returns the keywords that have made new ones."""
    out = [each for each in keywords if each.action is KeywordAction.OPT_OUT]
    made = []
    for (owner, scope), phones in sorted(_by_scope(out).items()):
        new = await store_opt_outs(
            tx, owner, phones, source=OptOutSource.KEYWORD, now_ms=now_ms, scope=scope
        )
        made += [phones[each.phone] for each in new]
    await cancel_unwanted(tx, sorted(set(map(_unwanted, out))), now_ms, wallets)
    return made


def _unwanted(keyword: PhonesKeyword) -> UnwantedTexts:
    return UnwantedTexts(
        account_id=keyword.owner.account_id,
        sandbox=keyword.owner.sandbox,
        phone=int(keyword.phone.digits),
        sender=keyword.received.scope.sender,
    )


async def _opt_in(tx: HotTx, keywords: Sequence[PhonesKeyword]) -> list[PhonesKeyword]:
    """Removes what a keyword made: for the whole account whose text it is, and for the number that
    was texted. Returns what lifted each of them, with the scope in which it did.
    """
    back = [each for each in keywords if each.action is KeywordAction.OPT_IN]
    lifted = []
    for scoped in (_all_of_account, _of_number):
        some = [each for each in back if scoped is _of_number or not each.received.is_for_all]
        by_scope = _by_scope([scoped(each) for each in some])
        for (owner, scope), phones in sorted(by_scope.items()):
            deleted = await delete_opt_outs(tx, owner, phones, by=OptOutSource.KEYWORD, scope=scope)
            lifted += [phones[phone] for phone in sorted({each.phone for each in deleted})]
    return lifted


def _all_of_account(keyword: PhonesKeyword) -> PhonesKeyword:
    return keyword._replace(received=keyword.received._replace(scope=WHOLE_ACCOUNT))


def _of_number(keyword: PhonesKeyword) -> PhonesKeyword:
    scope = scope_of_sender(keyword.received.text.recipient)
    return keyword._replace(received=keyword.received._replace(scope=scope))


def _by_scope(
    keywords: Sequence[PhonesKeyword],
) -> dict[tuple[OptOutOwner, OptOutScope], dict[str, PhonesKeyword]]:
    found: dict[tuple[OptOutOwner, OptOutScope], dict[str, PhonesKeyword]] = defaultdict(dict)
    for each in keywords:
        found[each.owner, each.received.scope][each.phone.digits] = each
    return found


def _change(keyword: PhonesKeyword, *, opted_out: bool) -> ChangedOptOut:
    raw_id, word = keyword.received.text.id, keyword.received.matched.word
    by = KeywordText(
        word,
        None if keyword.received.text.is_repeat else int(raw_id, 16),
        ids.text_of_raw(INBOUND_PREFIX, raw_id),
    )
    if keyword.received.is_for_all:
        by = KeywordText(word, None, None)
    return ChangedOptOut(
        keyword.owner,
        keyword.phone.digits,
        keyword.received.scope,
        OptOutSource.KEYWORD,
        opted_out,
        by,
    )
