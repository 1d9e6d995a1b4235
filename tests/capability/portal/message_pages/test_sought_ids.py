"""The search of messages leads from any id of the account to the page of what it names."""

import re

import pytest

from heliograph import accounts, users
from heliograph.base import ids
from heliograph.database.database import Database
from tests.support.api.inbound_texts import store_inbound
from tests.support.factories import grant, open_account
from tests.support.portal.routes import There, customer_of, things_of
from tests.support.portal.visitor import EMAIL, Visitor

PHONE = "233201234567"


def led_to(visitor: Visitor, home: str, sought: str) -> str:
    """Returns where a search leads, below the account. The page is there, and names the id."""
    led = visitor.get(f"{home}/messages?find={sought}")
    assert led.status_code == 303, sought
    location = str(led.headers["location"])
    assert visitor.get(location).status_code == 200, sought
    return location.removeprefix(home)


def refused(visitor: Visitor, home: str, sought: str) -> str:
    page = visitor.get(f"{home}/messages?find={sought}")
    assert page.status_code == 400, sought
    assert f'name="find" value="{sought}"' in page.text
    found = re.search(r'id="find-error">([^<]*)<', page.text)
    assert found is not None
    return found[1]


def test_any_id_of_the_account_leads_to_its_page(
    visitor: Visitor, db: Database, amina_id: str, home: str, there: There
) -> None:
    for _ in range(2):  # of a list, what was sought stands first
        grant(db, amina_id, 7)
    with db.write() as tx:
        text = store_inbound(tx, amina_id, "is it open", sender=PHONE, sandbox=True)
    for sought, path in (
        (there.contact, "/contacts/"),
        (there.endpoint, "/webhooks/"),
        (there.customer, "/connect/"),
        (there.site, "/sites/"),
        (there.file, "/contacts/imports/"),
        (there.campaign, "/campaigns/"),
    ):
        assert led_to(visitor, home, sought) == f"{path}{sought}"
    assert led_to(visitor, home, text) == f"/conversations/{text}?mode=sandbox"
    assert "is it open" in visitor.page.text
    assert led_to(visitor, home, there.sender) == f"/senders#{there.sender}"
    assert f'<tr id="{there.sender}">' in visitor.page.text
    assert led_to(visitor, home, there.account) == ""
    with db.read() as tx:
        member = users.text_id(users.find(tx, EMAIL))
    assert led_to(visitor, home, member) == "/members"
    entries = re.findall(r'<tr id="(txn_\w+)"', visitor.get(f"{home}/money").text)
    assert len(entries) >= 2
    for entry in entries:
        assert led_to(visitor, home, entry).endswith(f"#{entry}")
        assert re.findall(r'<tr id="(txn_\w+)"', visitor.page.text)[0] == entry
    assert led_to(visitor, home, there.key).endswith(f"#{there.key}")
    assert re.findall(r'<tr id="(key_\w+)"', visitor.page.text)[0] == there.key


def test_an_id_of_nothing_and_one_of_another_account_are_refused_alike(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi", credits=10)
    theirs = things_of(db, chidi, customer_of(db, chidi))
    with db.write() as tx:
        text = store_inbound(tx, chidi, "is it open", sender=PHONE, sandbox=True)
    named = theirs._asdict()
    for name in ("message", "document", "phone", "event"):
        named.pop(name)
    prefixes = (
        "msg",
        "cmp",
        "con",
        "whe",
        "key",
        "cus",
        "inb",
        "sid",
        "site",
        "txn",
        "evt",
        "acc",
        "usr",
    )
    unknown = [ids.new(prefix) for prefix in prefixes]
    for sought in (*named.values(), text, *unknown, "con_x", "txn_x"):
        why = refused(visitor, home, sought)
        assert why.startswith("must be the id of something that this account has, not"), sought
    for sought in ("order", "usr", "x_y", "whsec_1"):
        assert "must be an id such as msg_… of a message" in refused(visitor, home, sought)


@pytest.mark.usefixtures("there")
def test_a_customer_finds_nothing_of_its_partner(
    visitor: Visitor, db: Database, bilal: str, there: There
) -> None:
    visitor.sign_in("bilal@example.com", bilal)
    with db.read() as tx:
        home = f"/portal/accounts/{accounts.text_id(accounts.by_id(tx, bilal))}"
    for sought in (there.contact, there.key, there.account):
        assert "must be the id of something" in refused(visitor, home, sought)


def test_sends_and_campaigns_are_filters_from_the_start(
    visitor: Visitor, home: str, there: There
) -> None:
    page = visitor.get(f"{home}/messages").text
    assert 'name="send_id"' in page
    assert 'name="campaignId"' in page
    page = visitor.get(f"{home}/messages?campaignId={there.campaign}").text
    assert f'name="campaignId" value="{there.campaign}"' in page
