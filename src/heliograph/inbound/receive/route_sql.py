"""Declares the statements that find out whose a text is, and what it answers."""

from collections.abc import Sequence
from typing import Final

from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Row,
    SharingStatement,
    SmallInt,
    Text,
)
from heliograph.database.transitions import is_one_of
from heliograph.messages.states import DELIVERED, IN_DOUBT, KEPT_BACK, SENT, SUBMITTING


class OurNumber(Row, frozen=True):
    carrier_id: SmallInt
    digits: Text


class NumberOwner(Row, frozen=True):
    """Says whose a number is. `country_code` is the country of its account, or of its catch-all
    account; None if it has neither.
    """

    digits: Text
    account_id: Id | None
    catch_all_id: Id | None
    first_word: Bool
    country_code: Text | None


_OWNER: Final = """n.digits, n.account_id, n.catch_all_id, n.first_word,
    (SELECT a.country_code FROM accounts a
        WHERE a.id = coalesce(n.account_id, n.catch_all_id)) AS country_code"""
OWNERS: Final = BatchStatement(
    OurNumber,
    NumberOwner,
    postgresql=f"""
        SELECT {_OWNER} FROM :given AS g JOIN numbers n
            ON n.carrier_id = g.carrier_id AND n.digits = g.digits""",
    sqlite=f"""
        SELECT {_OWNER} FROM numbers n
        WHERE n.carrier_id = :carrier_id AND n.digits = :digits""",
)


class SharedDigits(Row, frozen=True):
    """Asks for the countries of the accounts that may send from a shared number."""

    digits: Text


class SenderCountry(Row, frozen=True):
    digits: Text
    country_code: Text


# those who may send from a number have a sender ID of its digits, as in _NEWEST_OF_ALL
COUNTRIES: Final = BatchStatement(
    SharedDigits,
    SenderCountry,
    postgresql="""
        SELECT DISTINCT g.digits, a.country_code
        FROM :given AS g JOIN senders n
            ON n.skeleton = g.digits AND n.sender = g.digits AND NOT n.sandbox
        JOIN accounts a ON a.id = n.account_id AND a.closed_at_ms IS NULL""",
    sqlite="""
        SELECT DISTINCT n.sender AS digits, a.country_code
        FROM senders n JOIN accounts a ON a.id = n.account_id AND a.closed_at_ms IS NULL
        WHERE n.skeleton = :digits AND n.sender = :digits AND NOT n.sandbox""",
)


class Addressed(Row, frozen=True):
    """Asks for the newest message that an account sent in one mode from a sender to a phone.
    `digits` are the number's, or the sender's name.
    """

    account_id: Id
    sandbox: Bool
    digits: Text
    phone: BigInt


class MessagesSince(Row, frozen=True):
    """Says since when messages that left count, and from which id on messages are looked at, for
    all questions. `this_month` and `first_month` are the lowest ids of the present month and of
    that of `since`: they tell PostgreSQL which partitions to read.
    """

    left_since_ms: BigInt
    since: Id
    this_month: Id
    first_month: Id


