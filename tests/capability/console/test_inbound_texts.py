"""Operators find texts that handsets have sent, and see where each went and why."""

import re
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import inbound, users
from heliograph.accounts import audit_log
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.inbound import conversations
from heliograph.inbound import find as inbound_find
from heliograph.inbound.tables import inbound as table
from heliograph.users import OperatorRole
from tests.support.api.inbound_texts import store_inbound
from tests.support.console.operators import own_keyword, own_number, sign_in_operator
from tests.support.factories import PHONE, open_account
from tests.support.portal.visitor import Visitor

PATH = "/console/messages/inbound"
TEXT = "nobody's business but hers"
OTHER = "233201234568"
LATEST = PageWanted(9, None)


@pytest.fixture
def support(visitor: Visitor, db: Database, amina_id: str) -> Visitor:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    return visitor


def stored(db: Database, account_id: str | None, **more: Any) -> str:
    with db.write() as tx:
        return store_inbound(tx, account_id, TEXT, **more)


def found(visitor: Visitor, **query: str) -> list[str]:
    page = visitor.get(PATH, params=query)
    assert TEXT[:6] not in page.text
    return re.findall(r'href="/console/messages/inbound/(inb_\w+)"', page.text)


def test_texts_are_found_by_account_phone_number_and_state_newest_first(
    support: Visitor, db: Database, amina_id: str
) -> None:
    assert "No text has come in" in support.get(PATH).text
    chidi = open_account(db, "chidi", sender=None)
    first = stored(db, amina_id)
    of_chidi = stored(db, chidi, recipient="4599")
    nobodys = stored(db, None, sender=OTHER)
    parted = stored(db, amina_id, sender=OTHER, parts=3)
    stop = stored(db, amina_id, keyword="stop")
    sandbox = stored(db, amina_id, sandbox=True)
    assert found(support) == [stop, parted, nobodys, of_chidi, first]
    assert found(support, mode="sandbox") == [sandbox]
    assert found(support, account="amina") == [stop, parted, first]
    assert found(support, phone=PHONE) == [stop, of_chidi, first]
    assert found(support, phone="0201234567", account="amina") == [stop, first]
    assert found(support, number="4599") == [of_chidi]
    assert found(support, state="unowned") == [nobodys]
    assert found(support, state="unowned", phone=OTHER) == [nobodys]
    assert found(support, state="incomplete") == [parted]
    assert found(support, state="keyword", phone=PHONE) == [stop]
    assert found(support, phone="233999") == []
    assert "2 of 3 parts missing" in support.get(PATH).text
    assert support.get(PATH, params={"phone": stop}).headers["location"] == f"{PATH}/{stop}"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"account": "nobody"}, "account"),
        ({"account": "amina", "state": "unowned"}, "account"),
        ({"state": "lost"}, "state"),
        ({"phone": "x" * 65}, "phone"),
    ],
)
def test_what_is_wrong_with_a_search_is_said_at_its_field(
    support: Visitor, query: dict[str, str], field: str
) -> None:
    page = support.get(PATH, params=query)
    assert (page.status_code, f"{field}-error" in page.text) == (400, True)


def test_a_list_is_paged_and_looks_further_back(
    support: Visitor, db: Database, amina_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbound_find, "LOOKED_AT_MAX", 4)
    assert conversations.LOOKED_AT_MAX > 4
    rare = stored(db, amina_id, recipient="4599")
    others = [stored(db, amina_id) for _ in range(9)][::-1]
    shown = [
        re.findall(r"inbound/(inb_\w+)", page.text) for page in support.pages(f"{PATH}?limit=4")
    ]
    assert [each for page in shown for each in page] == [*others, rare]
    pages = [page.text for page in support.pages(f"{PATH}?number=4599")]
    assert [rare in page for page in pages] == [False, False, True]
    assert "Look further back" in pages[0]


