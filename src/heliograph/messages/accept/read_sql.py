"""Declares the statements that read, under locks, what is needed to accept a batch of sends, in
both dialects. `store_sql.py` declares those that store the result.

Ids are raw, times are in milliseconds. One behaviour suite runs over both
(`tests/capability/messages/accept/test_accept.py`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Int,
    Row,
    SmallInt,
    TablesStatement,
    Text,
    portable,
    rows_by_key,
)
from heliograph.database.statements.opt_out_lookups import mark_opt_out_lookup
from heliograph.messages.accept.response import Send
from heliograph.messages.queue.rank import HELD_FROM_US
from heliograph.requests import ScopedKey


class LockedWallet(Row, frozen=True):
    """Holds a wallet under lock. In sandbox, `sms_credits` are those of a sandbox customer.
    `config_epoch` is the current epoch of the configuration. `closed` says whether the account is
    closed now, because the cached account may be older. `has_opt_outs` says whether there are any
    of either mode.
    """

    account_id: Id
    sms_credits: BigInt
    spent_day: Int
    spent_credits: BigInt
    balance_minor: BigInt
    currency: Text
    low_balance_credits: BigInt | None
    credits_alarm_armed: Bool
    config_epoch: BigInt
    keys_day: Int
    keys_octets: BigInt
    sandbox_keys_octets: BigInt
    closed: Bool
    has_opt_outs: Bool


class AskedRecipient(Row, frozen=True):
    """Holds a number that an account sends to in a mode."""

    account_id: Id
    sandbox: Bool
    phone: BigInt


class _OptOut(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    phone: BigInt
    sender: Text


class HelpAsked(Row, frozen=True):
    """Asks how many texts have answered one (raw id) by which a phone has asked for help."""

    account_id: Id
    phone: BigInt
    inbound_id: Id


class _HelpAnswers(Row, frozen=True):
    inbound_id: Id
    answers: BigInt


class _Head(Row, frozen=True):
    """Holds the rank of the bulk that a carrier's queue serves next, or None if none waits."""

    carrier_id: SmallInt
    rank_us: BigInt | None


class _AccountId(Row, frozen=True):
    account_id: Id


class _LockAndLookUp(Row, frozen=True):
    account_ids: list[Id]
    asked: list[ScopedKey]
    recipients: list[AskedRecipient]


class _LockedAndLookedUp(LockedWallet, frozen=True):
    is_any_known: Bool
    is_any_out: Bool


class _From(Row, frozen=True):
    bulk_from_us: BigInt


class _SendId(Row, frozen=True):
    id: Id


_SENDERS_REFUSED: Final = rows_by_key(
    "suppressions", "sender", account_id="g.account_id", sandbox="g.sandbox", phone="g.phone"
)
_USED_KEY: Final = rows_by_key(
    "idempotency_keys",
    "key",
    account_id="a.account_id",
    sandbox="a.sandbox",
    path="a.path",
    key="a.key",
)
# In the order of the index, so that an account without opt-outs does not make the database look
# through those of the others.
_WALLET: Final = """
    account_id, coalesce(sandbox_credits, sms_credits) AS sms_credits, spent_day, spent_credits,
    balance_minor, currency, low_balance_credits, credits_alarm_armed,
    (SELECT epoch FROM config) AS config_epoch, keys_day, keys_octets, sandbox_keys_octets,
    closed, (SELECT s.phone FROM suppressions s WHERE s.account_id = wallets.account_id
        ORDER BY s.account_id, s.sandbox, s.phone LIMIT 1) IS NOT NULL AS has_opt_outs"""
# In the order of their ids, as every transaction locks them.
_LOCK_WALLETS: Final = BatchStatement(
    _AccountId,
    LockedWallet,
    postgresql=mark_opt_out_lookup(f"""
        SELECT {_WALLET} FROM wallets WHERE account_id = ANY(:account_id) ORDER BY account_id
            FOR UPDATE"""),
    sqlite=f"SELECT {_WALLET} FROM wallets WHERE account_id = :account_id",
)
# The same before a batch is judged, telling also whether any of its Idempotency-Keys was ever used:
# as good as never, and then there is nothing to look up. What a transaction that held the locks a
# moment ago has used is not seen here: what stores the batch finds out, and who is refused looks
# again.
_LOCK_AND_LOOK: Final = TablesStatement(
    _LockAndLookUp,
    _LockedAndLookedUp,
    postgresql=mark_opt_out_lookup(f"""
        SELECT {_WALLET},
            EXISTS (SELECT FROM :asked AS a, LATERAL {_USED_KEY} AS known) AS is_any_known,
            EXISTS (SELECT FROM :recipients AS g, LATERAL {_SENDERS_REFUSED} AS found) AS is_any_out
        FROM wallets WHERE account_id = ANY(:account_ids) ORDER BY account_id FOR UPDATE"""),
)

