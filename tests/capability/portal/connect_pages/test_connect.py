"""A partner adds Connect customers in the portal, moves credits, and acts for one."""

import html
import re

import pytest

from heliograph import accounts, connect, contacts, senders, users, wallet
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.connect import Customer
from heliograph.contacts import ContactOwner
from heliograph.database.database import Database
from heliograph.users import Role, members
from heliograph.wallet import ledger
from tests.support.factories import grant, open_account
from tests.support.portal.visitor import EMAIL, Visitor, home_of

ALL = PageWanted(100, None)


@pytest.fixture
def funded(db: Database, amina_id: str) -> None:
    """Amina has 1,000 credits and 50.00 GHS."""
    grant(db, amina_id, 1_000)
    with db.write() as tx:
        ledger.topup(tx, amina_id, "50", "paid", now_ms=clock.now_ms())


def customers(db: Database, partner: str, *, sandbox: bool = False) -> list[Customer]:
    with db.read() as tx:
        return connect.page(tx, partner, ALL, sandbox=sandbox)


def form(visitor: Visitor, path: str, **fields: str) -> dict[str, str]:
    """Returns a form of a page, with the random value of the page in it."""
    found = re.search(r'name="once" value="([^"]+)"', visitor.get(path).text)
    assert found is not None
    return {"once": found[1], **fields}


def bilal_of(visitor: Visitor, db: Database, amina_id: str, home: str, **more: str) -> str:
    """Adds a customer, and returns the path of its page."""
    named = {"full_name": "Bilal Stores", "phone": "0201234599", "country_code": "GH", **more}
    page = visitor.post(f"{home}/connect/new", form(visitor, f"{home}/connect/new", **named))
    assert page.status_code == 303, page.text
    return page.headers["location"]


def words(visitor: Visitor) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.unescape(visitor.page.text)).split())


