"""Who loads a page again, or goes back to one, sends no form by that, in a real browser."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.api.server import Server
from tests.support.capability.campaigns import add_contacts, write_down
from tests.support.portal.browsing import WIDE, opened, sign_in_owner

WRONG = "must be a phone number"


@pytest.fixture
def page(browser: Browser, server: Server) -> Page:
    page = opened(browser, WIDE)
    sign_in_owner(page, server)
    return page


def asked_by(page: Page) -> list[str]:
    """Returns the list of the methods by which pages are asked for from now on."""
    methods: list[str] = []
    page.on(
        "request",
        lambda asked: methods.append(asked.method) if asked.is_navigation_request() else None,
    )
    return methods


def add_a_contact_with_a_wrong_phone(page: Page) -> None:
    page.get_by_role("link", name="Contacts", exact=True).click()
    page.get_by_role("link", name="Add a contact").click()
    page.get_by_label("Name", exact=True).fill("Esi Mensah")
    page.get_by_label("Tags").fill("vip")
    page.get_by_label("Phone").fill("12")
    page.keyboard.press("Enter")
    expect(page.get_by_text(WRONG)).to_be_visible()


def test_a_refused_form_that_is_asked_for_anew_shows_what_is_stored(page: Page) -> None:
    page.get_by_role("link", name="Settings").click()
    stored = page.get_by_label("Time zone").input_value()
    page.get_by_label("Time zone").fill("Mars/Base")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a time zone of the IANA database")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_text("must be a time zone")).to_have_count(0)
    for _ in range(2):  # as it is also after it was loaded again
        page.wait_for_timeout(200)
        expect(page.get_by_label("Time zone")).to_have_value(stored)
        page.reload()


def test_a_refused_form_that_is_loaded_again_is_not_sent_and_stays_filled_in(page: Page) -> None:
    add_a_contact_with_a_wrong_phone(page)
    page.get_by_label("Tags").fill("vip\ngold")
    page.keyboard.press("Tab")
    methods = asked_by(page)
    page.reload()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Esi Mensah")
    expect(page.get_by_label("Phone")).to_have_value("12")
    expect(page.get_by_label("Tags")).to_have_value("vip\ngold")
    expect(page.get_by_text(WRONG)).to_have_count(0)
    assert methods == ["GET"]
    page.get_by_label("Phone").fill("233201234561")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Esi Mensah")).to_be_visible()
    page.context.close()


def test_a_refused_form_has_the_address_of_its_page_and_other_pages_have_nothing_of_it(
    page: Page, server: Server
) -> None:
    amina = server.cast.amina
    add_contacts(amina.db, amina.account_id, [{"phone": "233201234560"}])
    write_down(amina.db, amina.account_id, name="May", message="hello")
    page.get_by_role("link", name="Campaigns").click()
    page.get_by_role("link", name="May").click()
    expect(page.get_by_role("heading", name="May")).to_be_visible()
    address = page.url
    page.get_by_label("Your number").fill("12")
    page.keyboard.press("Enter")
    expect(page.get_by_text(WRONG)).to_be_visible()
    assert page.url == address, "there is no page at the address of the form"
    page.reload()
    expect(page.get_by_label("Your number")).to_have_value("12")
    expect(page.get_by_label("Day and time")).to_have_value("")
    page.get_by_role("link", name="Campaigns").first.click()
    page.get_by_role("link", name="May").click()
    expect(page.get_by_label("Your number")).to_have_value("")
    page.context.close()


def test_who_has_a_text_counted_and_loads_the_page_again_finds_it_counted(page: Page) -> None:
    page.get_by_role("navigation").get_by_role("link", name="Send", exact=True).click()
    page.route("**/send/count", lambda asked: asked.abort())
    page.get_by_label("To", exact=True).fill("233201234567")
    page.get_by_label("Text", exact=True).fill("Hello")
    page.get_by_role("button", name="Count and price").click()
    expect(page.get_by_text("5 characters")).to_be_visible()
    methods = asked_by(page)
    page.unroute("**/send/count")
    page.reload()
    expect(page.get_by_label("To", exact=True)).to_have_value("233201234567")
    expect(page.get_by_text("5 characters")).to_be_visible()
    assert methods == ["GET"]
    page.context.close()


def test_a_password_that_was_refused_is_kept_nowhere(browser: Browser, server: Server) -> None:
    page = opened(browser, WIDE)
    page.goto(f"{server.url}/portal/sign-in?back=/portal/you")
    page.get_by_label("Email address", exact=True).fill("esi@example.com")
    page.get_by_label("Password").fill("not the right one")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is not right")
    assert page.url.endswith("?back=/portal/you")
    assert "not the right one" not in page.evaluate("JSON.stringify(history.state)")
    methods = asked_by(page)
    page.reload()
    expect(page.get_by_label("Email address", exact=True)).to_have_value("esi@example.com")
    expect(page.get_by_label("Password")).to_have_value("")
    assert methods == ["GET"]
    page.context.close()
