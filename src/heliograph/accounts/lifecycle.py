"""Makes an account, changes what it may do, suspends and resumes it, and closes it for good."""

from collections.abc import Iterable
from typing import Final, TypedDict, Unpack

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import account_fields
from heliograph.accounts.account import (
    Account,
    by_id,
    lock,
    require_open,
)
from heliograph.accounts.account_fields import (
    DAILY_CREDITS_MAX,
    OTP_UNVERIFIED_MAX,
    known_country,
    known_time_zone,
)
from heliograph.accounts.states import ACCOUNT, ACTIVE, CLOSED, SUSPENDED
from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.errors import InvalidRequest
from heliograph.base.short_texts import invalid_field
from heliograph.database import config

# of a new account: a stolen key spends no more in a day, and a shop's day of texts fits into it
DAILY_CREDITS: Final = 10_000


class AccountSettings(TypedDict, total=False):
    """Holds what the operator sets on an account. Its owners set the same in the portal, but for
    the tier, the one-time passwords and transactional texts. What is left out stays as it is.
    """

    country_code: str  # its own, by which a phone number that begins with a 0 is read
    max_tier: str  # of its users' keys; the caller knows that the tier exists
    countries: Iterable[str] | None  # it may send to; None: all with a route
    daily_credits: int | None  # cap a UTC day; None: none
    time_zone: str  # IANA, such as Africa/Accra
    # one-time passwords that may stay unverified in any hour; None: as of every account
    otp_unverified: int | None
    transactional: bool  # whether it may send texts that reach who has opted out


def create(
    tx: Connection,
    name: str,
    country_code: str,
    *,
    parent_id: str | None = None,
    sandbox: bool = False,
    daily_credits: int | None = DAILY_CREDITS,
    now_ms: int,
) -> Account:
    """Creates an active account without a wallet (`wallet.open_wallet` gives it one). `parent_id`
    is the raw id of the partner whose customer it is. `daily_credits` is its cap a UTC day, and
    None for none.

    It bumps no epoch: nothing is remembered of an account that was not there, and provisioning
    customers makes no process read everything anew.

    Raises InvalidRequest for a name that is not 1..128 characters on one line or looks like an id,
    for an unknown country, and for a cap that is out of bounds.
    """
    account = Account(
        ids.raw_of_number(ids.new_number(now_ms)),
        parent_id,
        account_fields.read_name("name", name),
        country_code=known_country("country_code", country_code),
        status=ACCOUNT.begun_as(ACTIVE),
        max_tier="standard",
        countries=None,
        daily_credits=_daily_credits(daily_credits),
        time_zone="UTC",
        created_at_ms=now_ms,
        sandbox=sandbox,
        otp_unverified=None,
        closed_at_ms=None,
        transactional=False,
    )
    tx.execute(accounts.insert().values(account._asdict()))
    return account


def change(tx: Connection, account_id: str, **settings: Unpack[AccountSettings]) -> Account:
    """Sets what is given. Raises NotFound, AccountClosed, or InvalidRequest for a country, cap,
    count or time zone that is not valid.
    """
    require_open(lock(tx, account_id))
    values: dict[str, object] = {}
    if "max_tier" in settings:
        values["max_tier"] = settings["max_tier"]
    if "country_code" in settings:
        values["country_code"] = known_country("country_code", settings["country_code"])
    if "countries" in settings:
        values["countries"] = _countries(settings["countries"])
    if "daily_credits" in settings:
        values["daily_credits"] = _daily_credits(settings["daily_credits"])
    if "otp_unverified" in settings:
        values["otp_unverified"] = _otp_unverified(settings["otp_unverified"])
    if "transactional" in settings:
        values["transactional"] = settings["transactional"]
    if "time_zone" in settings:
        values["time_zone"] = known_time_zone(settings["time_zone"])
    return _update(tx, account_id, values)


def rename(tx: Connection, account_id: str, name: str) -> Account:
    """Gives an account another name; its id, keys and records stay as they are. A closed account
    can be renamed, too, which frees its name. Raises NotFound, or InvalidRequest for a name that no
    account can have.
    """
    return _update(tx, account_id, {"name": account_fields.read_name("name", name)})


def suspend(tx: Connection, account_id: str) -> Account:
    """Suspends an account: from now on, it and its customers can read and change nothing.
    Suspending it again changes nothing. Raises NotFound, AccountClosed.
    """
    return _become(tx, account_id, SUSPENDED, status=SUSPENDED)


def resume(tx: Connection, account_id: str) -> Account:
    """Resumes a suspended account (raw id), and returns it. Raises NotFound, AccountClosed."""
    return _become(tx, account_id, ACTIVE, status=ACTIVE)


def go_live(tx: Connection, account_id: str) -> Account:
    """Lets an account that has signed up make keys of live mode, and send. It does nothing for one
    that may already. There is no way back: what was made in live mode stays.

    Raises NotFound, AccountClosed, and InvalidRequest for a customer of the sandbox, whose figures
    are not of the ledger.
    """
    account = require_open(lock(tx, account_id))
    if account.sandbox and account.parent_id is not None:
        raise InvalidRequest("A customer that was provisioned in sandbox stays there.")
    return _update(tx, account_id, {"sandbox": False})


def close(tx: Connection, account_id: str, *, now_ms: int) -> Account:
    """Closes an account for good. The caller has made sure that it owes nothing and is owed nothing
    (`jobs/close_account.py`). Raises NotFound, AccountClosed.
    """
    return _become(tx, account_id, CLOSED, status=SUSPENDED, closed_at_ms=now_ms)


def _become(tx: Connection, account_id: str, to: str, **values: object) -> Account:
    """Brings an account into the state `to`, whose columns are `values`. Raises NotFound,
    AccountClosed.
    """
    require_open(lock(tx, account_id))
    tx.execute(
        sa.update(accounts)
        .where(accounts.c.id == account_id, sa.text(ACCOUNT.may_become(to)))
        .values(**values)
    )
    config.bump(tx)  # after the account, as where a sender is registered: one order of locks
    return by_id(tx, account_id)


def _update(tx: Connection, account_id: str, values: dict[str, object]) -> Account:
    if values:
        tx.execute(sa.update(accounts).where(accounts.c.id == account_id).values(values))
        config.bump(tx)  # after the account, as where a sender is registered: one order of locks
    return by_id(tx, account_id)


def _countries(codes: Iterable[str] | None) -> str | None:
    if codes is None:
        return None
    found = sorted({known_country("countries", code) for code in codes})
    if not found:
        raise invalid_field(
            "countries", "must name one country at least; to stop all sending, suspend the account"
        )
    return ",".join(found)


def _daily_credits(cap: int | None) -> int | None:
    if cap is not None and not 0 <= cap <= DAILY_CREDITS_MAX:
        raise invalid_field("daily_credits", f"must be from 0 to {DAILY_CREDITS_MAX}, not {cap}")
    return cap


def _otp_unverified(count: int | None) -> int | None:
    if count is not None and not 1 <= count <= OTP_UNVERIFIED_MAX:
        raise invalid_field(
            "otp_unverified", f"must be from 1 to {OTP_UNVERIFIED_MAX}, not {count}"
        )
    return count