class NewestMessage(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    digits: Text
    phone: BigInt
    message_id: Id
    left_at_ms: BigInt


_LOOKED_AT_MAX: Final = 1_000  # messages of one account to one phone
# The index of recipients has no ids: of one phone, it has the rows in the order of their places,
# and so, as good as always, of their ids. Read backwards, a month at a time, it has the newest
# first, and no more than so many are looked at. (The bounds, which make the order no constant, are
# both the phone.) No condition leaves rows out before they are counted.
_OF_MONTH: Final = """
    SELECT id, send_id, account_id, sandbox, status, parts_accepted, error_code, sent_at_ms
    FROM messages
    WHERE account_id = {account_id} AND recipient >= g.phone AND recipient <= g.phone"""
_LATEST: Final = f"""(
    ({_OF_MONTH} AND id >= CAST(:this_month AS uuid)
        ORDER BY recipient DESC LIMIT {_LOOKED_AT_MAX})
    UNION ALL
    ({_OF_MONTH} AND id >= CAST(:first_month AS uuid) AND id < CAST(:this_month AS uuid)
        ORDER BY recipient DESC LIMIT {_LOOKED_AT_MAX}))"""
_LATEST_SQLITE: Final = f"""(
    SELECT id, send_id, account_id, sandbox, status, parts_accepted, error_code, sent_at_ms,
        recipient
    FROM messages INDEXED BY messages_by_recipient
    WHERE account_id = {{account_id}} AND recipient = :phone
    ORDER BY rowid DESC LIMIT {_LOOKED_AT_MAX})"""
# Nobody answers a text that has never left: one that waits, was canceled, or was refused. What a
# carrier is just being given, or may have, counts.
_HAS_LEFT: Final = f"""({is_one_of("m.status", (SENT, DELIVERED))} OR m.parts_accepted <> 0
    OR NOT {is_one_of("m.error_code", KEPT_BACK)}
    OR EXISTS (SELECT 1 FROM inflight i WHERE i.message_id = m.id
        AND {is_one_of("i.state", (SUBMITTING, IN_DOUBT))}))"""
# Ids are in the order in which messages were accepted. One of a large send may leave hours after
# another account's that was accepted later, and then its phone has it last.
_LEFT_AT: Final = """coalesce(m.sent_at_ms,
    (SELECT max(i.since_ms) FROM inflight i WHERE i.message_id = m.id), s.created_at_ms)"""
_COUNTS: Final = f"{_HAS_LEFT} AND {_LEFT_AT} >= :left_since_ms"
_NEWEST_FIRST: Final = f"ORDER BY {_LEFT_AT} DESC, m.id DESC LIMIT 1"
_NEWEST_MESSAGES: Final = SharingStatement(
    Addressed,
    MessagesSince,
    NewestMessage,
    postgresql=f"""
        SELECT g.account_id, g.sandbox, g.digits, g.phone, newest.id AS message_id,
            newest.left_at_ms
        FROM :given AS g CROSS JOIN LATERAL (
            SELECT m.id, {_LEFT_AT} AS left_at_ms
            FROM {_LATEST.format(account_id="g.account_id")} m
            JOIN sends s ON s.id = m.send_id
            WHERE m.id >= CAST(:since AS uuid) AND m.sandbox = g.sandbox
                AND s.sender = g.digits AND {_COUNTS}
            {_NEWEST_FIRST}) newest""",
    sqlite=f"""
        SELECT m.account_id, m.sandbox, s.sender AS digits, m.recipient AS phone,
            m.id AS message_id,
            {_LEFT_AT} AS left_at_ms
        FROM {_LATEST_SQLITE.format(account_id=":account_id")} m JOIN sends s ON s.id = m.send_id
        WHERE m.id >= :since AND m.sandbox = :sandbox AND s.sender = :digits AND {_COUNTS}
        {_NEWEST_FIRST}""",
)


class SharedNumber(Row, frozen=True):
    """Asks for the newest message that anybody sent from a shared number to a phone."""

    digits: Text
    phone: BigInt


# Messages have no index by recipient alone, which every send would pay for. So those who may send
# from the number are found by their sender IDs (the skeleton of a number is itself), and each is
# looked up.
_NEWEST_OF_ALL: Final = SharingStatement(
    SharedNumber,
    MessagesSince,
    NewestMessage,
    postgresql=f"""
        SELECT newest.account_id, false AS sandbox, g.digits, g.phone,
            newest.id AS message_id, newest.left_at_ms
        FROM :given AS g CROSS JOIN LATERAL (
            SELECT m.account_id, m.id, {_LEFT_AT} AS left_at_ms
            FROM senders n JOIN accounts a ON a.id = n.account_id
                CROSS JOIN LATERAL {_LATEST.format(account_id="n.account_id")} m
            JOIN sends s ON s.id = m.send_id
            WHERE n.skeleton = g.digits AND n.sender = g.digits AND NOT n.sandbox
                AND m.id >= CAST(:since AS uuid) AND a.closed_at_ms IS NULL
                AND NOT m.sandbox AND s.sender = g.digits AND {_COUNTS}
            {_NEWEST_FIRST}) newest""",
    sqlite=f"""
        SELECT m.account_id, m.sandbox, :digits AS digits, :phone AS phone, m.id AS message_id,
            {_LEFT_AT} AS left_at_ms
        FROM (SELECT (
                SELECT m.id FROM {_LATEST_SQLITE.format(account_id="n.account_id")} m
                JOIN sends s ON s.id = m.send_id
                WHERE m.id >= :since AND NOT m.sandbox AND s.sender = :digits AND {_COUNTS}
                {_NEWEST_FIRST}) AS id
            FROM senders n JOIN accounts a ON a.id = n.account_id
            WHERE n.skeleton = :digits AND n.sender = :digits AND NOT n.sandbox
                AND a.closed_at_ms IS NULL) newest
        JOIN messages m ON m.id = newest.id JOIN sends s ON s.id = m.send_id
        {_NEWEST_FIRST}""",
)


class FormerTenant(Row, frozen=True):
    """Names an account that has texted a phone from a shared number, however long ago."""

    account_id: Id
    digits: Text
    phone: BigInt


FORMER_TENANTS_MAX: Final = 1_000  # whom one STOP is for
FORMER_TENANTS: Final = BatchStatement(
    SharedNumber,
    FormerTenant,
    postgresql=f"""
        SELECT former.account_id, g.digits, g.phone FROM :given AS g CROSS JOIN LATERAL (
            SELECT n.account_id FROM senders n JOIN accounts a ON a.id = n.account_id
            WHERE n.skeleton = g.digits AND n.sender = g.digits AND NOT n.sandbox
                AND a.closed_at_ms IS NULL AND EXISTS (
                    SELECT FROM (
                        SELECT send_id FROM messages WHERE account_id = n.account_id
                            AND recipient = g.phone AND NOT sandbox
                        LIMIT {_LOOKED_AT_MAX}) m
                    JOIN sends s ON s.id = m.send_id WHERE s.sender = g.digits)
            ORDER BY n.account_id LIMIT {FORMER_TENANTS_MAX}) former""",
    sqlite=f"""
        SELECT n.account_id, n.sender AS digits, :phone AS phone
        FROM senders n JOIN accounts a ON a.id = n.account_id
        WHERE n.skeleton = :digits AND n.sender = :digits AND NOT n.sandbox
            AND a.closed_at_ms IS NULL AND EXISTS (
                SELECT 1 FROM (
                    SELECT send_id FROM messages INDEXED BY messages_by_recipient
                    WHERE account_id = n.account_id AND recipient = :phone AND NOT sandbox
                    LIMIT {_LOOKED_AT_MAX}) m
                JOIN sends s ON s.id = m.send_id WHERE s.sender = :digits)
        ORDER BY n.account_id LIMIT {FORMER_TENANTS_MAX}""",
)


async def newest_of_all(
    tx: HotTx, asked: Sequence[SharedNumber], since: MessagesSince
) -> list[NewestMessage]:
    """Returns which message of each left last, if one has left since then."""
    return await _NEWEST_OF_ALL.rows_with(tx, asked, since)


async def newest_messages(
    tx: HotTx, asked: Sequence[Addressed], since: MessagesSince
) -> list[NewestMessage]:
    """Returns which message of each left last, if one has left since then."""
    return await _NEWEST_MESSAGES.rows_with(tx, asked, since)
