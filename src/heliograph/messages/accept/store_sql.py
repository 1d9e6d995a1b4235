"""Declares the statements that store a batch of accepted sends, in both dialects: one statement on
PostgreSQL, one for each table on SQLite.
"""

from typing import Any, Final, NamedTuple

from msgspec.structs import astuple

from heliograph.database.hot import HotTx
from heliograph.database.outage import StaleRead
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    GivenT,
    Id,
    Insert,
    Int,
    Nothing,
    Row,
    SmallInt,
    TablesStatement,
    Text,
    columns_of,
    values_of,
)
from heliograph.messages.queue.sql import QUEUE, QueuedRun
from heliograph.messages.states import MESSAGE, QUEUED
from heliograph.requests import INSERT_KEYS, StoredKey
from heliograph.wallet import INSERT_ENTRIES, Entry


class SendRow(Row, frozen=True):
    """Holds a row of `sends`, and its position in the batch, from 1."""

    place: BigInt
    id: Id
    account_id: Id
    sandbox: Bool
    type: Text
    sender: Text
    text: Text
    encoding: Text
    segments: SmallInt
    message_count: Int
    reference: Text | None
    expires_at_ms: BigInt
    credits_required: BigInt
    credits_used: BigInt
    credits_remaining: BigInt
    exceptions: Text | None
    created_at_ms: BigInt
    group_id: Int | None


class MessageColumns(Row, frozen=True):
    """Holds the messages of a batch by columns, because there may be 10,000 of them. All else of a
    message stands in its send, which `place` names.
    """

    id: list[Id]
    place: list[BigInt]
    recipient: list[BigInt]
    country_code: list[Text | None]
    carrier_id: list[SmallInt]
    credits: list[Int]


class RunRow(Row, frozen=True):
    """Holds a run of a send's messages that is queued. All else of it stands in its send, which
    `place` names.
    """

    carrier_id: SmallInt
    rank_us: BigInt
    first_id: Id
    messages: Int
    place: BigInt
    prefix: Text


class WalletRow(Row, frozen=True):
    """Holds a wallet's new figures. If `sms_credits` is None, credits and alarm stay as
    they are.
    """

    account_id: Id
    sms_credits: BigInt | None
    spent_day: Int
    spent_credits: BigInt
    armed: Bool
    keys_day: Int
    keys_octets: BigInt
    sandbox_keys_octets: BigInt


class BatchRows(NamedTuple):
    """Holds all that a batch stores."""

    sends: list[SendRow]
    messages: MessageColumns
    runs: list[RunRow]
    keys: list[StoredKey]
    entries: list[Entry]
    wallets: list[WalletRow]


class _Store(Row, frozen=True):
    sends: list[SendRow]
    messages: MessageColumns
    runs: list[RunRow]
    keys: list[StoredKey]
    entries: list[Entry]
    wallets: list[WalletRow]


class _Stored(Row, frozen=True):
    keys: BigInt


_BEGUN: Final = MESSAGE.begun_as(QUEUED)
_SENDS: Final = ", ".join(name for name in SendRow.__struct_fields__ if name != "place")
# the columns of `messages`, each with what PostgreSQL stores there: of a message `m`, its send `s`
_MESSAGES: Final = {
    "id": "m.id",
    "send_id": "s.id",
    "account_id": "s.account_id",
    "sandbox": "s.sandbox",
    "recipient": "m.recipient",
    "country_code": "m.country_code",
    "carrier_id": "m.carrier_id",
    "status": f"'{_BEGUN}'",
    "segments": "s.segments",
    "credits": "m.credits",
    "group_id": "s.group_id",
}


def _queued(send: SendRow, run: RunRow) -> QueuedRun:
    """Returns the row of the queue for a run of a send that is new."""
    return QueuedRun(
        carrier_id=run.carrier_id,
        rank_us=run.rank_us,
        first_id=run.first_id,
        messages=run.messages,
        send_id=send.id,
        segments=send.segments,
        prefix=run.prefix,
        attempt=1,
        not_before_ms=0,
        expires_at_ms=send.expires_at_ms,
    )


def _named_as_in(alias: str, row: type[GivenT]) -> GivenT:
    """Returns a row that holds the names of its columns, under this alias."""
    names: list[Any] = [f"{alias}.{name}" for name in row.__struct_fields__]
    return row(*names)


# On PostgreSQL the database makes the same rows: of the send `s` and its run `q`. What
# `_queued` adds of its own can only be a number.
_QUEUED_VALUES: Final = ", ".join(
    map(str, astuple(_queued(_named_as_in("s", SendRow), _named_as_in("q", RunRow))))
)

