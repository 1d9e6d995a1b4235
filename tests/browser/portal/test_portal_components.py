"""One page shows all components of the portal, in each of their states."""

import re

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.portal.browsing import at_both_widths, opened, picture


@at_both_widths
def test_every_component_that_is_shown_can_be_used_by_everybody(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    page.goto(f"{server.url}/portal/components")
    picture(page, "components")
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    expect(page.locator(".secret use")).to_have_attribute("href", re.compile("#check$"))
    kept = page.evaluate("navigator.clipboard.readText()")
    assert kept == page.locator("#secret").inner_text()
    page.context.close()
