"""No page of the console has anything that is wider than its place, on a phone or on a wide screen.
The pages are taken from the routes, so one that is added later is looked at, too.
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from heliograph import accounts, plugin, pricing
from heliograph.base import clock
from heliograph.console.navigation import NAVIGATION
from heliograph.console.pages import PAGES
from heliograph.console.seen_pages.seen_portal import SEEN
from heliograph.database.database import Database
from heliograph.jobs.ledger_hours import add_up_hour
from heliograph.monitoring.tables import EVERY_CARRIER, TEN_SECONDS_MS, service_samples
from heliograph.wallet import ledger, prices
from tests.support import plain_http
from tests.support.alerted import OPERATOR_MAIL, added
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.server import Server
from tests.support.console.entering import sign_in_operator
from tests.support.console.messages import never_answered, stored_message
from tests.support.console.operators import (
    member_of,
    opted_out,
    own_keyword,
    own_number,
    own_things,
    uploaded_sheet,
    waiting_sender,
)
from tests.support.factories import PHONE, SENDER, issue_key, open_account, open_carrier
from tests.support.portal.browsing import HEIGHT, NARROW, WIDE, opened, picture
from tests.support.portal.judged import violations
from tests.support.portal.rolled_up import rolled_up

# without a place to break at
LONG_NAME = "ChidiAndSonsMobilePaymentsAndNotificationsLimitedCompanyOfAccra"
FILES = ("/export", "/entries", "/statement", "/statement.pdf", "/documents/{document}")
# Says which parts of the page are wider than their place. A box that scrolls sideways on purpose is
# one that the keyboard reaches, and the navigation is no such box.
TOO_WIDE = """() => {
  const all = [document.documentElement, ...document.querySelectorAll('nav, form, dl, h1, p')];
  return all.filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
    .map((each) => `${each.localName}.${each.className}: ${each.scrollWidth}`);
}"""


@pytest.fixture(scope="module")
def paths(server: Server) -> list[str]:
    """Returns the paths of all pages of the console, with things that there are."""
    db, account_id = server.cast.amina.db, server.cast.amina.account_id
    long_named = open_account(db, LONG_NAME)
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, long_named))
    with db.write() as tx:
        text = store_inbound(tx, long_named, "hello " * 20, parts=3, keyword="stop")
    known = {
        "account": account,
        "sender": waiting_sender(db, account_id, "WIDE"),
        "message": stored_message(db, account_id),
        "carrier": "simulator",
        "number": own_number(db, long_named, "45670"),
        "keyword": own_keyword(db, long_named),
        "inbound": text,
        "sheet": uploaded_sheet(db),
        "recipient": added(db, OPERATOR_MAIL).recipient.text_id,
        **own_things(db, long_named)._asdict(),
        "user": member_of(db, long_named, f"{'a' * 60}@example.com"),
    }
    opted_out(db, long_named, PHONE, "salesandmarketing")
    of_phone = f"account={account}&phone={PHONE}"
    return [
        f"/console/phones?{of_phone}",
        f"/console/phones/opt-outs?{of_phone}",
        f"/console/phones/opt-outs/lift?{of_phone}",
        f"/console/phones/erase?{of_phone}",
        f"/console/numbers/keywords?account={account}",
    ] + [
        page.path.format(**known)
        for page in PAGES
        if not page.is_form and not page.path.startswith(SEEN)
        if not page.path.endswith(FILES) and page.path != "/console/money/days"
    ]


def add_sample(db: Database) -> None:
    """Stores figures of a moment ago, so that the widest table has a row."""
    columns = {column.name: 0 for column in service_samples.c}
    now_ms = clock.now_ms()
    of = {"step_ms": TEN_SECONDS_MS, "carrier_id": EVERY_CARRIER, "covered_ms": TEN_SECONDS_MS}
    at_ms = now_ms - now_ms % TEN_SECONDS_MS - 6 * TEN_SECONDS_MS
    with db.write() as tx:
        tx.execute(service_samples.insert().values(columns | of | {"at_ms": at_ms + 1}))


@pytest.fixture(scope="module")
def operator_at(browser: Browser, server: Server) -> Callable[[int], Page]:
    """Opens a window of this width, in which an operator is signed in."""
    page = opened(browser, WIDE)
    sign_in_operator(page, server, server.cast.amina.db)
    state = page.context.storage_state()
    page.context.close()

    def open_(width: int) -> Page:
        size: ViewportSize = {"width": width, "height": HEIGHT}
        return browser.new_context(viewport=size, storage_state=state).new_page()

    return open_


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_no_page_and_no_navigation_is_wider_than_its_place(
    operator_at: Callable[[int], Page], server: Server, paths: list[str], width: int
) -> None:
    page = operator_at(width)
    found = {}
    for path in paths:
        page.goto(server.url + path)
        wide = page.evaluate(TOO_WIDE)
        if wide:
            found[path] = wide
        broken = violations(page)
        assert not broken, f"{path}: {broken}"
    assert not found
    page.context.close()


def test_on_a_phone_all_pages_of_the_console_are_reached_without_scrolling_sideways(
    operator_at: Callable[[int], Page], server: Server
) -> None:
    page = operator_at(NARROW)
    page.goto(f"{server.url}/console/now")
    navigation = page.get_by_role("navigation", name="Pages of the console")
    links = navigation.get_by_role("link")
    expect(links).to_have_count(len(NAVIGATION))
    for link in links.all():
        place = link.bounding_box()
        assert place is not None
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= NARROW, "it is seen at once"
        assert place["height"] >= 24, "a thumb meets it (WCAG 2.2, 2.5.8)"
    links.first.focus()
    for each in NAVIGATION[1:]:
        page.keyboard.press("Tab")
        expect(links.filter(has_text=each.name)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Log", exact=True)).to_be_visible()
    picture(page, "console-log")
    page.context.close()


def test_the_table_of_figures_fits_a_wide_screen(
    operator_at: Callable[[int], Page], server: Server
) -> None:
    page = operator_at(WIDE)
    add_sample(server.cast.amina.db)
    page.goto(f"{server.url}/console/now/figures")
    box = page.get_by_role("region", name="Figures")
    expect(box.get_by_role("row").nth(1)).to_be_visible()
    assert box.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    picture(page, "console-now-all-figures")
    page.context.close()


def test_on_a_phone_what_is_suspicious_about_a_link_is_not_off_screen(
    operator_at: Callable[[int], Page], server: Server
) -> None:
    amina = server.cast.amina
    stored_message(amina.db, amina.account_id, text="paypa1.payments.example.com http://10.1.2.3/x")
    page = operator_at(NARROW)
    page.goto(f"{server.url}/console/abuse")
    box = page.get_by_role("region", name="Links in texts")
    expect(box.get_by_text("an address instead of a name")).to_be_visible()
    assert box.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    page.context.close()


def test_on_a_phone_no_part_of_a_rule_or_of_who_is_told_is_off_screen(
    operator_at: Callable[[int], Page], server: Server, paths: list[str]
) -> None:
    page = operator_at(NARROW)
    assert "/console/alerts" in paths
    page.goto(f"{server.url}/console/alerts")
    for name in ("Who is told", "Rules"):
        box = page.get_by_role("region", name=name)
        assert box.evaluate("each => each.scrollWidth - each.clientWidth") <= 0, name
    for each in page.get_by_role("button", name="Send a test").all():
        place = each.bounding_box()
        assert place is not None
        assert place["x"] + place["width"] <= NARROW
    page.context.close()


def busy_account(db: Database) -> str:
    """Makes an account with long names, large figures and a site. Returns its raw id."""
    account_id = open_account(db, LONG_NAME, credits=10_000)
    now_ms = clock.now_ms()
    many = {"segments": 1_234_567, "credits": 1_234_567, "sent": 1_234, "failed": 34_567}
    rolled_up(db, account_id, now_ms, delivered=1_200_000, **many)
    with db.write() as tx:
        plugin.connect(
            tx,
            account_id,
            "https://payments-and-notifications.chidi-and-sons.example.com/accra/shop",
            plugin.SiteDetails(LONG_NAME, "wordpress", "6.8", "12.34.56", "8.4"),
            sandbox=False,
            now_ms=now_ms,
        )
    return account_id


def test_on_a_phone_no_figure_of_a_day_and_no_part_of_a_site_is_off_screen(
    operator_at: Callable[[int], Page], server: Server
) -> None:
    db = server.cast.amina.db
    account_id = busy_account(db)
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, account_id))
    page = operator_at(NARROW)
    page.goto(f"{server.url}/console/accounts/{account}")
    for name, last in (("By day", "Refunded"), ("Sites", "Last saved")):
        box = page.get_by_role("region", name=name)
        assert box.evaluate("each => each.scrollWidth - each.clientWidth") <= 0, name
        named = box.locator(f"[data-name='{last}']").first
        assert named.evaluate("each => getComputedStyle(each, '::before').content") == f'"{last} "'
    picture(page, "console-account-busy")
    page.context.close()


def test_on_a_phone_no_figure_of_the_money_of_a_day_is_off_screen(
    operator_at: Callable[[int], Page], server: Server
) -> None:
    db = server.cast.amina.db
    account_id, now_ms = open_account(db, LONG_NAME), clock.now_ms()
    with db.write() as tx:
        account = accounts.text_id(accounts.by_id(tx, account_id))
        ledger.topup(tx, account_id, "1234567.50", "paid", now_ms=now_ms)
        prices.set_price(tx, "GHS", "0.05", 1)
        prices.buy_credits(tx, account_id, 1_234_567, now_ms=now_ms)
    while add_up_hour(db):
        pass
    page = operator_at(NARROW)
    page.goto(f"{server.url}/console/money/{account}/days")
    for name, figure in (("SMS credits by day", "Bought"), ("Money by day", "Paid for credits")):
        box = page.get_by_role("region", name=name)
        named = box.locator(f"[data-name='{figure}']").first
        expect(named).to_be_visible()
        assert named.evaluate("each => getComputedStyle(each, '::before').content").startswith(
            f'"{figure}'
        )
        expect(box.locator(".nothing").first).to_be_hidden()
    picture(page, "console-money-days")
    page.context.close()


def test_on_a_phone_no_part_of_a_message_in_doubt_is_off_screen(
    operator_at: Callable[[int], Page], server: Server
) -> None:
    db = server.cast.amina.db
    carrier_id = open_carrier(db, "volta", prefix="23324")
    account_id = busy_account(db)
    for number in ("233241234567", "233241234568"):
        plain_http.post(
            f"{server.url}/api/v1/sms/send",
            headers={"Authorization": f"Bearer {issue_key(db, account_id)}"},
            json={"sender": SENDER, "message": "Your order is on its way.", "to": number},
        ).raise_for_status()
    never_answered(db, carrier_id)
    page = operator_at(NARROW)
    page.goto(f"{server.url}/console/messages/in-doubt?carrier={carrier_id}")
    box = page.get_by_role("region", name="Messages in doubt")
    chosen = page.get_by_label(f"Message to 233241234567 of {LONG_NAME}")
    chosen.check()
    assert box.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    place, beside = chosen.bounding_box(), box.get_by_role("link").first.bounding_box()
    assert place is not None
    assert beside is not None
    assert abs(place["y"] - beside["y"]) < place["height"], "what is chosen is named beside it"
    picture(page, "console-in-doubt-long")
    page.context.close()


def test_on_a_phone_no_part_of_a_margin_or_of_a_message_of_a_phone_is_off_screen(
    operator_at: Callable[[int], Page], server: Server
) -> None:
    db = server.cast.amina.db
    stored_message(db, server.cast.amina.account_id)
    with db.write() as tx:
        prices.set_price(tx, "GHS", "0.05", 1)
        pricing.set_cost(tx, "simulator", "233", "0.0425", "GHS")
    page = operator_at(NARROW)
    for path, name in (
        ("/console/rates/margin", "Margins"),
        (f"/console/phones?phone={PHONE}", "Messages"),
    ):
        page.goto(server.url + path)
        box = page.get_by_role("region", name=name)
        expect(box.locator("tbody tr").first).to_be_visible()
        assert box.evaluate("each => each.scrollWidth - each.clientWidth") <= 0, name
        picture(page, f"console-{name.lower()}-narrow")
    page.context.close()