@pytest.mark.usefixtures("funded")
def test_a_customer_is_added_with_what_it_begins_with(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert "no live customer yet" in visitor.get(f"{home}/connect").text
    path = bilal_of(
        visitor,
        db,
        amina_id,
        home,
        email="bilal@example.com",
        external_ref="shop-17",
        label="North",
        initial_sms_credits="1 00",
        initial_wallet_balance="12.5",
        currency="ghs",
    )
    [made] = customers(db, amina_id)
    assert made == made._replace(
        full_name="Bilal Stores",
        phone="233201234599",
        email="bilal@example.com",
        external_ref="shop-17",
        label="North",
        sms_credits=100,
        balance_minor=1_250,
        currency="GHS",
    )
    visitor.get(path)
    for said in ("Bilal Stores active", "SMS credits 100", "Money 12.50 GHS", "You have 900"):
        assert said in words(visitor)
    visitor.get(f"{home}/connect")
    assert "Bilal Stores North 100 12.50 GHS active shop-17 233201234599" in words(visitor)


@pytest.mark.usefixtures("funded")
def test_a_form_that_is_sent_twice_adds_one_and_moves_once(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    new = form(
        visitor,
        f"{home}/connect/new",
        full_name="Bilal",
        phone="233201234599",
        country_code="GH",
        initial_sms_credits="5",
    )
    made = {visitor.post(f"{home}/connect/new", new).headers["location"] for _ in range(3)}
    [path] = made
    assert len(customers(db, amina_id)) == 1
    move = form(visitor, path, credits="10")
    assert [visitor.post(path, move).status_code for _ in range(3)] == [303] * 3
    assert customers(db, amina_id)[0].sms_credits == 15
    back = form(visitor, path, credits="15", way="back to us", reference="Invoice 17")
    assert visitor.post(path, back).status_code == 303
    assert customers(db, amina_id)[0].sms_credits == 0
    visitor.get(f"{home}/money")
    assert "Invoice 17" in visitor.page.text
    assert visitor.post(path, {**back, "credits": "3"}).status_code == 409


@pytest.mark.usefixtures("funded")
def test_a_reference_leads_to_the_customer_that_has_it(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    paths = {bilal_of(visitor, db, amina_id, home, external_ref="shop-17") for _ in range(2)}
    assert len(paths) == len(customers(db, amina_id)) == 1


@pytest.mark.usefixtures("funded")
@pytest.mark.parametrize(
    ("fields", "at", "why"),
    [
        ({}, "full_name", "is required"),
        ({"phone": "12"}, "phone", "must be a phone number"),
        ({"country_code": "XX"}, "country_code", "must be"),
        ({"email": "nobody"}, "email", "must be an email address"),
        ({"initial_sms_credits": "-1"}, "initial_sms_credits", "must be an integer from 0"),
        ({"initial_sms_credits": "1001"}, "initial_sms_credits", "holds 1000 SMS credits"),
        ({"initial_wallet_balance": "50.01"}, "initial_wallet_balance", "holds 50.00 GHS"),
        ({"initial_wallet_balance": "1", "currency": "USD"}, "currency", "must be GHS"),
        ({"mode": "test"}, "mode", "must be one of live, sandbox"),
    ],
    ids=str,
)
def test_what_makes_no_customer_is_told_at_its_field_and_kept(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    fields: dict[str, str],
    at: str,
    why: str,
) -> None:
    named = {"full_name": "Bilal", "phone": "233201234599", "country_code": "GH", **fields}
    if not fields:
        del named["full_name"]
    path = f"{home}/connect/new"
    page = visitor.post(path, form(visitor, path, **named))
    assert page.status_code == 400
    assert why in html.unescape(page.text).partition(f'id="{at}-error"')[2][:300]
    for name, typed in named.items():
        assert f'name="{name}" value="{typed}"' in page.text or name == "mode"
    assert customers(db, amina_id) == []
    with db.read() as tx:
        assert wallet.wallet_of(tx, amina_id).sms_credits == 1_000


@pytest.mark.usefixtures("funded")
def test_the_ledger_names_the_customer_of_each_move(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = bilal_of(visitor, db, amina_id, home, full_name="B & B", initial_sms_credits="5")
    for way in ("to the customer", "back to us"):
        assert visitor.post(path, form(visitor, path, credits="2", way=way)).status_code == 303
    text_id = path.rpartition("/")[2]
    page = visitor.get(f"{home}/money").text
    assert page.count(f'{text_id}</span><br><a href="{home}/connect/{text_id}">B &amp; B</a>') == 3
    assert page.count("B &amp; B") == 3, "and beside nothing else"
    assert "B & B" not in visitor.get(f"{home}/money/export").text
    visitor.get(f"/portal/accounts/{text_id}")
    assert "/connect/cus_" not in visitor.get(f"/portal/accounts/{text_id}/money").text


@pytest.mark.usefixtures("funded")
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"credits": ""}, "is required"),
        ({"credits": "0"}, "must be an integer from 1 to 999999999999999, not 0"),
        ({"credits": "-5"}, "must be an integer from 1 to 999999999999999, not -5"),
        ({"credits": "1.5", "way": "back to us"}, "an integer from 1 to 999999999999999, not 1.5"),
        ({"credits": "some"}, "must be an integer"),
        ({"credits": "1001"}, "holds 1000 SMS credits; this takes 1001"),
        ({"credits": "1", "way": "back to us"}, "holds 0 SMS credits; this takes 1"),
    ],
    ids=str,
)
def test_credits_that_cannot_move_stay(
    visitor: Visitor, db: Database, amina_id: str, home: str, fields: dict[str, str], why: str
) -> None:
    path = bilal_of(visitor, db, amina_id, home)
    page = visitor.post(path, form(visitor, path, **fields))
    assert page.status_code == 400
    assert why in page.text.partition('id="credits-error"')[2][:300]
    assert customers(db, amina_id)[0].sms_credits == 0


