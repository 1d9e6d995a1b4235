"""Operators change what is in an account's wallet, and what the account may do."""

import threading
import time

import httpx
import pytest
import sqlalchemy as sa

from heliograph import accounts, users, wallet
from heliograph.accounts.tables import audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from heliograph.wallet.tables import ledger_entries
from tests.support.console.operators import sign_in_operator
from tests.support.portal.routes import customer_of
from tests.support.portal.visitor import Visitor, once_in, shown_in


@pytest.fixture
def path(db: Database, amina_id: str) -> str:
    """Returns the path of amina's account in the console."""
    with db.read() as tx:
        return f"/console/accounts/{accounts.text_id(accounts.by_id(tx, amina_id))}"


def wallet_of(path: str) -> str:
    """Returns the path of the account's money."""
    return path.replace("/accounts/", "/money/")


def changed(visitor: Visitor, path: str, do: str, amount: str, **fields: str) -> httpx.Response:
    """Fills in a form of the wallet, and sends it."""
    once = once_in(visitor.get(wallet_of(path)))
    field = "amount" if do in ("top up", "adjust money") else "credits"
    form = {"once": once, "do": do, field: amount, "reason": "Invoice 17", **fields}
    return visitor.post(wallet_of(path), form)


def test_credits_and_money_are_given_and_corrected_by_ledger_entries(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    for do, amount in (
        ("grant", "5 000"),
        ("adjust credits", "-20"),
        ("top up", "250.50"),
        ("adjust money", "-0.50"),
    ):
        assert changed(visitor, path, do=do, amount=amount).status_code == 303, do
    with db.read() as tx:
        held = wallet.wallet_of(tx, amina_id)
        assert (held.figures.sms_credits, held.figures.balance_minor) == (4_980, 25_000)
        logged = tx.execute(
            sa.select(audit_log.c.action, audit_log.c.author_kind, audit_log.c.detail)
            .where(audit_log.c.account_id == amina_id)
            .order_by(audit_log.c.id)
        ).all()
    assert [(entry.action, entry.author_kind) for entry in logged] == [
        (action, "operator")
        for action in ("credits.grant", "credits.adjust", "wallet.topup", "wallet.adjust")
    ]
    assert logged[-1].detail == "4980 SMS credits, 250.00 GHS"
    log = visitor.get("/console/log").text
    assert "Invoice 17" in log
    assert "5000 SMS credits, 0.00 GHS" in log


def test_a_form_that_is_sent_twice_changes_the_wallet_once(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    once = once_in(visitor.get(wallet_of(path)))
    form = {"once": once, "do": "grant", "credits": "100", "reason": "Invoice 17"}
    assert [visitor.post(wallet_of(path), form).status_code for _ in range(2)] == [303, 303]
    with db.read() as tx:
        assert wallet.wallet_of(tx, amina_id).figures.sms_credits == 100
        logged = sa.select(sa.func.count()).where(audit_log.c.account_id == amina_id)
        assert tx.execute(logged).scalar_one() == 1


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"do": "grant", "amount": "-1"}, "must be 1 or more"),
        ({"do": "grant", "amount": "1.5"}, "must be a whole number, not"),
        ({"do": "grant", "amount": "ten"}, "must be a whole number, not"),
        ({"do": "grant", "amount": "9" * 30}, "must be a whole number, not"),
        ({"do": "top up", "amount": "0"}, "must be more than 0"),
        ({"do": "top up", "amount": "1e999999"}, "must be"),
        ({"do": "adjust credits", "amount": "-1"}, "is more than there is"),
        ({"do": "give", "amount": "1"}, "must be one of"),
        ({"do": "grant", "amount": "1", "reason": ""}, "reason"),
    ],
)
def test_what_is_wrong_with_a_change_is_said_at_its_field(
    visitor: Visitor, db: Database, amina_id: str, path: str, fields: dict[str, str], said: str
) -> None:
    sign_in_operator(visitor, db)
    page = changed(visitor, path, **fields)
    assert page.status_code == 400
    assert said in page.text
    with db.read() as tx:
        count = sa.select(sa.func.count()).select_from(ledger_entries)
        assert tx.execute(count.where(ledger_entries.c.account_id == amina_id)).scalar_one() == 0


