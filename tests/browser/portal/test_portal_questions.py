"""The portal asks a question before something final, and says when something was done."""

import re

from playwright.sync_api import Browser, Locator, Page, expect

from heliograph import contacts
from heliograph.base import clock
from heliograph.users.sign_ins import FRESH_MS
from heliograph.users.tables import user_sessions
from tests.support.api.server import Server
from tests.support.capability.campaigns import write_down
from tests.support.capability.webhooks import endpoint
from tests.support.portal.browsing import (
    HEIGHT,
    NARROW,
    WIDE,
    at_both_widths,
    link,
    opened,
    picture,
    sign_in_owner,
)
from tests.support.portal.campaign_pages import path_of as path_of_campaign
from tests.support.portal.stored_contacts import path_of, stored
from tests.support.portal.visitor import EMAIL

SAID_WITHIN_MS = 3_000
GONE_WITHIN_MS = 9_000


def home(server: Server) -> str:
    return f"{server.url}/portal/accounts/{server.cast.amina.text_id}"


def press(page: Page, button: Locator) -> None:
    """Presses a button or a link by keyboard."""
    button.focus()
    page.keyboard.press("Enter")


def asks_by_keyboard(page: Page, opens: Locator, title: str, keeps: str, name: str) -> Locator:
    """Opens a question, leaves it by Escape and by its button, and opens it again. What keeps
    things as they are has the focus, the tabulator stays inside, and the focus comes back.
    """
    dialog = page.get_by_role("dialog", name=title)
    for closes in ("Escape", "Enter"):
        press(page, opens)
        expect(dialog).to_be_visible()
        assert page.evaluate("document.querySelector('dialog:modal') !== null")
        expect(dialog.get_by_text(keeps, exact=True)).to_be_focused()
        page.keyboard.press(closes)
        expect(dialog).to_be_hidden()
        expect(opens).to_be_focused()
    press(page, opens)
    expect(dialog).to_be_visible()
    picture(page, name)
    for _ in range(4):  # to the browser's own buttons too, but to nothing behind the question
        page.keyboard.press("Tab")
        assert page.evaluate(
            "[document.body, document.documentElement].includes(document.activeElement)"
            " || document.activeElement.closest('dialog:modal') !== null"
        )
    return dialog


