"""The page of an account tells of its last days and its sites, and accounts can be found."""

import html
import re

from heliograph import connect, plugin, senders, users
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, rfc3339
from heliograph.connect import CustomerRequest
from heliograph.console.account_pages.accounts import BELOW_MAX, SHOWN_MAX
from heliograph.database.database import Database
from heliograph.jobs.ledger_hours import add_up_hour
from heliograph.messages.tables import QUARTER_MS
from heliograph.plugin import SiteDetails
from heliograph.portal.languages.formats import NARROW
from heliograph.users import Role
from heliograph.wallet import ledger
from heliograph.wallet.ledger import post
from tests.support.console.looked_up import page_of
from tests.support.console.operators import sign_in_operator, waiting_sender
from tests.support.factories import open_account
from tests.support.portal.rolled_up import rolled_up
from tests.support.portal.visitor import Visitor

NOTHING_TOLD = SiteDetails(None, None, None, None, None)
FIGURES = ("Accepted", "Delivered", "Failed", "Rate", "Credits spent", "Refunded")


def linked(db: Database, account_id: str, url: str, *, sandbox: bool = False) -> None:
    with db.write() as tx:
        now_ms = clock.now_ms()
        plugin.connect(tx, account_id, url, NOTHING_TOLD, sandbox=sandbox, now_ms=now_ms)


def spend(db: Database, account_id: str, at_ms: int, charged: int, refunded: int) -> None:
    with db.write() as tx:
        ledger.grant(tx, account_id, charged, "welcome", now_ms=at_ms)
        for kind, credits in (("sms_charge", -charged), ("sms_refund", refunded)):
            post(
                tx,
                account_id,
                kind,
                ledger.SALES_ID,
                credits=credits,
                description="a send",
                now_ms=at_ms,
            )


def customer_of(db: Database, partner_id: str, name: str, ref: str) -> str:
    """Provisions a customer with a reference of the partner, and returns its raw id."""
    request = CustomerRequest(name, "233201234567", "GH", external_ref=ref)
    with db.write() as tx:
        made = connect.provision(tx, partner_id, request, sandbox=False, now_ms=clock.now_ms())
        return made.customer.account_id


def row(day: str, *cells: str) -> str:
    numbers = "".join(
        f'<td class="number{" nothing" if cell in ("0", "–") else ""}" data-name="{name}">'
        f"{cell.replace(',', NARROW)}</td>"
        for name, cell in zip(FIGURES, cells, strict=True)
    )
    return f"<tr><td>{day}</td>{numbers}</tr>"


