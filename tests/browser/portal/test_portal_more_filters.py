"""On a phone the rarer filters of a list are folded away, and in a wide window they stand beside
the others.
"""

import re

from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.api.server import Server
from tests.support.portal.browsing import (
    NARROW,
    at_both_widths,
    opened,
    picture,
    send,
    sign_in_owner,
)
from tests.support.portal.visitor import home_of

# what a phone shows at once, below and above the bars of its browser
PHONE_HEIGHT = 660


def _bottom(shown: Locator) -> float:
    box = shown.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def _messages(server: Server) -> str:
    return f"{server.url}{home_of(server.cast.amina.db, server.cast.amina.account_id)}/messages"


def _more(page: Page) -> Locator:
    return page.locator("summary").filter(has_text="More filters")


@at_both_widths
def test_the_list_of_messages_begins_on_the_first_screen(
    browser: Browser, server: Server, width: int
) -> None:
    send(server, "233201234567", "Your parcel is at the gate.")
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.goto(f"{_messages(server)}?mode=sandbox")
    first = page.locator("tbody tr").first
    expect(first).to_be_visible()
    assert _bottom(first) <= PHONE_HEIGHT
    page.get_by_label("Id").focus()
    page.keyboard.press("Tab")
    sender = page.get_by_label("Sender", exact=True)
    if width == NARROW:
        expect(_more(page)).to_be_focused()
        expect(sender).to_be_hidden()
        picture(page, "messages-folded")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
    expect(page.get_by_label("Type")).to_be_focused()
    expect(sender).to_be_visible()
    expect(page.get_by_role("textbox", name="Campaign")).to_be_visible()
    picture(page, "messages-unfolded")
    page.context.close()


@at_both_widths
def test_what_was_unfolded_stays_so_while_the_list_comes_anew(
    browser: Browser, server: Server, width: int
) -> None:
    send(server, "233201234567", "Your parcel is at the gate.")
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.goto(f"{_messages(server)}?mode=sandbox")
    if width == NARROW:
        _more(page).click()
    page.get_by_label("Status").select_option("failed")
    expect(page.get_by_text("No message is like that.")).to_be_visible()
    expect(page.get_by_label("Type")).to_be_visible()
    page.get_by_label("Type").select_option("otp")
    expect(page).to_have_url(re.compile("type=otp"))
    page.get_by_label("Type").select_option("")
    expect(page).not_to_have_url(re.compile("type=otp"))
    expect(page.get_by_label("Type")).to_be_visible()
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_label("Type")).to_be_visible(visible=width != NARROW)
    page.context.close()


@at_both_widths
def test_a_filter_that_is_set_or_refused_is_seen_without_scripts_too(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    state = page.context.storage_state()
    plain = browser.new_context(
        viewport={"width": width, "height": PHONE_HEIGHT},
        java_script_enabled=False,
        storage_state=state,
    ).new_page()
    plain.goto(f"{_messages(server)}?mode=sandbox&reference=order-1")
    expect(plain.get_by_label("Reference")).to_have_value("order-1")
    expect(plain.get_by_label("Reference")).to_be_visible()
    plain.goto(f"{_messages(server)}?mode=sandbox&since=yesterday")
    expect(plain.locator("[name=since]")).to_be_visible()
    expect(plain.locator("[name=since]")).to_have_attribute("aria-invalid", "true")
    plain.goto(f"{_messages(server)}?mode=sandbox")
    if width == NARROW:
        expect(plain.get_by_label("Reference")).to_be_hidden()
        _more(plain).click()
    plain.get_by_label("Reference").fill("order-2")
    plain.get_by_role("button", name="Show").click()
    expect(plain).to_have_url(re.compile("reference=order-2"))
    expect(plain.get_by_label("Reference")).to_be_visible()
    plain.context.close()
    page.context.close()
