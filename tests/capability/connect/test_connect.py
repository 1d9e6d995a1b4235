"""Partners and customers have transfers between them, with their alarms. The tests ask, below the
API, who hears of them, and what the operator sees.
"""

from typing import Any

import pytest

from heliograph import accounts, connect, keys, wallet
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits, InvalidRequest
from heliograph.connect.credits import move_credits
from heliograph.connect.request import CreditsRequest
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.wallet import Figures, Thresholds, ledger
from heliograph.wallet.tables import wallets
from tests.support.books import assert_books_agree
from tests.support.capability.cast import NOW_MS, account, epoch
from tests.support.capability.commands import BILAL, Run
from tests.support.capability.webhooks import endpoint, events


def provision(
    db: Database, partner: accounts.Account, *, sandbox: bool = False, **wish: Any
) -> str:
    """Provisions a customer, and returns its raw id."""
    with db.write() as tx:
        return connect.provision(
            tx, partner.id, BILAL._replace(**wish), sandbox=sandbox, now_ms=NOW_MS
        ).customer.account_id


def moved(
    db: Database, partner: accounts.Account, customer_id: str, credits: int
) -> tuple[int, int]:
    """Moves credits, and returns what the customer and the partner have after it."""
    with db.write() as tx:
        after = move_credits(
            tx,
            partner.id,
            customer_id,
            CreditsRequest(credits, None),
            sandbox=False,
            now_ms=NOW_MS + 1,
        )
    return after.customers_credits, after.partners_credits


def told(db: Database) -> list[tuple[str, str, int]]:
    """Returns whose figures were told to be low, which, and how low."""
    return [
        (event["account_id"][:4], event["data"]["kind"], event["data"]["sms_credits"])
        for event in events(db)
    ]


def test_an_alarm_fires_for_whoever_a_transfer_leaves_low_and_is_armed_for_whoever_it_brings_back(
    db: Database,
) -> None:
    owner = account(db, "amina", credits=250)
    bilal = provision(db, owner)
    endpoint(db, owner.id, kinds=["wallet.low_balance"], include_customers=True)
    assert moved(db, owner, bilal, 150) == (150, 100)
    assert told(db) == []  # a hundred is not below a hundred, and what comes in is no debit
    assert moved(db, owner, bilal, 1) == (151, 99)
    assert told(db) == [("acc_", "credits", 99)]
    assert moved(db, owner, bilal, 9) == (160, 90)
    assert len(told(db)) == 1  # fired once
    assert moved(db, owner, bilal, -61) == (99, 151)
    assert told(db)[1:] == [("cus_", "credits", 99)]
    assert moved(db, owner, bilal, 1) == (100, 150)  # arms hers and his again
    assert moved(db, owner, bilal, -1) == (99, 151)
    assert moved(db, owner, bilal, 52) == (151, 99)
    assert told(db)[2:] == [("cus_", "credits", 99), ("acc_", "credits", 99)]
    with db.read() as tx:
        assert (
            wallet.wallet_of(tx, owner.id).armed.credits,
            wallet.wallet_of(tx, bilal).armed.credits,
        ) == (False, True)
    assert_books_agree(db)


def test_what_a_customer_begins_with_can_make_its_partner_low_in_both(db: Database) -> None:
    owner = account(db, credits=100, balance=50)
    with db.write() as tx:
        wallet.set_low_balance(tx, owner.id, Thresholds(100, 5_000))
    endpoint(db, owner.id, kinds=["wallet.low_balance"])
    provision(db, owner, initial_credits=1, initial_balance=0.01)
    assert [(kind, credits) for _, kind, credits in told(db)] == [("credits", 99), ("balance", 99)]
    assert events(db)[1]["data"]["wallet"] == {"balance": 49.99, "currency": "GHS"}


def test_a_customer_hears_of_itself_and_not_of_its_partner(db: Database) -> None:
    owner = account(db, "amina", credits=200)
    bilal = provision(db, owner, initial_credits=100)
    endpoint(db, bilal, kinds=["wallet.low_balance"])
    moved(db, owner, bilal, 1)
    assert told(db) == []
    moved(db, owner, bilal, -2)
    assert told(db) == [("cus_", "credits", 99)]


