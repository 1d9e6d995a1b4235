"""People sign in, in a real browser: with the code of an authenticator app, with a passkey, and by
signing up.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator

import pyotp
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from heliograph.base import clock
from tests.support.api.server import Server, serving
from tests.support.polling import wait_until
from tests.support.portal.authenticator import STEP_MS, code_of
from tests.support.portal.browsing import (
    NARROW,
    at_both_widths,
    opened,
    picture,
    reload_until,
    sign_in_owner,
)
from tests.support.portal.mailbox import Mailbox, taking_mail
from tests.support.portal.visitor import EMAIL

PASSWORD = "purple kettle 41 sings"
WITHIN_S = 60


@pytest.fixture(scope="module")
def named_server(
    new_database: Callable[[str], str],
    served_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """Yields a service that browsers know by a name: passkeys belong to a name, not to an
    address.
    """
    with serving(
        new_database(served_database),
        tmp_path_factory.mktemp("serve"),
        HELIOGRAPH_BASE_URL="http://localhost:{port}",
    ) as server:
        yield server._replace(url=server.url.replace("127.0.0.1", "localhost"))


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with taking_mail() as box:
        yield box


@pytest.fixture(scope="module")
def open_server(
    new_database: Callable[[str], str],
    served_database: str,
    tmp_path_factory: pytest.TempPathFactory,
    mailbox: Mailbox,
) -> Iterator[Server]:
    """Yields a service at which strangers may sign up."""
    with serving(
        new_database(served_database),
        tmp_path_factory.mktemp("serve"),
        HELIOGRAPH_SIGNUP="open",
        HELIOGRAPH_SMTP_URL=f"smtp://127.0.0.1:{mailbox.port}",
    ) as server:
        yield server


def next_code(secret: str) -> str:
    """Returns a code that was not used yet: the one of the next step, which counts already."""
    return code_of(secret, clock.now_ms() + STEP_MS)


def top_of(shown: Locator) -> float:
    box = shown.bounding_box()
    assert box is not None
    return box["y"]


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


@at_both_widths
def test_an_app_is_set_up_and_its_code_asked_for(
    browser: Browser, named_server: Server, width: int
) -> None:
    server = named_server
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name=EMAIL).click()
    page.get_by_label("New password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Change your password")).to_be_visible()
    picture(page, "you")
    page.get_by_role("button", name="Set it up").click()
    expect(page.locator("svg.qr")).to_be_visible()
    secret = page.locator("#secret").inner_text()
    address = page.get_by_role("link", name="Set it up there").get_attribute("href") or ""
    told = pyotp.parse_uri(address)
    assert (told.secret, told.name, told.issuer) == (secret, EMAIL, "Heliograph")
    is_below = top_of(page.locator("svg.qr")) > top_of(page.get_by_label("6 digits"))
    assert is_below == (width == NARROW), "a phone cannot scan its own screen"
    expect(page.get_by_label("6 digits")).to_be_focused()
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
    expect(page.get_by_label("6 digits")).to_be_focused()
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
    page.get_by_text("Turn it off …").click()
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
    sign_in_owner(page, server)
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
    page.get_by_label("Remove Old laptop", exact=True).click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_label("Remove Old laptop")).to_have_count(0)
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


@at_both_widths
def test_a_stranger_signs_up_sends_a_first_text_makes_a_key_and_pastes_curl(
    browser: Browser, open_server: Server, mailbox: Mailbox, width: int
) -> None:
    server, email = open_server, f"esi{width}@example.com"
    page = opened(browser, width)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    page.goto(f"{server.url}/portal/sign-in")
    page.get_by_role("link", name="Make an account").click()
    expect(page.get_by_label("Company")).to_be_focused()
    page.keyboard.type("Esi Foods")
    page.get_by_label("Your email address").fill(email)
    page.locator("select[name=country]").select_option("Ghana")
    page.get_by_label("Currency").fill("cedi")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a currency of ISO 4217")).to_be_visible()
    expect(page.locator("select[name=country]")).to_have_value("GH")
    picture(page, "sign-up")
    page.get_by_label("Currency").fill("")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"A link is on its way to {email}")).to_be_visible()
    picture(page, "sign-up-mailed")
    wait_until(lambda: mailbox.got and mailbox.got[-1]["To"] == email, "no link was mailed")
    page.goto(server.url + mailbox.link())
    picture(page, "sign-up-confirm")
    expect(page.get_by_role("button", name="Make it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Esi Foods")).to_contain_text("sandbox only")
    picture(page, "sign-up-overview")
    page.get_by_role("link", name="Send a text in sandbox").click()
    page.get_by_role("link", name="Send", exact=True).click()
    page.get_by_role("combobox", name="Sender").fill("SANDBOX")
    page.get_by_label("To", exact=True).fill("233201234567")
    page.get_by_label("Text", exact=True).fill("Hello from Esi Foods")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("blockquote")).to_have_text("Hello from Esi Foods")
    page.get_by_role("link", name="API keys").click()
    page.get_by_role("link", name="Make a key").click()
    page.get_by_label("Name").fill("shop")
    page.locator("input[name='may sms.send']").check()
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator("#secret")).to_contain_text("sk_test_")
    page.get_by_role("link", name="Overview").click()
    picture(page, "sign-up-overview-later")
    page.get_by_role("navigation").get_by_role("link", name="Quickstart").click()
    page.get_by_role("button", name="Make a sandbox key").click()
    message_id = pasted_into_a_shell(page)
    page.get_by_role("link", name="Messages").click()
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("mode=sandbox"))  # before it is loaded again
    row = page.locator(f"tr[id='{message_id}']")
    reload_until(page, row.get_by_text("delivered", exact=True))
    expect(row.get_by_text("Hello from Heliograph", exact=True)).to_be_visible()
    expect(row.get_by_text("233201234567", exact=True)).to_be_visible()
    picture(page, "sign-up-messages")
    page.context.close()


def pasted_into_a_shell(page: Page) -> str:
    """Copies the command that sends a text with curl, as the quickstart shows it, and types it into
    a shell without a change. Returns the id of the message.
    """
    shown = page.get_by_role("group", name="Send a text").locator("figure:visible")
    shown.get_by_role("button", name="Copy").click()
    expect(shown.get_by_role("button", name="Copied")).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith("curl "), command
    done = subprocess.run(
        ["bash"], input=command, capture_output=True, text=True, check=False, timeout=WITHIN_S
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["success"], answer
    return str(answer["data"]["message_id"])
