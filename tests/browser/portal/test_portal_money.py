"""People look after their money in the portal, in a real browser."""

import re

from playwright.sync_api import Browser, expect

from heliograph.base import clock
from heliograph.wallet import ledger, prices
from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.capability.webhooks import endpoint
from tests.support.portal.browsing import at_both_widths, opened, picture, sign_in_owner


@at_both_widths
def test_credits_are_bought_by_keyboard_and_stand_in_the_ledger(
    browser: Browser, server: Server, width: int
) -> None:
    cast = server.cast.amina
    with cast.db.write() as tx:
        prices.set_price(tx, "GHS", "25", 1_000)
        ledger.topup(tx, cast.account_id, "250", "Bank transfer 4711", now_ms=clock.now_ms())
        ledger.grant(tx, cast.account_id, 20, "Welcome", now_ms=clock.now_ms())
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Money").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Buy credits").focus()
    page.keyboard.press("Enter")
    field = page.get_by_label("How many credits")
    field.fill("1000000")
    page.keyboard.press("Enter")
    expect(page.get_by_text("cannot be paid")).to_be_visible()
    picture(page, "money-buy-wrong")
    field.fill("2 000")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Credits you will have")).to_be_visible()
    picture(page, "money-buy")
    page.get_by_role("button", name="Buy for 50.00 GHS").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/money$"))
    expect(page.get_by_role("cell", name="−50.00 GHS").first).to_be_visible()
    picture(page, "money")
    page.get_by_role("link", name="Change when you are warned").click()
    page.get_by_label("Money in GHS").fill("a lot")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a number")).to_be_visible()
    picture(page, "money-low")
    page.get_by_label("Money in GHS").fill("1000")
    page.keyboard.press("Enter")
    expect(page.get_by_text("warned below 1\u202f000.00 GHS")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save all as CSV").click()
    assert "Bank transfer 4711" in download.value.path().read_text()
    page.context.close()


@at_both_widths
def test_a_message_shows_what_it_cost_and_who_was_told(
    browser: Browser, server: Server, width: int
) -> None:
    cast = server.cast.amina
    endpoint(cast.db, cast.account_id, "http://127.0.0.1:9/hook", sandbox=True)
    plain_http.post(
        f"{server.url}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {cast.key(sandbox=True)}"},
        json={
            "sender": "SANDBOX",
            "message": "Your order is on its way.",
            "to": ["233201234567", "233201234560"],
        },
    ).raise_for_status()
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Messages", exact=True).click()
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("link", name="Save all as CSV")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save all as CSV").click()
    assert download.value.suggested_filename == "messages-sandbox.csv"
    picture(page, "messages-file")
    page.get_by_role("table").get_by_role("link").first.click()
    expect(page.get_by_text("message.sent")).to_be_visible()
    picture(page, "message-told")
    page.context.close()