def test_the_page_shows_each_of_the_last_fourteen_days(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    path = page_of(db, amina_id)
    assert "No live text of the last 14 days" in visitor.get(path).text
    now_ms = clock.now_ms()
    quarter_ms = now_ms - now_ms % QUARTER_MS
    other = open_account(db, "other")
    for account_id, days_ago in ((amina_id, 0), (amina_id, 3), (amina_id, 14), (other, 3)):
        at_ms = quarter_ms - days_ago * DAY_MS
        rolled_up(db, account_id, at_ms, delivered=1_200, failed=300, sent=100)
        spend(db, account_id, at_ms, 1_650, 350)
    rolled_up(db, amina_id, quarter_ms, sandbox=True, delivered=7)
    while add_up_hour(db):
        pass
    page = visitor.get(path).text.replace("\n", "")
    before, oldest = (rfc3339(now_ms - ago * DAY_MS)[:10] for ago in (3, 13))
    for day in (rfc3339(now_ms)[:10], before):
        assert row(day, "1,600", "1,200", "300", "75.0 %", "1,650", "350") in page
    assert row(oldest, "0", "0", "0", "–", "0", "0") in page
    assert (
        row("<strong>14 days</strong>", "3,200", "2,400", "600", "75.0 %", "3,300", "700") in page
    )


def test_the_page_shows_the_newest_sites_of_both_modes(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    path = page_of(db, amina_id)
    assert "No site is linked to it" in visitor.get(path).text
    linked(db, amina_id, "https://oldest.example")
    for number in range(BELOW_MAX):
        clock.move(1)
        linked(db, amina_id, f"https://shop{number}.example", sandbox=number == 0)
    linked(db, open_account(db, "other"), "https://other.example")
    page = visitor.get(path).text
    assert page.count("https://shop") == BELOW_MAX
    assert "https://shop0.example</td><td>sandbox</td>" in page
    assert f"These are the newest {BELOW_MAX}." in page
    assert "oldest.example" not in page
    assert "other.example" not in page


def test_an_account_is_found_by_its_partners_reference_and_by_its_sites(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    bilal = customer_of(db, amina_id, "bilal", "crm-1001")
    chidi, other = open_account(db, "chidi"), open_account(db, "Shop CRM-1001")
    linked(db, chidi, "https://shop.example/blog")
    linked(db, other, "http://shop.example.org:8080", sandbox=True)
    linked(db, amina_id, "https://www.stoffe.example")
    member = "sales@stoffe.example"
    with db.write() as tx:
        user = users.add(tx, member, now_ms=clock.now_ms())
        users.set_role(tx, user.id, chidi, Role.OWNER, now_ms=clock.now_ms())
    mailed = open_account(db, member)
    by_mail = customer_of(db, amina_id, "customer", member)
    everybody = (bilal, chidi, other, amina_id, mailed, by_mail)
    for looked_for, found in (
        ("crm-1001", {bilal, other}),
        ("crm-100", {other}),
        ("shop.example", {chidi}),
        ("Shop.Example/blog/", {chidi}),
        ("https://shop.example/blog", {chidi}),
        ("shop.example/other", set()),
        ("shop.example.org", {other}),
        ("shop.example.org:8080", {other}),
        ("shop.exampl", set()),
        ("shop", {chidi, other}),  # the one by its name, too
        ("stoffe", {amina_id, mailed}),
        ("stoffe.example", {amina_id, mailed}),
        ("https://www.stoffe.example", {amina_id}),
        (member, {chidi, mailed, by_mail}),
        ("nobody@stoffe.example", set()),
    ):
        page = visitor.get("/console/accounts", params={"q": looked_for}).text
        listed = {each for each in everybody if page_of(db, each) in page}
        assert listed == found, looked_for
    assert "phone numbers are found on" in visitor.get("/console/accounts").text


def test_all_accounts_with_one_sender_id_are_found_page_by_page(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    made = [open_account(db, f"n{number}", sender="SHARED") for number in range(SHOWN_MAX + 5)]
    path, found = "/console/accounts?q=shared", list[str]()
    while path:
        page = visitor.get(path).text
        found += re.findall(r'href="(/console/accounts/acc_\w+)"', page)
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = html.unescape(older[1]) if older else ""
    assert found == [page_of(db, each) for each in sorted(made, reverse=True)]


def test_a_sender_id_counts_in_each_status_that_it_has_been_in(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    again = waiting_sender(db, amina_id, "AGAIN")
    withdrawn = waiting_sender(db, amina_id, "WITHDRAWN")
    waiting = waiting_sender(db, amina_id, "WAITING")
    now_ms = clock.now_ms()
    with db.write() as tx:
        sender_id = senders.find(tx, again).id
        senders.reject(tx, sender_id, "Send a letter", now_ms=now_ms)
        sender_id = senders.find(tx, withdrawn).id
        senders.approve(tx, sender_id, now_ms=now_ms)
        senders.suspend(tx, sender_id, "Complaints", now_ms=now_ms)
    waiting_sender(db, amina_id, "AGAIN")
    told = "2 approved, 1 rejected, 1 suspended"  # one is that of the fixture
    assert told in visitor.get(f"/console/approvals/senders/{waiting}").text
