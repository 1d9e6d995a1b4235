"""Somebody comes into the portal in a real browser, finds messages and registers senders, by
keyboard.
"""

from playwright.sync_api import Browser, expect

from heliograph import senders
from heliograph.base import clock
from tests.support.api.server import Server
from tests.support.portal.browsing import (
    at_both_widths,
    link,
    opened,
    picture,
    send,
    sign_in_owner,
)


@at_both_widths
def test_a_message_is_found_by_its_filters_and_explained(
    browser: Browser, server: Server, width: int
) -> None:
    send(server, "233201234567", "Your parcel is at the gate. Show this text to the guard.")
    send(server, "233201234000", "Your order is on its way.")
    page = opened(browser, width)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Messages", exact=True).click()
    expect(page.get_by_text("No live message was sent yet.")).to_be_visible()
    picture(page, "messages-empty")
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_label("Recipient").fill("233201234000")
    page.keyboard.press("Enter")
    table = page.get_by_role("table")
    expect(table.get_by_role("row")).not_to_have_count(1)
    assert set(table.locator("tbody tr td:nth-child(2)").all_inner_texts()) == {"233201234000"}
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_role("button", name="Show").click()
    expect(table.get_by_text("Your parcel is at the gate.").first).to_be_visible()
    status = table.get_by_text("delivered", exact=True).first.bounding_box()
    assert status is not None
    assert status["x"] + status["width"] <= width, "it is seen without scrolling"
    picture(page, "messages")
    page.get_by_label("Recipient").fill("nobody")
    page.keyboard.press("Enter")
    told = page.get_by_text("must be a phone number in international digits")
    expect(told).to_be_visible()
    expect(page.get_by_label("Recipient")).to_have_value("nobody")
    picture(page, "messages-wrong")
    wrong.clear()  # a 400 is an error to the console
    page.get_by_label("Recipient").fill("233201234000")
    page.keyboard.press("Enter")
    table.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="What became of it")).to_be_visible()
    expect(page.get_by_text("could not deliver it")).to_be_visible()
    picture(page, "message")
    page.context.close()
    assert wrong == []


@at_both_widths
def test_a_link_leads_to_the_overview_and_a_button_out_of_it(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{server.url}/")
    expect(page).to_have_url(f"{server.url}/portal")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    picture(page, "signed-out")
    wrong.clear()  # a 401 is an error to the console
    page.goto(link(server))
    picture(page, "sign-in")
    sign_in_owner(page, server)
    expect(page.get_by_text("ama@example.com")).to_be_visible()
    expect(page.get_by_role("heading", name="Last messages")).to_be_visible()
    picture(page, "overview")
    page.get_by_role("button", name="Sign out").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.context.close()
    assert [each for each in wrong if "401" not in each] == []


@at_both_widths
def test_a_sender_is_registered_by_keyboard_alone(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Sender IDs").focus()
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Sender").focus()
    page.keyboard.type("no")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Sender")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("textbox", name="Sender")).to_have_value("no")
    picture(page, "senders-wrong")
    page.get_by_role("textbox", name="Sender").fill("")
    page.keyboard.type("Corner Shop")
    page.keyboard.press("Enter")
    row = page.get_by_role("row").filter(has_text="Corner Shop")
    expect(row).to_contain_text("submitted")
    with server.cast.amina.db.write() as tx:
        waiting = next(
            each
            for each in senders.page(tx, limit=9, account_id=server.cast.amina.account_id)
            if each.status == "submitted"
        )
        senders.reject(tx, waiting.id, "Say what you send.", now_ms=clock.now_ms())
    page.get_by_label("Sender", exact=True).fill(f"OTHER{width}")
    page.get_by_label("Purpose").fill("Order updates")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Register it again").first).to_be_visible()
    expect(page.get_by_text("some working days")).to_be_visible()
    picture(page, "senders")
    page.get_by_role("button", name="Make").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("default", exact=True).first).to_be_visible()
    page.get_by_role("link", name="Money").click()
    expect(page.get_by_role("heading", name="Ledger")).to_be_visible()
    picture(page, "money")
    page.context.close()


@at_both_widths
def test_a_handset_shows_a_text_as_soon_as_it_arrives(
    browser: Browser, server: Server, width: int
) -> None:
    phone = f"23320123{width:04}"
    send(server, phone, "Your parcel is at the gate.")
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("navigation").get_by_role("link", name="Handsets").click()
    expect(page.get_by_role("link").filter(has_text=phone)).to_contain_text("Your parcel")
    picture(page, "handsets")
    page.get_by_role("link").filter(has_text=phone).click()
    expect(page.get_by_text("Your parcel is at the gate.")).to_be_visible()
    send(server, phone, "Show this text to the guard.")
    expect(page.get_by_text("Show this text to the guard.")).to_be_visible()
    page.get_by_role("textbox", name="Text").focus()
    page.keyboard.type("I am on my way.")
    page.get_by_role("button", name="Write").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("article").filter(has_text="I am on my way.")).to_be_visible()
    picture(page, "handset")
    page.get_by_role("link", name="Conversation", exact=True).click()
    expect(page.get_by_text("I am on my way.")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Send a text").click()
    expect(page.get_by_label("To", exact=True)).to_have_value(phone)
    page.context.close()


def test_who_goes_back_to_a_text_that_was_not_sent_finds_all_of_it(
    browser: Browser, server: Server
) -> None:
    page = opened(browser, 1440)
    sign_in_owner(page, server)
    navigation = page.get_by_role("navigation")
    navigation.get_by_role("link", name="Send", exact=True).click()
    typed = {"Sender": "SANDBOX", "To": "233201234567", "Text": "Your order is on its way"}
    for label, text in typed.items():
        page.get_by_label(label, exact=True).fill(text)
    navigation.get_by_role("link", name="Messages").click()
    expect(page.get_by_role("heading", name="Messages")).to_be_visible()
    page.go_back()
    for label, text in typed.items():
        expect(page.get_by_label(label, exact=True)).to_have_value(text)
    page.context.close()


def test_pages_work_without_a_script(browser: Browser, server: Server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(link(server))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("ama@example.com")).to_be_visible()
    context.close()