def test_credits_go_between_wallets_of_different_currencies_and_the_ledger_agrees(
    db: Database,
) -> None:
    owner = account(db, credits=100, balance=1)
    bilal = provision(db, owner, currency="KWD", initial_credits=60)
    assert moved(db, owner, bilal, -20) == (40, 60)
    with db.write() as tx:
        ledger.topup(tx, bilal, "1.234", "cash", now_ms=clock.now_ms())
    with db.read() as tx:
        read_one_snapshot(tx)
        assert wallet.verify(tx) == []
        assert (wallet.wallet_of(tx, bilal).figures, wallet.wallet_of(tx, owner.id).figures) == (
            Figures(1_234, 40),
            Figures(100, 60),
        )
    assert_books_agree(db)


def test_the_ledgers_proof_finds_a_transfer_that_only_one_side_holds(db: Database) -> None:
    owner = account(db, credits=100, balance=10)
    bilal = provision(db, owner, initial_credits=60, initial_balance=2.5)
    for change, back in (
        ({"sms_credits": 61}, {"sms_credits": 60}),
        ({"balance_minor": 0}, {"balance_minor": 250}),
    ):
        with db.write() as tx:
            tx.execute(wallets.update().where(wallets.c.account_id == bilal).values(change))
            assert [found.account_id for found in wallet.verify(tx)] == [bilal]
            tx.execute(wallets.update().where(wallets.c.account_id == bilal).values(back))
            assert wallet.verify(tx) == []


def test_a_sandbox_customer_has_no_part_in_the_ledger(db: Database, run: Run) -> None:
    owner = account(db)
    bilal = provision(db, owner, sandbox=True, initial_credits=70, initial_balance=2.5)
    hook = (
        "webhook",
        "add",
        "https://shop.example/hook",
        "--account",
        accounts.text_of_id(bilal, is_customer=True),
        "--events",
        "all",
        "--mode",
    )
    assert (
        "--mode must be sandbox for a customer that was provisioned in sandbox"
        in run(*hook, "live").err
    )
    assert run(*hook, "sandbox").status == 0
    with db.write() as tx:
        with pytest.raises(InvalidRequest, match="sandbox customer"):
            ledger.grant(tx, bilal, 1, "x", now_ms=NOW_MS)
        with pytest.raises(InvalidRequest, match="sandbox customer"):
            ledger.topup(tx, bilal, 1, "x", now_ms=NOW_MS)
        with pytest.raises(InvalidRequest, match="must be sandbox"):
            keys.issue(
                tx,
                bilal,
                name="live",
                sandbox=False,
                tier="free",
                permissions=["all"],
                now_ms=NOW_MS,
            )
        with pytest.raises(InsufficientCredits):
            move_credits(
                tx, owner.id, bilal, CreditsRequest(-71, None), sandbox=True, now_ms=NOW_MS
            )
        assert wallet.verify(tx) == []
    shown = run("account", "list", "--customers-of", "amina", "--json").json
    assert [
        (one["name"], one["sandbox"], one["sms_credits"], one["wallet"]["balance"]) for one in shown
    ] == [("Bilal Stores", True, 70, 2.5)]
    assert shown[0]["partner_id"] == accounts.text_id(owner)


def test_provisioning_makes_no_process_read_its_configuration_anew(db: Database) -> None:
    owner, before = account(db), epoch(db)
    provision(db, owner)
    assert epoch(db) == before


def test_an_operator_finds_a_customer_by_id_and_name(db: Database, run: Run) -> None:
    owner, stranger = account(db, "amina"), account(db, "chidi")
    bilal = provision(db, owner)
    provision(db, stranger, full_name="Dede Stores")
    named = run("account", "show", "Bilal Stores", "--json").json
    assert named["id"] == accounts.text_of_id(bilal, is_customer=True)
    assert run("account", "show", named["id"], "--json").json == named
    assert [
        one["id"] for one in run("account", "list", "--customers-of", "amina", "--json").json
    ] == [named["id"]]
    made = run(
        "key",
        "create",
        "--account",
        named["id"],
        "--mode",
        "live",
        "--tier",
        "standard",
        "--permissions",
        "all",
        "--json",
    ).json
    assert made["key"].startswith("sk_live_")
