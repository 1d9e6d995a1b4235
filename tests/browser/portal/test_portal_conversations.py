"""What a phone wrote is read and answered in the conversations, in a real browser, by keyboard
alone.
"""

from playwright.sync_api import Browser, Page, expect

from tests.support.api.inbound_texts import store_inbound
from tests.support.api.server import Server
from tests.support.portal.browsing import (
    at_both_widths,
    opened,
    picture,
    reload_until,
    sign_in_owner,
)
from tests.support.portal.stored_contacts import stored

ARABIC = "هل أنتم مفتوحون يوم الأحد؟"
TEXTS = {
    "233207654321": "Où est mon colis ? Merci d’avance 🙂",
    "233244000123": ARABIC,
    "MTN": "Your bundle ends tomorrow. Dial *138# to buy another one, or visit a shop near you.",
}


def opt_out(page: Page) -> None:
    """Opts the phone of a conversation out, after the question."""
    page.get_by_text("Opt out …").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("nothing but one-time passwords")
    picture(page, "conversation-opting-out")
    page.get_by_role("dialog").get_by_role("button", name="Opt out", exact=True).click()
    expect(page.get_by_text("no text can be sent to it")).to_be_visible()
    expect(page.get_by_label("Text")).to_have_count(0)
    picture(page, "conversation-opted-out")


def answer_by_keyboard(page: Page) -> None:
    """Writes an answer, and sees it arrive."""
    page.get_by_label("Text").focus()
    page.keyboard.type("Yes, from nine to six. See you there!")
    expect(page.get_by_text("1 segment")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    lines = page.get_by_role("article")
    expect(lines).to_have_count(2)
    expect(lines.last).to_contain_text("from nine to six")
    expect(lines.last.get_by_text("delivered")).to_be_visible()  # by itself


@at_both_widths
def test_a_phone_that_wrote_is_answered_by_keyboard(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    phone = f"23320123{width:04}"
    page = opened(browser, width)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    sign_in_owner(page, server)
    page.get_by_role("navigation").get_by_role("link", name="Conversations").click()
    expect(page.get_by_text("no number that people could write to")).to_be_visible()
    picture(page, "conversations-empty")
    stored(amina.db, amina.account_id, name="Ama Mensah", phone=phone, sandbox=True)
    with amina.db.write() as tx:
        for sender, text in (*TEXTS.items(), (phone, "Is the shop open on Sunday?")):
            store_inbound(
                tx, amina.account_id, text, sender=sender, recipient="SANDBOX", sandbox=True
            )
    page.get_by_label("Mode").select_option("sandbox")
    listed = page.get_by_role("listitem")
    expect(listed.filter(has_text="Ama Mensah")).to_contain_text("open on Sunday?")
    picture(page, "conversations")
    page.get_by_label("Phone").fill("nobody")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a phone number in international digits")).to_be_visible()
    picture(page, "conversations-wrong")
    wrong.clear()  # a 400 is an error to the console
    page.get_by_label("Phone").fill(phone)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ama Mensah")).to_be_visible()
    answer_by_keyboard(page)
    lines = page.get_by_role("article")
    with amina.db.write() as tx:
        store_inbound(tx, amina.account_id, ARABIC, sender=phone, recipient="SANDBOX", sandbox=True)
    expect(lines).to_have_count(3)
    assert lines.last.locator("p").evaluate("each => getComputedStyle(each).direction") == "rtl"
    ours, theirs = lines.nth(1).bounding_box(), lines.nth(0).bounding_box()
    assert ours is not None
    assert theirs is not None
    assert ours["x"] + ours["width"] > theirs["x"] + theirs["width"]
    picture(page, "conversation")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_label("Text")).to_have_attribute("aria-invalid", "true")
    picture(page, "conversation-wrong")
    opt_out(page)
    page.get_by_role("link", name="Conversations").last.click()
    expect(listed.filter(has_text="Ama Mensah")).to_contain_text(ARABIC)
    listed.filter(has_text="MTN").get_by_role("link").click()
    reload_until(page, page.get_by_text("it cannot be answered"))
    picture(page, "conversation-with-a-name")
    page.context.close()