def test_limits_are_set_with_what_was_before_in_the_log(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(f"{path}/limits")
    form = {
        "max_tier": "enterprise",
        "countries": "gh, ng",
        "daily_credits": "500",
        "transactional": "yes",
        "low_balance_credits": "50",
        "low_balance_amount": "12.50",
        "time_zone": "Africa/Accra",
        "reason": "Contract of May",
    }
    assert visitor.post(f"{path}/limits", form).status_code == 303
    with db.read() as tx:
        account = accounts.by_id(tx, amina_id)
    assert (account.max_tier, account.countries) == ("enterprise", ("GH", "NG"))
    assert (account.daily_credits, account.otp_unverified) == (500, None)
    assert account.transactional
    assert account.time_zone == "Africa/Accra"
    with db.read() as tx:
        held = wallet.wallet_of(tx, amina_id)
    assert (held.low_balance_credits, held.low_balance_amount_minor) == (50, 1_250)
    assert "checked" in visitor.get(f"{path}/limits").text
    log = visitor.get("/console/log").text
    assert "max_tier: enterprise, countries: GH NG, daily_credits: 500" in log
    assert "Contract of May" in log
    visitor.get(f"{path}/limits")
    wrong = visitor.post(f"{path}/limits", {**form, "countries": "Ghana", "daily_credits": "-1"})
    assert wrong.status_code == 400
    assert "daily_credits-error" in wrong.text
    for field, text in (("low_balance_amount", "much"), ("time_zone", "Mars"), ("time_zone", "")):
        assert f"{field}-error" in visitor.post(f"{path}/limits", {**form, field: text}).text
    before = visitor.get("/console/log").text.count("Contract of May")
    visitor.get(f"{path}/limits")
    assert visitor.post(f"{path}/limits", form).status_code == 303
    log = visitor.get("/console/log").text
    assert log.count("Contract of May") == before, "what changed nothing is not told"


@pytest.mark.parametrize(
    ("role", "below"), [(OperatorRole.SUPPORT, "money"), (OperatorRole.FINANCE, "limits")]
)
def test_who_lacks_the_right_sees_no_form_and_changes_nothing(
    visitor: Visitor, db: Database, path: str, role: OperatorRole, below: str
) -> None:
    sign_in_operator(visitor, db, role)
    page = wallet_of(path) if below == "money" else f"{path}/limits"
    assert f'method="post" action="{page}"' not in visitor.get(page).text
    assert visitor.post(page, {"reason": "because"}).status_code == 403


def test_a_change_of_the_wallet_takes_a_fresh_sign_in(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    clock.move(11 * 60_000)
    page = changed(visitor, path, do="grant", amount="100")
    assert "Confirm that it is you" in page.text
    with db.read() as tx:
        assert wallet.wallet_of(tx, amina_id).figures.sms_credits == 0


def test_limits_that_others_set_meanwhile_are_not_overwritten(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(f"{path}/limits")
    is_held = threading.Event()

    def hold() -> None:
        """Changes the limits, and goes on for a while before it commits."""
        with db.write() as tx:
            accounts.change(tx, amina_id, daily_credits=111)
            is_held.set()
            time.sleep(0.5)

    other = threading.Thread(target=hold)
    other.start()
    is_held.wait()
    form = {"max_tier": "standard", "daily_credits": "222", "time_zone": "UTC", "reason": "a rush"}
    visitor.page = visitor.post(f"{path}/limits", form)
    other.join()
    assert visitor.page.status_code == 400
    assert "daily_credits: 111" in visitor.page.text
    assert 'value="222"' in visitor.page.text, "what was typed stays"
    with db.read() as tx:
        assert accounts.by_id(tx, amina_id).daily_credits == 111
    assert visitor.post(f"{path}/limits", form).status_code == 303
    with db.read() as tx:
        entry = users.operator_entries(tx, PageWanted(1, None))[0].entry
    assert "daily_credits: 111" in (entry.before or "")


def test_limits_of_an_account_that_was_closed_meanwhile_are_shown_as_stored(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    with db.write() as tx:
        accounts.change(tx, amina_id, daily_credits=111)
    visitor.get(f"{path}/limits")
    with db.write() as tx:
        accounts.close(tx, amina_id, now_ms=clock.now_ms())
    form = {"max_tier": "standard", "daily_credits": "222", "time_zone": "UTC", "reason": "a rush"}
    refused = visitor.post(f"{path}/limits", form)
    assert refused.status_code == 403
    for page in (refused.text, visitor.get(f"{path}/limits").text):
        assert "<dd>111</dd>" in page
        assert "The account is closed" in page
        assert "Your role" not in page


def test_a_name_that_somebody_gave_meanwhile_is_not_overwritten(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(f"{path}/name")
    with db.write() as tx:
        accounts.rename(tx, amina_id, "Amina Foods")
    form = {"name": "Amina Fish", "reason": "she asked"}
    visitor.page = visitor.post(f"{path}/name", form)
    assert visitor.page.status_code == 400
    assert "somebody renamed the account" in visitor.page.text
    assert 'value="Amina Fish"' in visitor.page.text, "what was typed stays"
    with db.read() as tx:
        assert accounts.by_id(tx, amina_id).name == "Amina Foods"
    assert visitor.post(f"{path}/name", form).status_code == 303
    with db.read() as tx:
        assert accounts.by_id(tx, amina_id).name == "Amina Fish"


def test_what_was_typed_into_one_form_stands_in_no_other(
    visitor: Visitor, db: Database, path: str
) -> None:
    sign_in_operator(visitor, db)
    page = changed(visitor, path, do="top up", amount="-1").text
    assert page.count('value="Invoice 17"') == page.count('id="amount-error"') == 1
    page = changed(visitor, path, do="top up", amount="1", reason="").text
    assert page.count('id="reason-error"') == 1


def paid_out(visitor: Visitor, path: str, **fields: str) -> httpx.Response:
    """Fills in the form that empties the wallet, and sends it."""
    shown = shown_in(visitor.get(wallet_of(path)))
    form = {"do": "pay out", "shown": shown, "reason": "paid by bt-120", **fields}
    return visitor.post(wallet_of(path), form)


def test_a_wallet_is_paid_out_by_ledger_entries_and_an_empty_one_was_already(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.FINANCE)
    assert "Pay it out" not in visitor.get(wallet_of(path)).text, "it is empty"
    changed(visitor, path, do="grant", amount="7")
    changed(visitor, path, do="top up", amount="50.25")
    assert "Pay out 7 SMS credits, 50.25 GHS" in visitor.get(wallet_of(path)).text
    refused = paid_out(visitor, path, reason="")
    assert (refused.status_code, refused.text.count('id="reason-error"')) == (400, 1)
    form = {"do": "pay out", "shown": "7 SMS credits, 50.25 GHS", "reason": "paid by bt-120"}
    assert paid_out(visitor, path).status_code == 303
    late = visitor.post(wallet_of(path), form)
    assert late.status_code == 303
    assert "That was done already" in visitor.get(late.headers["location"]).text
    with db.read() as tx:
        held = wallet.wallet_of(tx, amina_id)
        assert (held.figures.sms_credits, held.figures.balance_minor) == (0, 0)
        assert wallet.verify(tx) == []
        [entry, *_] = [each.entry for each in users.operator_entries(tx, PageWanted(9, None))]
        actions = sa.select(audit_log.c.action).where(audit_log.c.account_id == amina_id)
        told = tx.execute(actions).scalars().all()
    assert (entry.action, entry.before, entry.after, entry.reason) == (
        "wallet.pay_out",
        "7 SMS credits, 50.25 GHS",
        "0 SMS credits, 0.00 GHS",
        "paid by bt-120",
    )
    assert list(told).count("wallet.pay_out") == 1


def test_a_wallet_that_holds_something_else_than_was_shown_is_not_paid_out(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    changed(visitor, path, do="grant", amount="7")
    shown = shown_in(visitor.get(wallet_of(path)))
    changed(visitor, path, do="grant", amount="5")
    page = paid_out(visitor, path, shown=shown)
    assert page.status_code == 400
    assert "What the wallet holds is not what you saw, but 12 SMS credits, 0.00 GHS" in page.text
    assert page.text.count('value="paid by bt-120"') == 1, "what was typed stays"
    with db.read() as tx:
        assert wallet.wallet_of(tx, amina_id).figures.sms_credits == 12


def test_what_a_customer_holds_goes_to_its_partner(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    customer = customer_of(db, amina_id)
    with db.read() as tx:
        path = f"/console/accounts/{accounts.text_id(accounts.by_id(tx, customer))}"
    sign_in_operator(visitor, db)
    changed(visitor, path, do="grant", amount="7")
    assert "Credits go to its partner" in visitor.get(wallet_of(path)).text
    assert paid_out(visitor, path).status_code == 303
    with db.read() as tx:
        held = [wallet.wallet_of(tx, each).figures.sms_credits for each in (customer, amina_id)]
        assert held == [0, 7]
        assert wallet.verify(tx) == []
