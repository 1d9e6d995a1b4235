"""People look after their shops in the portal, in a real browser."""

import re

from playwright.sync_api import Browser, expect

from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.portal.browsing import at_both_widths, opened, picture, sign_in_owner

URL = "https://shop.example"


def tell(server: Server, path: str, **body: object) -> None:
    """Tells the API something as the plugin of a shop does."""
    plain_http.post(
        f"{server.url}/api/v1/sitebuilder/{path}",
        headers={"Authorization": f"Bearer {server.cast.amina.key()}"},
        json={"site_url": URL, **body},
    ).raise_for_status()


@at_both_widths
def test_a_shop_is_linked_and_what_it_told_is_read_by_keyboard(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Sites").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No site is linked")).to_be_visible()
    picture(page, "sites-none")
    tell(
        server,
        "connect",
        site_name="Corner Shop",
        platform="woocommerce",
        wp_version="6.5",
        plugin_version="1.2.3",
        php_version="8.2",
    )
    for status in ("sent", "failed"):
        tell(
            server,
            "logs",
            event="order.completed",
            recipient="233201234567",
            status=status,
            body="Thank you for your order. It is on its way.",
            cost=0.02,
        )
    tell(server, "events", event="plugin.updated", payload={"from": "1.2.2", "to": "1.2.3"})
    page.reload()
    picture(page, "sites")
    page.get_by_role("link", name="Corner Shop").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Status").fill("failed")
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name="failed").first).to_be_visible()
    expect(page.get_by_role("cell", name="sent", exact=True)).to_have_count(0)
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_role("cell", name="sent", exact=True).first).to_be_visible()
    picture(page, "site")
    page.get_by_role("link", name="Events").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("show=events"))
    page.locator(".steps summary").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text('"to": "1.2.3"').first).to_be_visible()
    picture(page, "site-events")
    page.context.close()