@at_both_widths
def test_what_is_final_is_asked_in_a_dialog_and_said_when_it_is_done(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    draft = write_down(amina.db, amina.account_id, name=f"Spring {width}")
    endpoint(amina.db, amina.account_id)
    kofi = stored(amina.db, amina.account_id, name=f"Kofi {width}")
    page = opened(browser, width)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    sign_in_owner(page, server)
    page.goto(path_of_campaign(home(server), draft))
    dialog = asks_by_keyboard(
        page, page.get_by_text("Cancel …"), "Cancel this campaign?", "Keep it", "asks-cancel"
    )
    press(page, dialog.get_by_role("button", name="Cancel it for good"))
    expect(page.get_by_text("canceled", exact=True)).to_be_visible()

    page.goto(f"{home(server)}/webhooks")
    page.get_by_role("row").get_by_role("link").first.click()
    dialog = asks_by_keyboard(
        page, page.get_by_text("Remove …"), "Remove this endpoint?", "Keep it", "asks-webhook"
    )
    press(page, dialog.get_by_role("button", name="Remove it for good"))
    expect(page).to_have_url(re.compile("/webhooks$"))
    expect(page.get_by_role("status")).to_have_text("Removed", timeout=SAID_WITHIN_MS)

    page.goto(path_of(home(server), kofi))
    dialog = asks_by_keyboard(
        page,
        page.get_by_role("link", name="Remove …"),
        f"Remove Kofi {width}?",
        "Keep it",
        "asks-contact",
    )
    expect(page).to_have_url(path_of(home(server), kofi))
    press(page, dialog.get_by_role("button", name="Remove it"))
    said = page.get_by_role("status")
    expect(said).to_have_text("Removed", timeout=SAID_WITHIN_MS)
    page.screenshot(path=f"build/portal/toast-{width}.png")
    expect(said).to_have_text("", timeout=GONE_WITHIN_MS)
    page.reload()
    expect(page.get_by_role("heading", name="Contacts")).to_be_visible()
    expect(said).to_have_text("")
    with amina.db.read() as tx:
        owner = contacts.ContactOwner(amina.account_id, sandbox=False)
        assert kofi.id not in [each.id for each in contacts.page(tx, owner, limit=100)]
    page.context.close()
    assert wrong == []


@at_both_widths
def test_a_session_and_a_member_end_after_a_question(
    browser: Browser, server: Server, width: int
) -> None:
    other, page = opened(browser, width), opened(browser, width)
    sign_in_owner(other, server)
    sign_in_owner(page, server)
    page.get_by_role("link", name=EMAIL).click()
    ends = page.get_by_text("End …", exact=True).first
    dialog = asks_by_keyboard(page, ends, "End this session?", "Keep it", "asks-session")
    for row in page.locator(".sessions li").all():
        box = row.get_by_text("Chrome on Linux").bounding_box()
        assert box is not None
        assert box["x"] >= 0, "the browser's name is in the window"
    assert page.locator(".sessions").evaluate("it => it.scrollWidth <= it.clientWidth")
    press(page, dialog.get_by_role("button", name="End it"))
    expect(page.get_by_role("status")).to_have_text("Ended", timeout=SAID_WITHIN_MS)
    other.reload()
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{home(server)}/members")
    removes = page.get_by_label(f"Remove {EMAIL}", exact=True)
    asks_by_keyboard(page, removes, f"Remove {EMAIL}?", "Keep", "asks-member")
    page.mouse.click(5, HEIGHT - 5)  # beside the question
    expect(page.get_by_role("dialog")).to_be_hidden()
    for each in (page, other):
        each.context.close()


@at_both_widths
def test_without_scripts_a_question_stands_in_the_page_or_has_one_of_its_own(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    kofi = stored(amina.db, amina.account_id, name="Kofi Mensah", phone="233201234568")
    draft = write_down(amina.db, amina.account_id, name="Autumn")
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": width, "height": HEIGHT}
    )
    page = context.new_page()
    page.goto(link(server))
    page.get_by_role("button", name="Sign in").click()
    page.goto(path_of_campaign(home(server), draft))
    cancels = page.get_by_role("button", name="Cancel it for good")
    expect(cancels).to_be_hidden()
    page.get_by_text("Cancel …").click()
    expect(page.get_by_text("Keep it")).to_be_hidden()
    page.screenshot(path=f"build/portal/asks-without-scripts-{width}-light.png", full_page=True)
    cancels.click()
    expect(page.get_by_text("canceled", exact=True)).to_be_visible()
    page.goto(path_of(home(server), kofi))
    page.get_by_role("link", name="Remove …").click()
    expect(page.get_by_role("heading", name="Remove Kofi Mensah?")).to_be_visible()
    page.get_by_role("button", name="Remove it").click()
    said = page.get_by_role("status")
    expect(said).to_have_text("Removed")
    assert said.evaluate("each => getComputedStyle(each).position") == "static"
    context.close()


def test_a_question_that_takes_a_new_sign_in_leads_to_its_page(
    browser: Browser, server: Server
) -> None:
    server.cast.amina.key(sandbox=True)
    page = opened(browser, WIDE)
    sign_in_owner(page, server)
    page.goto(f"{home(server)}/keys")
    asked = page.get_by_role("link", name="Revoke").first.get_attribute("href")
    with server.cast.amina.db.write() as tx:
        tx.execute(user_sessions.update().values(began_at_ms=clock.now_ms() - FRESH_MS))
    press(page, page.get_by_role("link", name="Revoke").first)
    expect(page).to_have_url(f"{server.url}{asked}")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.context.close()


def test_what_is_copied_is_said(browser: Browser, server: Server) -> None:
    page = opened(browser, NARROW)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    page.goto(f"{server.url}/portal/components")
    press(page, page.get_by_role("button", name="Copy").first)
    expect(page.get_by_role("status").first).to_have_text("Copied", timeout=SAID_WITHIN_MS)
    page.context.close()
