"""A price is what the operator sells SMS credits for, one in each currency. Credits are bought
from the wallet's money.
"""

from decimal import Decimal
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field, one_line
from heliograph.database.reads import records_of
from heliograph.wallet.ledger import (
    ISSUANCE_ID,
    REFERENCE_MAX,
    Posted,
    entry_with_reference,
    figures_after,
    post,
    result_of_repeat,
)
from heliograph.wallet.money import MINOR_MAX, currency, to_minor, to_text
from heliograph.wallet.tables import prices
from heliograph.wallet.wallet import CREDITS_MAX, Figures, lock_wallet, wallet_of

_PURCHASE: Final = "credit_purchase"


class Price(NamedTuple):
    """Sells `credits` for `amount_minor` of a currency. Other quantities cost in proportion."""

    currency: str
    amount_minor: int
    credits: int

    def cost_of(self, credits: int) -> int:
        """Returns what these credits cost, in minor units. It is rounded up: a part of a unit
        cannot be paid, and no credit is given away.
        """
        return -(-credits * self.amount_minor // self.credits)


def set_price(
    tx: Connection, currency_code: str, amount: Decimal | int | str, credits: int
) -> Price:
    """Sets what credits cost in a currency from now on. Raises InvalidRequest."""
    code = currency(currency_code)
    price = Price(code, to_minor(amount, code), credits)
    if price.amount_minor < 1:
        raise invalid_field("amount", f"must be more than 0, not {quote_value(str(amount))}")
    if not 1 <= credits <= CREDITS_MAX:
        raise invalid_field("per", f"must be from 1 to {CREDITS_MAX} credits, not {credits}")
    tx.execute(sa.delete(prices).where(prices.c.currency == code))
    tx.execute(prices.insert().values(price._asdict()))
    return price


def all_prices(tx: Connection) -> list[Price]:
    """Returns all prices by currency; there are no more of them than currencies."""
    return records_of(Price, tx.execute(sa.select(prices).order_by(prices.c.currency)))


def remove_price(tx: Connection, currency_code: str) -> None:
    """Stops selling credits for this currency. Raises NotFound."""
    if (
        tx.execute(sa.delete(prices).where(prices.c.currency == currency_code.upper())).rowcount
        == 0
    ):
        raise NotFound(f"There is no price in {quote_value(currency_code)}.")


def price_in(tx: Connection, currency_code: str) -> Price:
    """Returns the price of credits in this currency. Raises InvalidRequest when credits are not
    sold for this currency.
    """
    row = tx.execute(sa.select(prices).where(prices.c.currency == currency_code)).one_or_none()
    if row is None:
        raise InvalidRequest(
            f"SMS credits are not sold for {currency_code}: there is no price in it."
        )
    return Price(**row._asdict())


class CreditsOffer(NamedTuple):
    """Says what SMS credits would cost at the price of the moment, and what the wallet would hold
    after they were bought.
    """

    credits: int
    cost_minor: int
    price: Price
    after: Figures


def quote(tx: Connection, account_id: str, credits: int) -> CreditsOffer:
    """Returns what so many credits would cost an account (raw id) now, and its figures after that.
    Raises what `buy_credits` would raise.
    """
    wallet = wallet_of(tx, account_id)
    price = price_in(tx, wallet.currency)
    cost_minor = _cost(price, credits)
    after = figures_after(wallet.figures, wallet.currency, -cost_minor, credits)
    return CreditsOffer(credits, cost_minor, price, after)


def _cost(price: Price, credits: int) -> int:
    """Returns what so many credits cost, in the smallest unit of the price's currency. Raises
    InvalidRequest for a number that cannot be bought.
    """
    if not 1 <= credits <= CREDITS_MAX:
        raise invalid_field("credits", f"must be from 1 to {CREDITS_MAX}, not {credits}")
    cost_minor = price.cost_of(credits)
    if cost_minor > MINOR_MAX:
        raise invalid_field("credits", f"would cost more than {to_text(MINOR_MAX, price.currency)}")
    return cost_minor


def buy_credits(
    tx: Connection,
    account_id: str,
    credits: int,
    reference: str | None = None,
    *,
    quoted_minor: int | None = None,
    now_ms: int,
) -> Posted:
    """Pays for SMS credits out of the wallet's money, at the price of the moment: one entry, down
    in money and up in credits. The same reference is applied once, whatever the price has become.
    `quoted_minor` is the cost that the buyer has agreed to; with another one, nothing is bought.

    Raises NotFound, InvalidRequest for a number that cannot be bought, without a price, for another
    cost, and for a reference that bought another number, InsufficientCredits
    (`insufficient_balance`).
    """
    if reference is not None:
        reference = one_line("reference", reference, most=REFERENCE_MAX)
    wallet = lock_wallet(tx, account_id)
    if (
        reference is not None
        and (earlier := entry_with_reference(tx, account_id, _PURCHASE, reference)) is not None
    ):
        return result_of_repeat(earlier, earlier.amount_minor, credits)
    price = price_in(tx, wallet.currency)
    cost_minor = _cost(price, credits)
    if quoted_minor not in (None, cost_minor):
        raise invalid_field("credits", f"now cost {to_text(cost_minor, price.currency)}")
    return post(
        tx,
        account_id,
        _PURCHASE,
        ISSUANCE_ID,
        amount_minor=-cost_minor,
        credits=credits,
        description=f"{credits} SMS credits at "
        f"{to_text(price.amount_minor, price.currency)} per {price.credits}",
        reference=reference,
        now_ms=now_ms,
    )
