"""Declares the statements that decide whether a keyword is answered, in both dialects."""

from typing import Final

from heliograph.base.clock import DAY_MS
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Nothing,
    Row,
    Text,
    rows_by_key,
)

# To a phone: no two services answer each other faster. The confirmation of an opt-out waits for
# nothing but the one before, for the person has a right to it.
REPLY_EVERY_MS: Final = 60_000
CONFIRMED_EVERY_MS: Final = DAY_MS  # a second STOP within it is heeded, and not answered


class WantedReply(Row, frozen=True):
    """Asks for leave to answer a phone. `confirmed_at_ms` is set if the answer confirms an
    opt-out.
    """

    account_id: Id
    sandbox: Bool
    phone: BigInt
    replied_at_ms: BigInt
    confirmed_at_ms: BigInt | None


class TextingPhone(Row, frozen=True):
    """Names a phone that has texted an account in one mode."""

    account_id: Id
    sandbox: Bool
    phone: BigInt


_INTO: Final = """INSERT INTO keyword_replies
    (account_id, sandbox, phone, replied_at_ms, confirmed_at_ms)"""
# A number of ours is no person: it may answer, too. A carrier may write ours as it is dialled at
# home, so a phone is one as well if it ends with the digits of ours, without the zeros before them.
_ENDING_MIN: Final = 8  # digits: a phone that ends with a short code is somebody's
_IS_OURS: Final = f"""EXISTS (SELECT 1 FROM numbers n
    WHERE n.digits = CAST({{phone}} AS varchar(15))
        OR (length(ltrim(n.digits, '0')) >= {_ENDING_MIN}
            AND CAST({{phone}} AS varchar(15)) LIKE '%' || ltrim(n.digits, '0')))"""
_ON_CONFLICT: Final = f"""
    ON CONFLICT (account_id, sandbox, phone) DO UPDATE SET replied_at_ms = excluded.replied_at_ms,
        confirmed_at_ms = COALESCE(excluded.confirmed_at_ms, keyword_replies.confirmed_at_ms)
    WHERE CASE WHEN excluded.confirmed_at_ms IS NULL
        THEN keyword_replies.replied_at_ms <= excluded.replied_at_ms - {REPLY_EVERY_MS}
        ELSE keyword_replies.confirmed_at_ms IS NULL OR keyword_replies.confirmed_at_ms
            <= excluded.confirmed_at_ms - {CONFIRMED_EVERY_MS} END
    RETURNING account_id, sandbox, phone"""
ALLOW: Final = BatchStatement(
    WantedReply,
    TextingPhone,
    postgresql=f"""
        {_INTO} SELECT account_id, sandbox, phone, replied_at_ms, confirmed_at_ms
        FROM :given AS g WHERE NOT {_IS_OURS.format(phone="g.phone")}
        ORDER BY account_id, sandbox, phone {_ON_CONFLICT}""",
    sqlite=f"""
        {_INTO} SELECT :account_id, :sandbox, :phone, :replied_at_ms, :confirmed_at_ms
        WHERE NOT {_IS_OURS.format(phone=":phone")} {_ON_CONFLICT}""",
)


# of phones whose opt-out was not confirmed, for lack of credits: the next STOP is, if it can be
NOT_CONFIRMED: Final = BatchStatement(
    TextingPhone,
    Nothing,
    postgresql="""
        UPDATE keyword_replies AS r SET confirmed_at_ms = NULL FROM :given AS g
        WHERE r.account_id = g.account_id AND r.sandbox = g.sandbox AND r.phone = g.phone""",
    sqlite="""
        UPDATE keyword_replies SET confirmed_at_ms = NULL
        WHERE account_id = :account_id AND sandbox = :sandbox AND phone = :phone""",
)


class AskedPhone(Row, frozen=True):
    """Asks whether a phone has opted out of an account's texts from a sender (in lower case)."""

    account_id: Id
    sandbox: Bool
    phone: BigInt
    sender: Text


_OPT_OUTS: Final = rows_by_key(
    "suppressions", "sender", account_id="g.account_id", sandbox="g.sandbox", phone="g.phone"
)
SUPPRESSED: Final = BatchStatement(
    AskedPhone,
    TextingPhone,
    postgresql=f"""
        SELECT g.account_id, g.sandbox, g.phone
        FROM :given AS g, LATERAL {_OPT_OUTS} AS found
        WHERE found.sender = '' OR found.sender = g.sender""",
    sqlite="""
        SELECT account_id, sandbox, phone FROM suppressions
        WHERE account_id = :account_id AND sandbox = :sandbox AND phone = :phone
            AND (sender = '' OR sender = :sender)""",
)
