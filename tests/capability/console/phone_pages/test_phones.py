"""An operator types a phone, and sees what the service has of it."""

import pytest

from heliograph import accounts, contacts, otp
from heliograph.base import clock
from heliograph.contacts import ContactOwner, ContactPatch
from heliograph.database.database import Database
from heliograph.opt_outs import OptOutSource, opt_outs_everywhere
from heliograph.text import parse_phone
from heliograph.users import OperatorRole
from tests.support.console.operators import opted_out, sign_in_operator
from tests.support.factories import PHONE, open_account
from tests.support.portal.visitor import Visitor

PATH = "/console/phones"
LOCAL = "020 123-4567"


@pytest.fixture
def auditor(visitor: Visitor, db: Database, amina_id: str) -> Visitor:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    return visitor


def test_a_phone_is_read_as_people_write_it(auditor: Visitor) -> None:
    assert "Type a phone number" in auditor.get(PATH).text
    for asked in (
        {"phone": PHONE},
        {"phone": f"+{PHONE[:3]} {LOCAL[1:]}"},
        {"phone": LOCAL, "account": "amina"},
        {"phone": LOCAL, "country_code": "gh"},
    ):
        page = auditor.get(PATH, params=asked)
        assert f"<h1>{PHONE}</h1>" in page.text, asked
    for asked, field in (
        ({"phone": LOCAL}, "phone"),
        ({"phone": "amina"}, "phone"),
        ({"phone": PHONE, "account": "nobody"}, "account"),
        ({"phone": LOCAL, "country_code": "XX"}, "country_code"),
    ):
        page = auditor.get(PATH, params=asked)
        assert (page.status_code, f"{field}-error" in page.text) == (400, True), asked
    said = "begins with 0, so name the country in which it is dialled"
    assert said in auditor.get(PATH, params={"phone": LOCAL}).text
    assert said not in auditor.get(PATH, params={"phone": "0012"}).text


def test_it_says_which_accounts_the_phone_has_opted_out_of_and_of_which_senders(
    auditor: Visitor, db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender=None)
    open_account(db, "bilal", sender=None)
    opted_out(db, amina_id, PHONE)
    opted_out(db, chidi, PHONE, "sale")
    page = auditor.get(PATH, params={"phone": PHONE}).text
    assert ">amina</a>" in page
    assert "texts from sale" in page
    assert "the phone texted a keyword such as STOP" in page
    assert "bilal" not in page
    assert "Lift" not in page, "an auditor changes nothing"
    of_chidi = auditor.get(PATH, params={"phone": PHONE, "account": "chidi"}).text
    assert ("all texts" in of_chidi, "texts from sale" in of_chidi) == (False, True)
    of_sandbox = auditor.get(PATH, params={"phone": PHONE, "mode": "sandbox"}).text
    assert "has opted out of nothing" in of_sandbox


def test_opt_outs_everywhere_are_the_newest_of_one_mode_and_no_more_than_asked_for(
    db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender=None)
    for account_id in (amina_id, chidi):
        opted_out(db, account_id, PHONE)
    opted_out(db, amina_id, "233201234568")
    with db.read() as tx:
        found = opt_outs_everywhere(tx, PHONE, sandbox=False, limit=9)
        assert [each.owner.account_id for each in found] == [chidi, amina_id]
        assert {each.opt_out.source for each in found} == {OptOutSource.KEYWORD}
        assert opt_outs_everywhere(tx, PHONE, sandbox=False, limit=1) == found[:1]
        of_one = opt_outs_everywhere(tx, PHONE, sandbox=False, account_id=amina_id, limit=9)
        assert of_one == found[1:]
        assert opt_outs_everywhere(tx, PHONE, sandbox=True, limit=9) == []


def test_what_was_noted_on_the_contact_of_an_account_is_its_history(
    auditor: Visitor, db: Database, amina_id: str
) -> None:
    phone = parse_phone(PHONE)
    assert phone is not None
    owner = ContactOwner(amina_id, False)
    for out in (True, False):
        patch = ContactPatch(phone, {"opted_out": out})
        with db.write() as tx:
            contacts.upsert(tx, owner, [patch], by=contacts.OPERATOR, now_ms=clock.now_ms())
    page = auditor.get(PATH, params={"phone": PHONE, "account": "amina"}).text
    assert page.index("Opted in again") < page.index("Opted out<")
    assert "an operator" in page
    assert "Opted in again" not in auditor.get(PATH, params={"phone": PHONE}).text


def test_it_says_where_one_time_passwords_to_its_range_are_refused(
    auditor: Visitor, db: Database, amina_id: str
) -> None:
    with db.write() as tx:
        otp.block(tx, amina_id, PHONE[:8], clock.now_ms())
        account = accounts.text_id(accounts.by_id(tx, amina_id))
    page = auditor.get(PATH, params={"phone": PHONE}).text
    assert f"/console/abuse/unblock?account={account}&amp;place={PHONE[:8]}" in page
    other = auditor.get(PATH, params={"phone": "233241234567"}).text
    assert "refuses nothing to its range" in other
