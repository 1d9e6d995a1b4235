"""Signing in, in a real browser: with the code of an authenticator app, and with a passkey."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from heliograph.base import clock
from tests.support.api.server import Server, serving
from tests.support.portal.authenticator import STEP_MS, code_of
from tests.support.portal.browsing import at_both_widths, come_in, opened, picture
from tests.support.portal.visitor import EMAIL

PASSWORD = "purple kettle 41 sings"


@pytest.fixture(scope="module")
def named_server(
    new_database: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A service that browsers know by a name: passkeys belong to a name, not to an address."""
    with serving(
        new_database("postgresql"),
        tmp_path_factory.mktemp("serve"),
        HELIOGRAPH_BASE_URL="http://localhost:{port}",
    ) as server:
        yield server._replace(url=server.url.replace("127.0.0.1", "localhost"))


def next_code(secret: str) -> str:
    """A code that was not used yet: the one of the next step, which counts already."""
    return code_of(secret, clock.now_ms() + STEP_MS)


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


@at_both_widths
def test_an_app_is_set_up_and_its_code_asked_for(
    browser: Browser, named_server: Server, width: int
) -> None:
    server = named_server
    page = opened(browser, width)
    come_in(page, server)
    page.get_by_role("link", name=EMAIL).click()
    page.get_by_label("New password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Change your password")).to_be_visible()
    picture(page, "you")
    page.get_by_role("button", name="Set it up").click()
    expect(page.locator("svg.qr")).to_be_visible()
    secret = page.locator("#secret").inner_text()
    page.keyboard.type("123 456")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be the 6 digits")).to_be_visible()
    picture(page, "authenticator")
    page.get_by_label("6 digits").fill(code_of(secret, clock.now_ms()))
    page.keyboard.press("Enter")
    recovery_code = page.locator("#codes").inner_text().split()[0]
    picture(page, "recovery-codes")
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("10 of your recovery codes are left")).to_be_visible()
    picture(page, "you-two-step")
    sign_out(page)
    page.get_by_label("Email address", exact=True).fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_label("6 digits")).to_be_focused()
    page.keyboard.type("000000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not right")
    picture(page, "code")
    page.keyboard.type(next_code(secret))
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name=EMAIL)).to_be_visible()
    sign_out(page)
    page.get_by_label("Email address", exact=True).fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_text("Use a recovery code").click()
    picture(page, "code-recovery")
    page.get_by_label("One of the ten").fill(recovery_code)
    page.keyboard.press("Enter")
    page.get_by_role("link", name=EMAIL).click()
    expect(page.get_by_text("9 of your recovery codes are left")).to_be_visible()
    page.get_by_role("button", name="Turn it off").click()
    expect(page.get_by_role("button", name="Set it up")).to_be_visible()
    page.context.close()


def plugged_in(page: Page) -> None:
    """Gives the browser a security key, which is unlocked whenever it is asked."""
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    key = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": key})


@at_both_widths
def test_a_passkey_is_made_signs_in_and_is_removed(
    browser: Browser, named_server: Server, width: int
) -> None:
    server = named_server
    page = opened(browser, width)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    plugged_in(page)
    come_in(page, server)
    page.get_by_role("link", name=EMAIL).click()
    name = page.get_by_label("Name of the new passkey")
    name.focus()
    page.keyboard.type("Work laptop")
    page.keyboard.press("Enter")
    row = page.get_by_role("listitem").filter(has_text="Work laptop")
    expect(row).to_contain_text("never used")
    picture(page, "you-passkeys")
    name.fill("The same")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This device has a passkey of yours already.")).to_be_visible()
    sign_out(page)
    picture(page, "sign-in-passkey")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.get_by_role("link", name=EMAIL).click()
    expect(row).to_contain_text("used just now")
    row.get_by_text("Rename").first.click()
    picture(page, "you-passkey-rename")
    page.get_by_label("New name of Work laptop").fill("Old laptop")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Remove Old laptop").click()
    expect(page.get_by_role("button", name="Remove Old laptop")).to_have_count(0)
    sign_out(page)
    # who is signed out is told so by a 401, which the console calls an error
    assert [each for each in wrong if "401" not in each] == []
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("This passkey is not known here")
    picture(page, "sign-in-passkey-wrong")
    page.context.close()


def test_a_browser_that_cannot_use_passkeys_says_so(browser: Browser, named_server: Server) -> None:
    page = opened(browser, 390)
    page.add_init_script("delete window.PublicKeyCredential")
    page.goto(f"{named_server.url}/portal/sign-in")
    expect(page.get_by_text("This browser cannot use passkeys")).to_be_visible()
    expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
    page.context.close()