_CARRIERS_HEADS: Final = portable(
    _From,
    _Head,
    f"""
    SELECT c.id AS carrier_id, (
        SELECT q.rank_us FROM queue q WHERE q.carrier_id = c.id AND q.rank_us >= :bulk_from_us
            AND q.rank_us < {HELD_FROM_US}
        ORDER BY q.rank_us LIMIT 1) AS rank_us FROM carriers c""",
)

# CROSS JOIN leaves SQLite no other way than to look into the index once for each.
_OPT_OUTS: Final = BatchStatement(
    AskedRecipient,
    _OptOut,
    postgresql=f"""
        SELECT g.account_id, g.sandbox, g.phone, found.sender
        FROM :given AS g, LATERAL {_SENDERS_REFUSED} AS found""",
    sqlite="""
        SELECT s.account_id, s.sandbox, s.phone, s.sender FROM json_each(:given) AS g
            CROSS JOIN suppressions s ON s.account_id = g.account_id
                AND s.sandbox = g.sandbox AND s.phone = g.phone""",
)

# Its answers are among what the phone was sent since: few look them up, so they have no index.
_ANSWERS: Final = """
    messages m JOIN answering_sends a ON a.send_id = m.send_id
    WHERE m.account_id = {0}account_id AND m.recipient = {0}phone AND m.id >= {0}inbound_id
        AND a.inbound_id = {0}inbound_id"""
_HELP_ANSWERS: Final = BatchStatement(
    HelpAsked,
    _HelpAnswers,
    postgresql=f"""
        SELECT g.inbound_id, (SELECT count(*) FROM {_ANSWERS.format("g.")}) AS answers
        FROM :given AS g""",
    sqlite=f"SELECT :inbound_id AS inbound_id, count(*) AS answers FROM {_ANSWERS.format(':')}",
)

_SEND: Final = ", ".join(f"s.{name}" for name in Send.__struct_fields__)
_FIND_SENDS: Final = BatchStatement(
    _SendId,
    Send,
    postgresql=f"SELECT {_SEND} FROM sends s WHERE s.id = ANY(:id)",
    sqlite=f"SELECT {_SEND} FROM sends s WHERE s.id = :id",
)


async def lock_wallets(tx: HotTx, account_ids: Sequence[str]) -> list[LockedWallet]:
    """Locks the wallets of these accounts, which are given in the order of their ids."""
    return await _LOCK_WALLETS.rows(tx, [_AccountId(account_id) for account_id in account_ids])


class LockedBatch(NamedTuple):
    """Holds the wallets of a batch under lock. `is_any_known` says whether any of its
    Idempotency-Keys may have been used, `is_any_out` whether any recipient may have opted out.
    """

    wallets: Sequence[LockedWallet]
    is_any_known: bool
    is_any_out: bool


async def lock_and_look_up(
    tx: HotTx, account_ids: list[str], asked: list[ScopedKey], recipients: list[AskedRecipient]
) -> LockedBatch:
    """Locks the wallets, and looks whether any of these Idempotency-Keys or recipients is known."""
    if not tx.postgresql or not (asked or recipients):
        return LockedBatch(await lock_wallets(tx, account_ids), bool(asked), bool(recipients))
    looked_at = await _LOCK_AND_LOOK.rows(tx, _LockAndLookUp(account_ids, asked, recipients))
    return LockedBatch(looked_at, looked_at[0].is_any_known, looked_at[0].is_any_out)


async def opt_outs(tx: HotTx, recipients: list[AskedRecipient]) -> list[_OptOut]:
    """Returns the opt-outs of these recipients, of all senders."""
    return await _OPT_OUTS.rows(tx, recipients)


async def help_answers(tx: HotTx, asked: list[HelpAsked]) -> list[_HelpAnswers]:
    """Returns how many answers each of these texts has had."""
    return await _HELP_ANSWERS.rows(tx, asked)


async def heads(tx: HotTx, bulk_from_us: int) -> list[tuple[int, int | None]]:
    """Returns the id of each carrier, and the rank of bulk that its queue serves next, or None if
    none waits.
    """
    return [
        (head.carrier_id, head.rank_us)
        for head in await _CARRIERS_HEADS.rows(tx, _From(bulk_from_us))
    ]


async def find_sends(tx: HotTx, send_ids: Sequence[str]) -> list[Send]:
    """Returns which of these sends are stored."""
    return await _FIND_SENDS.rows(tx, [_SendId(send_id) for send_id in send_ids])
