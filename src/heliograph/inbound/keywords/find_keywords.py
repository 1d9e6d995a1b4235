"""Finds out which keyword each text is that has just come in."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.carriers import BINARY
from heliograph.database.hot import HotTx
from heliograph.inbound.keywords import keywords_sql as sql
from heliograph.inbound.keywords.built_in import BUILT_IN, KeywordAction, KeywordLanguage
from heliograph.inbound.keywords.match import (
    KeywordRule,
    MatchedKeyword,
    candidates,
    is_opt_out_suspected,
    match,
)
from heliograph.inbound.tables import ONE_SENDER_SCOPE
from heliograph.inbound.written_sender import WrittenSender, international
from heliograph.text import parse_phone

_NO_NUMBER: Final = "0" * 32  # a raw id: a sandbox has keywords, and no numbers


class IncomingText(NamedTuple):
    """Holds what is known of a text that came in to a number. Ids are raw. `written` is the sender
    as the carrier wrote it, or the phone itself if a message of ours has told which phone that is.
    `is_repeat` says that it is stored already, and came once more.
    """

    id: str
    account_id: str | None
    sandbox: bool
    sender: str
    written: WrittenSender
    recipient: str
    text: str
    encoding: str
    is_complete: bool
    is_repeat: bool = False


class KeywordBrand(NamedTuple):
    """Describes the account that somebody texts: its name is the brand. `is_active` says that the
    account may send, and its partner.
    """

    name: str
    country_code: str
    is_active: bool


class ReadText(NamedTuple):
    """Says whose a text is (a raw id), who wrote it, and what it is: a keyword, or one that seems
    to opt out. `one_sender` says that an opt-out on its number is from that number's texts alone.
    """

    account_id: str | None = None
    sender: str = ""
    matched: MatchedKeyword | None = None
    is_suspected: bool = False
    one_sender: bool = False


NOTHING: Final = ReadText()


async def find_keywords(
    tx: HotTx, carrier_id: int, texts: Sequence[IncomingText]
) -> dict[str, ReadText]:
    """Returns what each text is, by its raw id. A text that is nobody's, is binary or lacks a part
    is not a keyword. On a number that several accounts share, a text belongs to the account whose
    keyword it is, whoever had it before, and that account's country says how a sender is read that
    is written as it is dialled at home.
    """
    readable = [text for text in texts if text.encoding != BINARY]
    asked_numbers = [
        sql.TextedNumber(carrier_id, digits)
        for digits in sorted({text.recipient for text in readable})
    ]
    settings = {row.digits: row for row in await sql.SETTINGS.rows(tx, asked_numbers)}
    readable = [
        text
        for text in await _of_word_owners(tx, readable, settings)
        if text.account_id is not None
    ]
    own = await _own_keywords(tx, readable, settings)
    words = {}
    for text in readable:
        number = _number(text, settings)
        if text.is_complete and (number is not None or text.sandbox):
            rules = own.get((text.account_id or "", _number_id(number)), {})
            first_word = number is not None and number.first_word
            words[text.id] = match(text.text, rules, first_word=first_word)
    by_nobody = await _opt_outs_without_phone(tx, readable, words)
    read_texts = {}
    for text in readable:
        number, matched = _number(text, settings), words.get(text.id)
        read_texts[text.id] = ReadText(
            text.account_id,
            text.sender,
            matched,
            is_opt_out_suspected(text.text, matched) or text.id in by_nobody,
            number is not None and number.opt_out_scope == ONE_SENDER_SCOPE,
        )
    return read_texts


def _number(
    text: IncomingText, settings: dict[str, sql.NumberSettings]
) -> sql.NumberSettings | None:
    """Returns the number that was texted; None in a sandbox, whose phones text its senders."""
    return None if text.sandbox else settings.get(text.recipient)


def _number_id(number: sql.NumberSettings | None) -> str:
    return _NO_NUMBER if number is None else number.number_id


async def _of_word_owners(
    tx: HotTx, texts: Sequence[IncomingText], settings: dict[str, sql.NumberSettings]
) -> list[IncomingText]:
    """Returns the texts. Each text to a shared number gets the account whose keyword it is. A
    built-in word is no single account's: STOP is for whoever texted the phone last.
    """
    words = {
        each.id: [
            sql.SharedWord(number.number_id, word)
            for word in candidates(each.text, first_word=number.first_word)
            if word not in BUILT_IN
        ]
        for each in texts
        if each.is_complete and (number := _number(each, settings)) is not None and number.is_shared
    }
    asked_words = sorted({word for some in words.values() for word in some})
    owners = {
        sql.SharedWord(each.number_id, each.folded): each
        for each in await sql.WORD_OWNERS.rows(tx, asked_words)
    }
    owned_texts = []
    for each in texts:
        owner = next((owners[word] for word in words.get(each.id, ()) if word in owners), None)
        if owner is not None:
            sender = international(each.written, owner.country_code)
            each = each._replace(account_id=owner.account_id, sender=sender)
        owned_texts.append(each)
    return owned_texts


async def _opt_outs_without_phone(
    tx: HotTx, texts: Sequence[IncomingText], words: dict[str, MatchedKeyword | None]
) -> set[str]:
    """Returns the texts that ask to opt out and whose sender is no phone number, but a name or a
    short code.
    """
    out = [
        each
        for each in texts
        if (matched := words.get(each.id)) is not None
        and matched.rule.action is KeywordAction.OPT_OUT
    ]
    accounts = await brands(tx, {each.account_id or "" for each in out}) if out else {}
    return {
        each.id
        for each in out
        if parse_phone(each.sender, None, accounts[each.account_id or ""].country_code) is None
    }


async def _own_keywords(
    tx: HotTx, texts: Sequence[IncomingText], settings: dict[str, sql.NumberSettings]
) -> dict[tuple[str, str], dict[str, KeywordRule]]:
    """Returns what the accounts' own keywords do, by account and number and folded word. One of a
    number goes before one of all numbers.
    """
    asked = {
        sql.WantedKeyword(each.account_id, each.sandbox, _number_id(number), word)
        for each in texts
        if each.account_id is not None
        and each.is_complete
        and ((number := _number(each, settings)) is not None or each.sandbox)
        for word in candidates(each.text, first_word=number is not None and number.first_word)
    }
    found = await sql.KEYWORDS.rows(tx, sorted(asked))
    own: dict[tuple[str, str], dict[str, KeywordRule]] = defaultdict(dict)
    for each in sorted(found, key=lambda keyword: keyword.of_number):
        own[each.account_id, each.number_id][each.folded] = KeywordRule(
            KeywordAction(each.action),
            each.reply,
            None if each.language is None else KeywordLanguage(each.language),
        )
    return own


async def brands(tx: HotTx, account_ids: set[str]) -> dict[str, KeywordBrand]:
    """Returns the accounts with these raw ids, as the people who text them know them."""
    asked = [sql.KeywordAccount(account_id) for account_id in sorted(account_ids)]
    return {
        each.account_id: KeywordBrand(each.name, each.country_code, bool(each.is_active))
        for each in await sql.BRANDS.rows(tx, asked)
    }
