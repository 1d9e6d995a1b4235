"""The portal speaks French, in a real browser."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.support.api.server import Server
from tests.support.portal.browsing import at_both_widths, link, opened, picture, send

PAGES = (
    *(
        "messages",
        "conversations",
        "handsets",
        "campaigns",
        "campaigns/new",
        "contacts",
        "reports",
        "money",
    ),
    *("senders", "connect", "quickstart", "keys", "webhooks", "requests", "sites"),
    *("members", "settings", "campaigns/new/import", "contacts/import", "connect/new"),
)


def come_in_in_french(page: Page, server: Server) -> None:
    page.goto(link(server))
    expect(page.get_by_role("button", name="Se connecter")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/portal")


@at_both_widths
def test_french_is_chosen_before_the_sign_in_and_kept(
    browser: Browser, server: Server, width: int
) -> None:
    send(server, "233201234567", "Bonjour")
    page = opened(browser, width)
    page.goto(f"{server.url}/portal")
    page.get_by_role("link", name="Français").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Se connecter")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    picture(page, "fr-signed-out")
    come_in_in_french(page, server)
    navigation = page.get_by_role("navigation")
    expect(navigation.get_by_role("link", name="Aperçu")).to_be_visible()
    picture(page, "fr-overview")
    lines = "each => [...new Set([...each.querySelectorAll('a')].map((link) => link.offsetTop))]"
    assert len(navigation.evaluate(lines)) == 1  # at both widths: on a phone it scrolls sideways
    leaves = page.get_by_role("button", name="Se déconnecter").bounding_box()
    name = page.get_by_role("link", name="Heliograph", exact=True).bounding_box()
    assert leaves is not None
    assert name is not None
    assert leaves["y"] < name["y"] + name["height"]  # on one line with it
    home = navigation.get_by_role("link", name="Contacts").get_attribute("href")
    assert home is not None
    for path in PAGES:
        page.goto(f"{server.url}{home.removesuffix('/contacts')}/{path}")
        expect(page.locator("html")).to_have_attribute("lang", "fr")
        picture(page, f"fr-{path.replace('/', '-')}")
    page.context.close()


@at_both_widths
def test_a_text_is_sent_and_another_refused_in_french(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    page.goto(f"{server.url}/portal/language/fr?back=/portal")
    come_in_in_french(page, server)
    page.get_by_role("navigation").get_by_role("link", name="Envoyer", exact=True).click()
    page.locator("[name=mode]").select_option("sandbox")
    page.locator("[name=sender]").fill("SANDBOX")
    page.locator("[name=recipients]").fill("personne")
    page.locator("[name=message]").fill("L’été arrive")
    page.locator("button[value=send]").focus()
    page.keyboard.press("Enter")
    wrong = page.locator("main .wrong").first
    expect(wrong).to_be_visible()
    expect(wrong.locator("[lang=en]")).to_have_count(0)
    picture(page, "fr-send-wrong")
    page.locator("[name=recipients]").fill("233201234567")
    page.locator("button[value=send]").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/messages"))
    picture(page, "fr-sent")
    page.context.close()