def test_customers_are_searched_and_paged(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    for number in range(12):
        asked, _ = connect.read_customer_request(
            {
                "full_name": f"Shop {number}",
                "phone": f"2332012345{number:02}",
                "country_code": "GH",
                "external_ref": f"100%_{number}",
            }
        )
        with db.write() as tx:
            connect.provision(tx, amina_id, asked, sandbox=number == 11, now_ms=clock.now_ms())

    def names(query: str) -> list[str]:
        pages = list(visitor.pages(f"{home}/connect?{query}"))
        assert {page.status_code for page in pages} == {200}
        return [name for page in pages for name in re.findall(r">(Shop \d+)</a>", page.text)]

    assert names("limit=4") == [f"Shop {number}" for number in range(10, -1, -1)]
    assert names("q=SHOP+7") == ["Shop 7"]
    assert names("q=%25_1") == ["Shop 10", "Shop 1"]
    assert names("q=233201234503") == ["Shop 3"]
    assert names("q=x%25") == []
    assert names("mode=sandbox") == ["Shop 11"]
    for query in ("mode=test", "x=1", "cursor=x"):
        assert visitor.get(f"{home}/connect?{query}").status_code == 400


@pytest.mark.usefixtures("funded")
def test_only_owners_add_customers_and_a_suspended_one_stays_as_it_is(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = bilal_of(visitor, db, amina_id, home)
    move = form(visitor, path, credits="10")
    stranger.sign_in("dev@example.com", amina_id, Role.DEVELOPER)
    assert "Bilal Stores" in stranger.get(f"{home}/connect").text
    assert "Add a customer" not in stranger.page.text
    assert stranger.get(path).status_code == 200
    assert "Act for" not in stranger.page.text
    assert stranger.post(path, move).status_code == 403
    assert stranger.get(f"{home}/connect/new").status_code == 403
    with db.write() as tx:
        accounts.suspend(tx, customers(db, amina_id)[0].account_id)
    page = visitor.post(path, move)
    assert (page.status_code, "can be read, but not changed" in page.text) == (403, True)
    assert customers(db, amina_id)[0].sms_credits == 0


@pytest.mark.usefixtures("funded")
def test_an_owner_acts_for_a_customer_and_goes_back(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = bilal_of(visitor, db, amina_id, home)
    led = re.search(r'href="(/portal/accounts/cus_[0-9a-z]{26})"', visitor.get(path).text)
    assert led is not None
    there = led[1]
    bilal = customers(db, amina_id)[0].account_id
    assert there == home_of(db, bilal)
    visitor.get(f"{there}/senders")
    visitor.post(f"{there}/senders", {"sender": "BILAL", "mode": "sandbox", "is_default": "yes"})
    visitor.post(f"{there}/contacts/new", {"phone": "0201234567", "name": "Kofi"})
    with db.read() as tx:
        assert senders.default_senders(tx, [bilal, amina_id])[bilal, True] == "BILAL"
        assert [
            len(contacts.newest(tx, ContactOwner(whose, sandbox=False), None, limit=9))
            for whose in (bilal, amina_id)
        ] == [1, 0]
        assert members.of_account(tx, bilal) == []
    assert "You act for <strong>Bilal Stores</strong>" in visitor.get(there).text
    assert "You act for" not in visitor.get(home).text


@pytest.mark.usefixtures("funded")
def test_a_customer_has_no_customers_and_its_own_user_is_no_partner(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = bilal_of(visitor, db, amina_id, home)
    bilal = customers(db, amina_id)[0].account_id
    stranger.sign_in("bilal@example.com", bilal)
    own = home_of(db, bilal)
    page = stranger.get(own)
    assert (page.status_code, "Customers" in page.text, "You act" in page.text) == (
        200,
        False,
        False,
    )
    for nested in (f"{own}/connect", f"{own}/connect/new", path.replace(home, own), path):
        assert stranger.get(nested).status_code == 404
    stranger.get(own)
    new = {"full_name": "X", "phone": "233201234599", "country_code": "GH", "once": "x"}
    assert stranger.post(f"{own}/connect/new", new).status_code == 404
    assert len(customers(db, amina_id)) == 1


@pytest.mark.usefixtures("funded")
def test_a_role_that_is_taken_ends_the_acting_at_once(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    bilal_of(visitor, db, amina_id, home)
    bilal = customers(db, amina_id)[0].account_id
    there = home_of(db, bilal)
    assert visitor.get(there).status_code == 200
    with db.write() as tx:
        users.set_role(tx, users.find(tx, EMAIL).id, amina_id, Role.VIEWER, now_ms=clock.now_ms())
    assert visitor.get(there).status_code == 401
    visitor.sign_in(EMAIL, amina_id, Role.DEVELOPER)
    assert visitor.get(there).status_code == 404
    chidi = open_account(db, "chidi")
    visitor.sign_in("kofi@example.com", chidi)
    assert visitor.get(there).status_code == 404