def test_a_phone_of_every_account_is_found_however_far_back(
    support: Visitor, db: Database, amina_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbound_find, "LOOKED_AT_MAX", 4)
    rare = stored(db, amina_id, sender=OTHER)
    for _ in range(6):
        stored(db, amina_id)
    assert found(support, phone=OTHER) == [rare]


def test_what_a_text_says_is_shown_to_who_may_read_it_and_noted(
    support: Visitor, db: Database, amina_id: str
) -> None:
    text = stored(db, amina_id)
    page = support.get(f"{PATH}/{text}").text
    assert (TEXT[:6] in page, "Show the text" in page) == (False, True)
    read = support.post(f"{PATH}/{text}/text")
    assert (read.status_code, "business but hers" in read.text) == (200, True)
    with db.read() as tx:
        [entry] = [each.entry for each in users.operator_entries(tx, LATEST)]
        [told] = audit_log.page(tx, amina_id, LATEST)
    assert (entry.action, entry.record) == ("inbound.read", text)
    assert (told.entry.action, told.entry.record) == ("inbound.read", text)
    nobodys = stored(db, None)
    support.get(f"{PATH}/{nobodys}")
    assert "business but hers" in support.post(f"{PATH}/{nobodys}/text").text


def test_who_may_not_read_texts_gets_none(visitor: Visitor, db: Database, amina_id: str) -> None:
    text = stored(db, amina_id, keyword="stop")
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    page = visitor.get(f"{PATH}/{text}").text
    assert ("Show the text" in page, "opts the phone out" in page) == (False, True)
    assert "<code>stop</code>" not in page
    assert visitor.post(f"{PATH}/{text}/text").status_code == 403


def test_a_page_says_why_a_text_is_whose_it_is_and_what_to_do(
    support: Visitor, db: Database, amina_id: str
) -> None:
    unknown = stored(db, None, recipient="4500")
    text = support.get(f"{PATH}/{unknown}").text
    assert "4500 is not one of your numbers at" in text
    assert "Add the number" in text
    own_number(db, amina_id, "4567")
    own_number(db, None, "800")
    with db.read() as tx:
        carrier_id = inbound.all_numbers(tx)[0].carrier_id
    with db.write() as tx:
        tx.execute(table.update().values(carrier_id=carrier_id))
    owned, shared = stored(db, amina_id), stored(db, None, recipient="800")
    word = stored(db, amina_id, recipient="800", keyword="offers")
    with db.write() as tx:
        tx.execute(table.update().values(carrier_id=carrier_id))
    assert "The account has the number." in support.get(f"{PATH}/{owned}").text
    assert "none gets the rest" in support.get(f"{PATH}/{shared}").text
    own_keyword(db, amina_id)
    page = support.get(f"{PATH}/{word}").text
    assert "Its keyword was this account" in page
    assert "It is a keyword that is answered" in page


def test_a_text_that_seems_to_ask_for_no_more_leads_to_an_opt_out(
    support: Visitor, db: Database, amina_id: str
) -> None:
    text = stored(db, amina_id)
    with db.write() as tx:
        tx.execute(sa.update(table).values(opt_out_suspected=True))
    assert found(support, state="suspected") == [text]
    page = support.get(f"{PATH}/{text}").text
    assert f"Opt {PHONE} out" in page
    asked = re.search(r'href="(/console/phones/opt-outs\?[^"]+)"', page)
    assert asked is not None
    form = support.get(asked[1].replace("&amp;", "&")).text
    assert f'name="phone" value="{PHONE}"' in form


def test_a_text_that_was_erased_says_so(support: Visitor, db: Database, amina_id: str) -> None:
    text = stored(db, amina_id)
    with db.write() as tx:
        tx.execute(sa.update(table).values(sender=None, text=None))
    page = support.get(f"{PATH}/{text}").text
    assert ("an erased number" in page, "The text was erased" in page) == (True, True)
    assert support.post(f"{PATH}/{text}/text").status_code == 200
    assert support.get(f"{PATH}/inb_01j8").status_code == 404
