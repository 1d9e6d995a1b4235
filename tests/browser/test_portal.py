"""The portal in a real browser: signing in by a link, by keyboard alone, at both widths and in both
themes. Pictures go to build/portal/.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from heliograph import users
from heliograph.base import clock
from heliograph.users import Role
from tests.support import plain_http
from tests.support.api.server import Server

PICTURES = Path(__file__).parents[2] / "build" / "portal"
HEIGHT = 900


def link(server: Server) -> str:
    """A link that signs in the owner of amina's account."""
    db = server.cast.amina.db
    with db.write() as tx:
        user = users.add(tx, "ama@example.com", now_ms=clock.now_ms())
        users.set_role(tx, user.id, server.cast.amina.account_id, Role.OWNER, now_ms=clock.now_ms())
        return f"{server.url}/portal/sign-in/{users.make_link(tx, user.id, now_ms=clock.now_ms())}"


def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def send(server: Server, to: str, text: str) -> None:
    """Sends a text in sandbox, by the API."""
    plain_http.post(
        f"{server.url}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {server.cast.amina.key(sandbox=True)}"},
        json={"sender": "SANDBOX", "message": text, "to": to, "reference": "order 1"},
    ).raise_for_status()


def opened(browser: Browser, width: int, scheme: str) -> Page:
    """A page in a window of its own, of somebody whom the browser does not know."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="light" if scheme == "light" else "dark",
    )
    return context.new_page()


def come_in(page: Page, server: Server) -> None:
    """Signs in as the owner of amina's account, by keyboard alone."""
    page.goto(link(server))
    expect(page.get_by_role("button", name="Sign in")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/portal")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_a_message_is_found_by_its_filters_and_explained(
    browser: Browser, server: Server, width: int, scheme: str
) -> None:
    send(server, "233201234567", "Your parcel is at the gate. Show this text to the guard.")
    send(server, "233201234000", "Your order is on its way.")
    page = opened(browser, width, scheme)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    come_in(page, server)
    page.get_by_role("link", name="Messages", exact=True).click()
    expect(page.get_by_text("No live message was sent yet.")).to_be_visible()
    picture(page, f"messages-empty-{width}-{scheme}")
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
    picture(page, f"messages-{width}-{scheme}")
    page.get_by_label("Recipient").fill("nobody")
    page.keyboard.press("Enter")
    told = page.get_by_text("must be a phone number in international digits")
    expect(told).to_be_visible()
    expect(page.get_by_label("Recipient")).to_have_value("nobody")
    picture(page, f"messages-wrong-{width}-{scheme}")
    wrong.clear()  # a 400 is an error to the console
    page.get_by_label("Recipient").fill("233201234000")
    page.keyboard.press("Enter")
    table.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="What became of it")).to_be_visible()
    expect(page.get_by_text("could not deliver it")).to_be_visible()
    picture(page, f"message-{width}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_a_link_leads_to_the_overview_and_a_button_out_of_it(
    browser: Browser, server: Server, width: int, scheme: str
) -> None:
    page = opened(browser, width, scheme)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{server.url}/")
    expect(page).to_have_url(f"{server.url}/portal")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    picture(page, f"signed-out-{width}-{scheme}")
    wrong.clear()  # a 401 is an error to the console
    page.goto(link(server))
    picture(page, f"sign-in-{width}-{scheme}")
    come_in(page, server)
    expect(page.get_by_text("ama@example.com")).to_be_visible()
    expect(page.get_by_role("heading", name="Last messages")).to_be_visible()
    picture(page, f"overview-{width}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    light = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 127"
    )
    assert light == (scheme == "light")
    page.get_by_role("button", name="Sign out").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.context.close()
    assert [each for each in wrong if "401" not in each] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_a_sender_is_registered_by_keyboard_alone(
    browser: Browser, server: Server, width: int, scheme: str
) -> None:
    page = opened(browser, width, scheme)
    come_in(page, server)
    page.get_by_role("link", name="Sender IDs").focus()
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Sender").focus()
    page.keyboard.type("no")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Sender")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("textbox", name="Sender")).to_have_value("no")
    picture(page, f"senders-wrong-{width}-{scheme}")
    page.get_by_role("textbox", name="Sender").fill("")
    page.keyboard.type("Corner Shop")
    page.keyboard.press("Enter")
    row = page.get_by_role("row").filter(has_text="Corner Shop")
    expect(row).to_contain_text("submitted")
    picture(page, f"senders-{width}-{scheme}")
    page.get_by_role("link", name="Money").click()
    expect(page.get_by_role("heading", name="Ledger")).to_be_visible()
    picture(page, f"money-{width}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def test_pages_work_without_a_script(browser: Browser, server: Server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(link(server))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("ama@example.com")).to_be_visible()
    context.close()
