"""A partner works with its customers in the portal, in a real browser."""

import re

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.portal.browsing import at_both_widths, opened, picture, sign_in_owner


@at_both_widths
def test_a_customer_is_added_paid_and_acted_for_by_keyboard(
    browser: Browser, server: Server, width: int
) -> None:
    name = f"Bilal Stores {width}"
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Customers").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Customers")).to_be_visible()
    picture(page, "customers-none")
    page.get_by_role("link", name="Add a customer").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Phone").fill("12")
    page.get_by_label("SMS credits").fill("5000000")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a phone number in international digits")).to_be_visible()
    picture(page, "customer-new")
    page.get_by_label("Phone").fill("0201234599")
    page.get_by_label("SMS credits").fill("250")
    page.get_by_label("Your reference").fill(f"shop-{width}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_label("Credits", exact=True).fill("50")
    page.keyboard.press("Enter")
    expect(page.get_by_text("300", exact=True)).to_be_visible()
    picture(page, "customer")
    page.get_by_role("link", name="Customers").first.click()
    page.get_by_label("Search").fill(str(width))
    expect(page.get_by_role("row")).to_have_count(2)
    picture(page, "customers")
    page.get_by_role("link", name=name).click()
    page.get_by_role("link", name="Act for this customer").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".acting")).to_contain_text(f"You act for {name}")
    picture(page, "acting")
    page.get_by_role("link", name="Money").click()
    expect(page.get_by_text("300", exact=True).first).to_be_visible()
    expect(page.get_by_role("link", name="Customers")).to_have_count(0)
    picture(page, "acting-money")
    page.get_by_role("link", name="Back to amina").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/connect$"))
    expect(page.locator(".acting")).to_have_count(0)
    page.context.close()
