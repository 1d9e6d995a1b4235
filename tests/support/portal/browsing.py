"""Opens the portal in a real browser: it knows who comes in and what is sent meanwhile, judges
pages, and takes pictures of them where that is asked for. These go to build/portal/.
"""

import os
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from heliograph import users
from heliograph.base import clock
from heliograph.users import Role, sign_ins
from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.portal.judged import OF_ALL, OF_COLORS, violations
from tests.support.portal.visitor import EMAIL

PICTURES = Path(__file__).parents[3] / "build" / "portal"
# by `make pictures`: taking them is a fifth of the work of a journey, and tests do not look at them
PICTURES_WANTED = os.environ.get("HELIOGRAPH_TEST_PICTURES") == "1"
HEIGHT = 900
CONTENT = "document.querySelector('main').getBoundingClientRect().bottom + scrollY"
# the boxes that scroll on a phone: all tables of the portal stack, and some of the console
OFF_SCREEN = """[...document.querySelectorAll('body:not(.console) .wide, .wide:has(.stacked)')]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.ariaLabel)"""
# hints of fields that are wider than their fields
CUT_HINTS = """[...document.querySelectorAll('body:not(.console) main input')].filter(each => {
        if (!each.checkVisibility()) return false;
        const style = getComputedStyle(each);
        const pen = document.createElement('canvas').getContext('2d');
        pen.font = style.font;
        const around = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
        return pen.measureText(each.placeholder).width > each.clientWidth - around + 1;
    }).map(each => `${each.name}: ${each.placeholder}`)"""
SHOWN_WITHIN_S = 30
NARROW, WIDE = 390, 1440
# each journey once on each database; swapped, each width has the other one (`make journeys`)
DATABASES = ("postgresql", "sqlite")
IS_SWAPPED = os.environ.get("HELIOGRAPH_TEST_JOURNEYS") == "swapped"
at_both_widths = pytest.mark.parametrize(
    ("width", "served_database"),
    list(zip((NARROW, WIDE), DATABASES[::-1] if IS_SWAPPED else DATABASES, strict=True)),
    scope="module",  # a server for each database, and not for each test
)


def link(server: Server) -> str:
    """Returns a link that signs in the owner of amina's account."""
    db = server.cast.amina.db
    with db.write() as tx:
        user = users.add(tx, EMAIL, now_ms=clock.now_ms())
        users.set_role(tx, user.id, server.cast.amina.account_id, Role.OWNER, now_ms=clock.now_ms())
        return (
            f"{server.url}/portal/sign-in/{sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())}"
        )


def opened(browser: Browser, width: int) -> Page:
    """Opens a page in a window of its own, of somebody whom the browser does not know."""
    return browser.new_context(viewport={"width": width, "height": HEIGHT}).new_page()


def sign_in_owner(page: Page, server: Server) -> None:
    """Signs in as the owner of amina's account, by keyboard alone."""
    page.goto(link(server))
    expect(page.get_by_role("button", name="Sign in")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/portal")


def form_with(page: Page, button: str) -> Locator:
    """Returns the form that has a button of this name."""
    return page.locator("main form").filter(has=page.get_by_role("button", name=button))


def picture(page: Page, name: str) -> None:
    """Sees in both themes that the page fits into the window and that everybody can use it, and
    takes its picture if pictures are wanted. On a phone no part of a table that stacks is off
    screen, and no hint of a field is cut.
    """
    size = page.viewport_size
    assert size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    off_screen = page.evaluate(OFF_SCREEN) if size["width"] == NARROW else []
    assert not off_screen, f"{name}: {off_screen}"
    cut = page.evaluate(CUT_HINTS) if size["width"] == NARROW else []
    assert not cut, f"{name}: {cut}"
    for is_light in (True, False):
        scheme = "light" if is_light else "dark"
        page.emulate_media(color_scheme="light" if is_light else "dark")
        red = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
        assert (int(red) > 127) == is_light
        found = violations(page, of=OF_ALL if is_light else OF_COLORS)
        assert not found, f"{name}, {scheme}: {found}"
        if PICTURES_WANTED:
            _take(page, PICTURES / f"{name}-{size['width']}-{scheme}.png", size["width"])


def _take(page: Page, file: Path, width: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(
        path=file,
        full_page=True,
        clip={"x": 0, "y": 0, "width": width, "height": page.evaluate(CONTENT)},
    )


def send(server: Server, to: str, text: str) -> str:
    """Sends a text in sandbox, by the API, and returns the id of its message."""
    answer = plain_http.post(
        f"{server.url}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {server.cast.amina.key(sandbox=True)}"},
        json={"sender": "SANDBOX", "message": text, "to": to, "reference": "order 1"},
    )
    answer.raise_for_status()
    return str(answer.json()["data"]["message_id"])


def reload_until(page: Page, shown: Locator) -> None:
    """Loads the page again until it shows this."""
    until_s = time.monotonic() + SHOWN_WITHIN_S
    while shown.count() == 0:
        assert time.monotonic() < until_s, f"not within {SHOWN_WITHIN_S} s: {shown}"
        page.reload()
