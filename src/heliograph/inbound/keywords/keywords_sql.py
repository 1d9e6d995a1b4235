"""Declares the statements that find what a number's keywords do, in both dialects."""

from typing import Final

from heliograph.accounts.states import ACTIVE
from heliograph.database.statements import BatchStatement, Bool, Id, Row, SmallInt, Text


class TextedNumber(Row, frozen=True):
    carrier_id: SmallInt
    digits: Text


class NumberSettings(Row, frozen=True):
    digits: Text
    number_id: Id
    first_word: Bool
    opt_out_scope: Text
    is_shared: Bool


_SETTINGS: Final = """n.digits, n.id AS number_id, n.first_word, n.opt_out_scope,
    n.account_id IS NULL AS is_shared"""
SETTINGS: Final = BatchStatement(
    TextedNumber,
    NumberSettings,
    postgresql=f"""
        SELECT {_SETTINGS} FROM :given AS g
        JOIN numbers n ON n.carrier_id = g.carrier_id AND n.digits = g.digits""",
    sqlite=f"""
        SELECT {_SETTINGS} FROM numbers n
        WHERE n.carrier_id = :carrier_id AND n.digits = :digits""",
)


class SharedWord(Row, frozen=True):
    """Asks whose a word is on a number that several accounts share."""

    number_id: Id
    folded: Text


class WordOwner(Row, frozen=True):
    """Says whose a word is. `country_code` is the account's."""

    number_id: Id
    folded: Text
    account_id: Id
    country_code: Text


_OWNER: Final = "SELECT k.number_id, k.folded, k.account_id, a.country_code FROM"
_OPEN: Final = "JOIN accounts a ON a.id = k.account_id AND a.closed_at_ms IS NULL"
WORD_OWNERS: Final = BatchStatement(
    SharedWord,
    WordOwner,
    postgresql=f"""
        {_OWNER} :given AS g JOIN keywords k
            ON k.number_id = g.number_id AND k.folded = g.folded {_OPEN}""",
    sqlite=f"""
        {_OWNER} keywords k {_OPEN} WHERE k.number_id = :number_id AND k.folded = :folded""",
)


class WantedKeyword(Row, frozen=True):
    """Asks what an account's keyword does on a number."""

    account_id: Id
    sandbox: Bool
    number_id: Id
    folded: Text


class FoundKeyword(Row, frozen=True):
    """Holds a keyword. `of_number` says that it is not one of all numbers of the account."""

    account_id: Id
    number_id: Id
    folded: Text
    action: Text
    reply: Text | None
    language: Text | None
    of_number: Bool


_KEYWORD: Final = (
    """k.folded, k.action, k.reply, k.language, k.number_id IS NOT NULL AS of_number"""
)
KEYWORDS: Final = BatchStatement(
    WantedKeyword,
    FoundKeyword,
    postgresql=f"""
        SELECT k.account_id, g.number_id, {_KEYWORD} FROM :given AS g
        JOIN keywords k ON k.account_id = g.account_id AND k.sandbox = g.sandbox
            AND k.folded = g.folded AND (k.number_id IS NULL OR k.number_id = g.number_id)""",
    sqlite=f"""
        SELECT k.account_id, :number_id AS number_id, {_KEYWORD} FROM keywords k
        WHERE k.account_id = :account_id AND k.sandbox = :sandbox AND k.folded = :folded
            AND (k.number_id IS NULL OR k.number_id = :number_id)""",
)


class KeywordAccount(Row, frozen=True):
    account_id: Id


class BrandedAccount(Row, frozen=True):
    """Holds an account. `is_active` says that it may send, and its partner."""

    account_id: Id
    name: Text
    country_code: Text
    is_active: Bool


_BRAND: Final = f"""
    SELECT a.id AS account_id, a.name, a.country_code,
        a.status = '{ACTIVE}' AND (p.status IS NULL OR p.status = '{ACTIVE}') AS is_active"""
_PARTNER: Final = "LEFT JOIN accounts p ON p.id = a.parent_id"
BRANDS: Final = BatchStatement(
    KeywordAccount,
    BrandedAccount,
    postgresql=f"{_BRAND} FROM :given AS g JOIN accounts a ON a.id = g.account_id {_PARTNER}",
    sqlite=f"{_BRAND} FROM accounts a {_PARTNER} WHERE a.id = :account_id",
)
