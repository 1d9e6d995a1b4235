"""A rate says how many SMS credits one segment costs. An account's own rates come before the
general ones; among them, the longest prefix comes first, then the country, then the default.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.carriers.tables import GENERAL, rates
from heliograph.database import config
from heliograph.database.reads import records_of
from heliograph.text import FIRST_DIGITS, country, read_prefix

DEFAULT: Final = "default"
CREDITS_PER_SEGMENT_AT_FIRST: Final = 1  # while no general default is set
# times 10 segments and 10,000 recipients stays far below what a wallet can hold
CREDITS_PER_SEGMENT_MAX: Final = 100_000


class Rate(NamedTuple):
    """Holds one rate. `account_id` is raw, or GENERAL. `destination` is digits, a country or
    "default". If `credits` is None, messages there are refused with `no_rate`.
    """

    account_id: str
    destination: str
    credits: int | None


class _RatesByPrefix:
    """Holds the rates of one account, or the general ones."""

    __slots__ = ("_by_destination", "_lengths", "longest")

    def __init__(self, by_destination: dict[str, Rate]) -> None:
        self._by_destination = by_destination
        self._lengths = sorted(
            {len(prefix) for prefix in by_destination if prefix.isdigit()}, reverse=True
        )
        self.longest = max(self._lengths, default=0)

    def find(self, digits: str, country_code: str | None) -> Rate | None:
        """Returns the rate of a destination, or None when nothing is said of it."""
        rates = self._by_destination
        for length in self._lengths:
            if (found := rates.get(digits[:length])) is not None:
                return found
        if country_code is not None and (found := rates.get(country_code)) is not None:
            return found
        return rates.get(DEFAULT)


class Rates:
    """Holds all rates, indexed so that the rate of a recipient is found quickly."""

    __slots__ = ("_by_account", "_general", "longest")

    def __init__(self, rates: Iterable[Rate]) -> None:
        at_first = Rate(GENERAL, DEFAULT, CREDITS_PER_SEGMENT_AT_FIRST)
        by_account: dict[str, dict[str, Rate]] = {GENERAL: {DEFAULT: at_first}}
        for rate in rates:
            by_account.setdefault(rate.account_id, {})[rate.destination] = rate
        self._general = _RatesByPrefix(by_account.pop(GENERAL))
        self._by_account = {
            account_id: _RatesByPrefix(own) for account_id, own in by_account.items()
        }
        # as many digits decide
        self.longest = max(tariff.longest for tariff in (self._general, *self._by_account.values()))

    def credits_for(self, account_id: str, digits: str, country_code: str | None) -> int | None:
        """Returns the credits per segment to a number in E.164 digits; None means `no_rate`.
        `country_code` is the number's country, or None when it has none.
        """
        found = self.rate_of(account_id, digits, country_code)
        return found.credits if found is not None else None

    def rate_of(self, account_id: str, digits: str, country_code: str | None) -> Rate | None:
        """Returns the rate that decides what a segment costs there, as `credits_for` does."""
        own = self._by_account.get(account_id)
        found = own.find(digits, country_code) if own is not None else None
        return found if found is not None else self._general.find(digits, country_code)


def load(tx: Connection, account_id: str | None = None) -> list[Rate]:
    """Returns the rates, the general ones first; with `account_id`, only those that are that
    account's own.
    """
    if account_id is None:
        return load_of(tx, None)
    columns = rates.c
    query = sa.select(
        sa.literal(account_id).label("account_id"), columns.destination, columns.credits
    )
    own = query.where(columns.account_id == account_id).order_by(columns.destination)
    return records_of(Rate, tx.execute(own))


def load_of(tx: Connection, account_ids: Collection[str] | None) -> list[Rate]:
    """Returns the own rates of these accounts (raw ids), of which GENERAL may be one, or all
    rates; the general ones first.
    """
    if account_ids is not None and GENERAL in account_ids:  # most rates, so their id is not read
        others = set(account_ids) - {GENERAL}
        return load(tx, GENERAL) + (load_of(tx, others) if others else [])
    query = sa.select(rates).order_by(rates.c.account_id, rates.c.destination)
    if account_ids is not None:
        query = query.where(rates.c.account_id.in_(account_ids))
    return records_of(Rate, tx.execute(query))


def store(
    tx: Connection, destination: str, credits: int | None, *, account_id: str = GENERAL
) -> Rate:
    """Sets what a segment to a destination costs from now on. `credits` None refuses such
    messages. Raises InvalidRequest.
    """
    rate = check(Rate(account_id, destination, credits))
    # first: its row's lock makes two changes of the configuration wait for each other
    config.bump(tx)
    _delete(tx, rate)
    tx.execute(rates.insert().values(rate._asdict()))
    return rate


def check(rate: Rate) -> Rate:
    """Returns a rate with its destination as it is stored. Raises InvalidRequest."""
    if rate.credits is not None and not 0 <= rate.credits <= CREDITS_PER_SEGMENT_MAX:
        raise invalid_field(
            "credits", f"must be from 0 to {CREDITS_PER_SEGMENT_MAX}, or none; not {rate.credits}"
        )
    return rate._replace(destination=_destination(rate.destination))


def remove(tx: Connection, destination: str, *, account_id: str = GENERAL) -> str:
    """Takes a rate away, so that the next more general one holds, and returns its destination as
    it was stored. Raises NotFound, and InvalidRequest.
    """
    config.bump(tx)
    found = find_stored(load(tx, account_id), account_id, destination)
    if found is None:
        raise NotFound(f"There is no such rate for {quote_value(destination)}.")
    _delete(tx, found)
    return found.destination


def find_stored(stored: Iterable[Rate], account_id: str, destination: str) -> Rate | None:
    """Returns the rate of an account for a destination as somebody wrote it. What is stored like
    that is meant as it stands, because earlier versions took prefixes that begin with 0. Raises
    InvalidRequest.
    """
    own = {rate.destination: rate for rate in stored if rate.account_id == account_id}
    return own[destination] if destination in own else own.get(_destination(destination))


def change(tx: Connection, removed: Sequence[Rate], stored: Sequence[Rate]) -> None:
    """Removes rates and stores others, which `check` has read. A rate that is replaced is
    among the removed ones.
    """
    config.bump(tx)
    if removed:
        gone = sa.delete(rates).where(
            rates.c.account_id == sa.bindparam("of_account"),
            rates.c.destination == sa.bindparam("to"),
        )
        tx.execute(
            gone, [{"of_account": rate.account_id, "to": rate.destination} for rate in removed]
        )
    if stored:
        tx.execute(rates.insert(), [rate._asdict() for rate in stored])


def _delete(tx: Connection, rate: Rate) -> int:
    return tx.execute(
        sa.delete(rates).where(
            rates.c.account_id == rate.account_id, rates.c.destination == rate.destination
        )
    ).rowcount


def _destination(text: str) -> str:
    """Returns a destination as it is stored. Raises InvalidRequest."""
    if text == DEFAULT:
        return text
    destination = read_prefix(text) or country(text)
    if destination is None:
        raise invalid_field(
            "destination",
            f"must be {FIRST_DIGITS}, a country such as GH, or default; not {quote_value(text)}",
        )
    return destination