# Per message only what differs stands in arrays; the rest is joined from its send, by its place.
_STORE: Final = TablesStatement(
    _Store,
    _Stored,
    {"keys": INSERT_KEYS, "entries": INSERT_ENTRIES},
    postgresql=f"""
        WITH batch AS MATERIALIZED (SELECT * FROM :sends AS s),
        stored_sends AS (INSERT INTO sends ({_SENDS}) SELECT {_SENDS} FROM batch),
        stored_messages AS (
            INSERT INTO messages ({", ".join(_MESSAGES)})
            SELECT {", ".join(_MESSAGES.values())}
            FROM :messages AS m JOIN batch s USING (place)),
        stored_runs AS (
            INSERT INTO queue ({columns_of(QueuedRun)})
            SELECT {_QUEUED_VALUES} FROM :runs AS q JOIN batch s USING (place)),
        stored_keys AS (INSERT :keys RETURNING 1),
        charged AS (INSERT :entries),
        debited AS (
            UPDATE wallets SET sms_credits = coalesce(w.sms_credits, wallets.sms_credits),
                spent_day = w.spent_day, spent_credits = w.spent_credits,
                credits_alarm_armed = w.armed, keys_day = w.keys_day,
                keys_octets = w.keys_octets, sandbox_keys_octets = w.sandbox_keys_octets
            FROM :wallets AS w WHERE wallets.account_id = w.account_id)
        SELECT count(*) AS keys FROM stored_keys""",
)


class _NewMessage(Row, frozen=True):
    id: Id
    send_id: Id
    account_id: Id
    sandbox: Bool
    recipient: BigInt
    country_code: Text | None
    carrier_id: SmallInt
    segments: SmallInt
    credits: Int
    group_id: Int | None


_STORE_SENDS: Final = BatchStatement(
    SendRow,
    Nothing,
    sqlite=f"""
        INSERT INTO sends ({_SENDS})
        VALUES ({", ".join(f":{name}" for name in _SENDS.split(", "))})""",
)
_STORE_MESSAGES: Final = BatchStatement(
    _NewMessage,
    Nothing,
    sqlite=f"""
    INSERT INTO messages ({columns_of(_NewMessage)}, status)
    VALUES ({values_of(_NewMessage)}, '{_BEGUN}')""",
)
_STORE_WALLETS: Final = BatchStatement(
    WalletRow,
    Nothing,
    sqlite="""
    UPDATE wallets SET sms_credits = coalesce(:sms_credits, sms_credits), spent_day = :spent_day,
        spent_credits = :spent_credits,
        credits_alarm_armed = :armed, keys_day = :keys_day, keys_octets = :keys_octets,
            sandbox_keys_octets = :sandbox_keys_octets
    WHERE account_id = :account_id""",
)


class AnsweringSend(Row, frozen=True):
    """Holds a row of `answering_sends`."""

    send_id: Id
    inbound_id: Id
    outlives_opt_outs: Bool


_STORE_ANSWERS: Final = Insert("answering_sends", AnsweringSend)


async def store(tx: HotTx, rows: BatchRows) -> None:
    """Stores a batch: sends, messages, queue, idempotency keys, ledger entries, and the wallets'
    new figures.

    Raises StaleRead when one of the keys was used since the batch looked.
    """
    if tx.postgresql:
        [stored] = await _STORE.rows(tx, _Store(**rows._asdict()))
        if stored.keys < len(rows.keys):
            raise StaleRead
        return
    await _STORE_SENDS.rows(tx, rows.sends)
    await _STORE_MESSAGES.rows(tx, _message_rows(rows.sends, rows.messages))
    await QUEUE.rows(tx, [_queued(rows.sends[run.place - 1], run) for run in rows.runs])
    await INSERT_KEYS.rows(tx, rows.keys)
    await INSERT_ENTRIES.rows(tx, rows.entries)
    await _STORE_WALLETS.rows(tx, rows.wallets)


async def store_answers(tx: HotTx, answering: list[AnsweringSend]) -> None:
    """Stores which sends answer a text. Where none does, nothing is asked."""
    await _STORE_ANSWERS.rows(tx, answering)


def _message_rows(sends: list[SendRow], columns: MessageColumns) -> list[_NewMessage]:
    found = []
    for id_, place, recipient, country_code, carrier_id, credits in zip(
        columns.id,
        columns.place,
        columns.recipient,
        columns.country_code,
        columns.carrier_id,
        columns.credits,
        strict=True,
    ):
        send = sends[place - 1]
        found.append(
            _NewMessage(
                id_,
                send.id,
                send.account_id,
                sandbox=send.sandbox,
                recipient=recipient,
                country_code=country_code,
                carrier_id=carrier_id,
                segments=send.segments,
                credits=credits,
                group_id=send.group_id,
            )
        )
    return found
