"""The overview says what is wrong, and what to do first."""

import re

import pytest
import sqlalchemy as sa

from heliograph import accounts, wallet
from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.portal.overview import WHO_CAN
from heliograph.users import RIGHTS, Right, Role
from heliograph.wallet import ledger
from heliograph.webhooks import endpoints
from heliograph.webhooks.tables import webhook_deliveries, webhook_endpoints
from tests.support.capability.webhooks import endpoint
from tests.support.factories import open_account
from tests.support.portal.routes import customer_of
from tests.support.portal.visitor import EMAIL, Visitor, home_of

ALL_STEPS = 6


def done(visitor: Visitor, home: str) -> int:
    """Returns how many first steps are ticked off."""
    return len(re.findall(r'<li class="done">', visitor.get(home).text))


def test_nothing_is_said_where_nothing_is_wrong(visitor: Visitor, home: str) -> None:
    assert "What needs attention" not in visitor.get(home).text


def test_few_credits_and_little_money_are_told(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        wallet.set_low_balance(tx, amina_id, wallet.Thresholds(100, 5_000))
        ledger.grant(tx, amina_id, 99, "a few", now_ms=clock.now_ms())
    page = visitor.get(home).text
    assert "There are fewer than 100 SMS credits left." in page
    assert "There is less than" in page
    with db.write() as tx:
        ledger.grant(tx, amina_id, 1, "more", now_ms=clock.now_ms())
    assert "SMS credits left" not in visitor.get(home).text


def test_endpoints_that_fail_are_told_and_lead_to_their_page(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    failing, _ = endpoint(db, amina_id, "https://failing.example/?a=1&b=2")
    gone, _ = endpoint(db, amina_id, "https://gone.example/")
    endpoint(db, open_account(db, "chidi"), "https://chidi.example/")
    columns = webhook_endpoints.c
    with db.write() as tx:
        tx.execute(webhook_endpoints.update().values(failing_since_ms=clock.now_ms()))
        tx.execute(
            sa.update(webhook_endpoints)
            .where(columns.id == gone.id)
            .values(disabled_at_ms=clock.now_ms(), disabled_reason="gone")
        )
    page = visitor.get(home).text
    assert "Deliveries to the webhook endpoint https://failing.example/?a=1&amp;b=2 fail." in page
    assert "https://gone.example/ was disabled." in page
    assert f'href="{home}/webhooks/{endpoints.text_id(failing.id)}"' in page
    assert "chidi" not in page


def test_each_page_says_that_its_account_is_suspended(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    said = "This account is suspended: it can read, but change nothing."
    pages = (home, f"{home}/senders", "/portal/you")
    assert [said in visitor.get(page).text for page in pages] == [False, False, False]
    bilal = customer_of(db, amina_id)
    visitor.sign_in("bilal@example.com", bilal)
    assert said not in visitor.get(home_of(db, bilal)).text
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    assert said in visitor.get(home_of(db, bilal)).text, "its partner is suspended"
    visitor.sign_in(EMAIL, amina_id)
    assert [said in visitor.get(page).text for page in pages] == [True, True, True]


def test_each_page_says_whose_it_is_to_who_has_several_accounts(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    account = re.compile(r'<a class="account" href="([^"]+)">([^<]+)</a>')
    assert account.findall(visitor.get(f"{home}/messages").text) == []
    chidi = open_account(db, "chidi & sons")
    visitor.sign_in(EMAIL, chidi)
    assert account.findall(visitor.get(f"{home}/messages").text) == [(home, "amina")]
    others = home_of(db, chidi)
    page = visitor.get(f"{others}/messages").text
    assert account.findall(page) == [(others, "chidi &amp; sons")]


def test_first_steps_are_ticked_off_as_they_are_taken(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    before = done(visitor, home)
    assert before < ALL_STEPS
    visitor.get(f"{home}/send")
    text = {"mode": "sandbox", "sender": "SANDBOX", "recipients": "233201234567", "message": "Hi"}
    visitor.post(f"{home}/send", {**text, "do": "send", "once": "x"})
    assert done(visitor, home) == before + 1
    visitor.get("/portal/you")
    visitor.post("/portal/you/password", {"password": "purple kettle 41 sings"})
    assert done(visitor, home) == before + 2
    made, _ = endpoint(db, amina_id)
    assert done(visitor, home) == before + 2, "no receiver has answered yet"
    with db.write() as tx:
        tx.execute(
            webhook_deliveries.insert().values(
                endpoint_id=made.id,
                event_id=ids.raw_of_number(ids.new_number(clock.now_ms())),
                outcome="delivered",
                tries=1,
                status=200,
                took_ms=12,
                answer=None,
                at_ms=clock.now_ms(),
            )
        )
    assert done(visitor, home) == before + 3


@pytest.mark.parametrize("role", list(Role))
def test_first_steps_lead_each_role_only_to_what_it_can_do(
    visitor: Visitor, amina_id: str, home: str, role: Role
) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    page = visitor.get(home).text
    steps = re.findall(r"<li>(.*?)</li>", page.partition('<ol class="steps">')[2], re.DOTALL)
    takes = {  # the account has a sender ID already
        "Send a text in sandbox": Right.SEND,
        "Make an API key": Right.KEYS,
        "Send a live text": Right.SEND,
        "Receive a webhook": Right.WEBHOOKS,
    }
    for name, right in takes.items():
        (step,) = [step for step in steps if name in step]
        assert ("<a href" in step) is (right in RIGHTS[role]), step
        assert (WHO_CAN[right] in step) is (right not in RIGHTS[role]), step
    quickstart = visitor.get(f"{home}/quickstart").text
    assert ("<h2>Ask for a key</h2>" in quickstart) is (Right.KEYS not in RIGHTS[role])


def test_who_can_names_the_roles_that_have_the_right() -> None:
    for right, sentence in WHO_CAN.items():
        named = {role for role in Role if f"{role.value}s" in sentence.lower()}
        assert named == {role for role in Role if right in RIGHTS[role]}, right
