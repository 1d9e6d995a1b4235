"""An account buys SMS credits with the wallet's money, at the operator's price, in currencies of
every number of decimals.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import accounts, wallet
from heliograph.base.errors import InsufficientCredits, InvalidRequest
from heliograph.database.database import Database
from heliograph.wallet import CREDITS_MAX, Thresholds, ledger, prices
from heliograph.wallet.money import MINOR_MAX, to_number
from heliograph.wallet.prices import Price
from tests.support.books import assert_books_agree
from tests.support.capability.cast import NOW_MS, account, at_once
from tests.support.capability.commands import Run


def buyer(db: Database, currency: str, money: str) -> str:
    """Makes an account with this much, and returns its raw id."""
    with db.write() as tx:
        made = accounts.create(tx, f"buyer in {currency}", "GH", now_ms=NOW_MS)
        wallet.open_wallet(tx, made.id, currency)
        ledger.topup(tx, made.id, money, "cash", now_ms=NOW_MS)
    return made.id


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("currency", "money", "amount", "per", "bought", "left_minor"),
    [
        ("GHS", "100.00", "35", 1_000, 1_000, 6_500),
        ("GHS", "100.00", "35", 1_000, 1, 9_996),  # 3.5 pesewas: 4
        ("JPY", "1000", "7", 2, 3, 989),  # 10.5 yen: 11
        ("JPY", "1000", "1", 1, 1_000, 0),
        ("KWD", "1.000", "0.005", 1, 200, 0),
        ("BHD", "2.500", "0.007", 3, 10, 2_476),  # 23.33… fils: 24
        ("TND", "0.001", "0.001", 1, 1, 0),
    ],
)
def test_credits_cost_what_the_price_says_rounded_up_to_the_smallest_unit(
    db: Database, currency: str, money: str, amount: str, per: int, bought: int, left_minor: int
) -> None:
    account_id = buyer(db, currency, money)
    with db.write() as tx:
        price = prices.set_price(tx, currency.lower(), amount, per)
        entry = prices.buy_credits(tx, account_id, bought, now_ms=NOW_MS + 1).entry
        assert wallet.wallet_of(tx, account_id).figures == (left_minor, bought)
    assert (entry.type, entry.amount_minor, entry.credits, entry.currency) == (
        "credit_purchase",
        -price.cost_of(bought),
        bought,
        currency,
    )
    assert ledger.as_record(entry)["balance_after"] == to_number(left_minor, currency)
    assert_books_agree(db)


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(
    st.integers(1, MINOR_MAX),
    st.integers(1, CREDITS_MAX),
    st.integers(1, CREDITS_MAX),
    st.integers(1, CREDITS_MAX),
)
def test_a_price_gives_nothing_away_and_takes_less_than_a_unit_too_much(
    amount_minor: int, per: int, one: int, other: int
) -> None:
    price = Price("GHS", amount_minor, per)
    assert 0 <= price.cost_of(one) * per - one * amount_minor < per
    assert (
        price.cost_of(one) + price.cost_of(other)
        >= price.cost_of(one + other)
        >= max(price.cost_of(one), 1)
    )


def test_what_cannot_be_paid_is_refused_and_nothing_bought(db: Database) -> None:
    owner = buyer(db, "KWD", "1.000")
    with db.write() as tx:
        with pytest.raises(InvalidRequest, match="not sold for KWD"):
            prices.buy_credits(tx, owner, 1, now_ms=NOW_MS)
        prices.set_price(tx, "KWD", "0.005", 1)
        with pytest.raises(InsufficientCredits) as refused:
            prices.buy_credits(tx, owner, 201, now_ms=NOW_MS)
        assert (refused.value.reason, refused.value.extra) == (
            "insufficient_balance",
            {"required": 1.005, "available": 1},
        )
        # the last costs more than any wallet can hold
        for credits in (0, -1, CREDITS_MAX + 1, CREDITS_MAX):
            with pytest.raises(InvalidRequest, match="credits"):
                prices.buy_credits(tx, owner, credits, now_ms=NOW_MS)
        assert wallet.wallet_of(tx, owner).figures == (1_000, 0)


def test_the_same_reference_buys_once_whatever_the_price_has_become(db: Database) -> None:
    owner = buyer(db, "GHS", "100")
    with db.write() as tx:
        prices.set_price(tx, "GHS", 1, 10)
        first = prices.buy_credits(tx, owner, 100, " order-17 ", now_ms=NOW_MS)
        prices.set_price(tx, "GHS", 2, 10)
        again = prices.buy_credits(tx, owner, 100, "order-17", now_ms=NOW_MS)
        assert (again.entry, again.applied) == (first.entry, False)
        with pytest.raises(InvalidRequest, match="already applied, with 100 SMS credits"):
            prices.buy_credits(tx, owner, 101, "order-17", now_ms=NOW_MS)
        assert wallet.wallet_of(tx, owner).figures == (9_000, 100)


def test_many_at_once_buy_no_more_than_there_is_money_for(db: Database) -> None:
    owner = buyer(db, "JPY", "10")
    with db.write() as tx:
        prices.set_price(tx, "JPY", 1, 1)

    def buy(k: int) -> ledger.Posted:
        return db.transact(lambda tx: prices.buy_credits(tx, owner, 1, now_ms=NOW_MS + k))

    outcomes = at_once(30, buy)
    assert sum(isinstance(outcome, InsufficientCredits) for outcome in outcomes) == 20
    with db.read() as tx:
        assert (wallet.wallet_of(tx, owner).figures, wallet.verify(tx)) == ((0, 10), [])


def test_buying_may_make_money_low_and_arms_the_alarm_of_credits(db: Database) -> None:
    owner = account(db, credits=100, balance=10)
    with db.write() as tx:
        wallet.set_low_balance(tx, owner.id, Thresholds(100, 500))
        prices.set_price(tx, "GHS", 1, 1)
        assert ledger.adjust_credits(tx, owner.id, -1, "spent", now_ms=NOW_MS).alarms == (
            "credits",
        )
        assert prices.buy_credits(tx, owner.id, 6, now_ms=NOW_MS).alarms == ("balance",)
        assert ledger.adjust_credits(tx, owner.id, -50, "spent", now_ms=NOW_MS).alarms == (
            "credits",
        )


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("currency", "amount", "per", "named"),
    [
        ("GHC", "1", 1, "currency"),
        ("JPY", "1.5", 1, "amount"),
        ("KWD", "0.0001", 1, "amount"),
        ("GHS", "0", 1, "amount"),
        ("GHS", "-1", 1, "amount"),
        ("GHS", "1", 0, "per"),
        ("GHS", "1", CREDITS_MAX + 1, "per"),
        ("GHS", "1e20", 1, "amount"),
    ],
)
def test_a_price_that_is_none_is_refused(
    db: Database, currency: str, amount: str, per: int, named: str
) -> None:
    with db.write() as tx, pytest.raises(InvalidRequest, match=f"^{named} "):
        prices.set_price(tx, currency, amount, per)


def test_the_commands_set_list_buy_and_remove(db: Database, run: Run) -> None:
    run("account", "create", "shop", "--country", "KW", "--currency", "KWD", "--balance", "1.25")
    assert run("price", "set", "kwd", "0.125", "--per", 100, "--json").json == {
        "currency": "KWD",
        "amount": 0.125,
        "per": 100,
    }
    assert (
        run("price", "set", "KWD", "0.25", "--per", 100).status
        == run("price", "set", "JPY", 3, "--per", 1).status
        == 0
    )
    assert run("price", "list", "--json").json == [
        {"currency": "JPY", "amount": 3, "per": 1},
        {"currency": "KWD", "amount": 0.25, "per": 100},
    ]
    bought = run(
        "credits", "buy", "--account", "shop", "--credits", 200, "--reference", "o-1", "--json"
    ).json
    assert (bought["type"], bought["amount"], bought["credits"], bought["balance_after"]) == (
        "credit_purchase",
        -0.5,
        200,
        0.75,
    )
    assert bought["description"] == "200 SMS credits at 0.250 KWD per 100"
    assert (
        run(
            "credits", "buy", "--account", "shop", "--credits", 200, "--reference", "o-1", "--json"
        ).json["applied"]
        is False
    )
    for status, args, said in (
        (
            1,
            ("credits", "buy", "--account", "shop", "--credits", 400),
            "The wallet holds 0.750 KWD; this takes 1.000 KWD.",
        ),
        (
            2,
            ("price", "set", "JPY", "1.5", "--per", 1),
            "AMOUNT has more decimals than the 0 of JPY: '1.5'.",
        ),
        (1, ("price", "remove", "GHS"), "There is no price in 'GHS'."),
    ):
        told = run(*args)
        assert (told.status, told.err) == (status, f"heliograph: {said}\n")
    assert run("price", "remove", "kwd").status == 0
    assert run("credits", "buy", "--account", "shop", "--credits", 1).err == (
        "heliograph: SMS credits are not sold for KWD: there is no price in it.\n"
    )
    assert run("ledger", "verify").status == 0
