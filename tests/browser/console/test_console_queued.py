"""An operator can cancel what is queued, and change a carrier's settings, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.capability.commands import Run, runner
from tests.support.console.first_visit import sign_in_operator
from tests.support.factories import SENDER
from tests.support.portal.browsing import at_both_widths, opened, picture
from tests.support.services import free_port

TEXT = "Your order is on its way. " * 8  # two segments
IDLE, SET = "idle", "gh-main"
PHONES = [f"23355500100{place}" for place in range(3)]


def nobody_listens(run: Run, tmp_path: Path, name: str) -> None:
    """Lets a carrier take the numbers that nobody can bind to."""
    password = tmp_path / "password"
    password.write_text("secret\n")
    where = ("--host", "127.0.0.1", "--port", free_port(), "--system-id", "amina")
    assert run("carrier", "add", name, *where, "--password-file", str(password)).status == 0
    assert run("route", "set", "23355", name).status == 0


def send(server: Server) -> None:
    answer = plain_http.post(
        f"{server.url}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {server.cast.amina.key()}"},
        json={"sender": SENDER, "message": TEXT, "recipients": PHONES},
    )
    answer.raise_for_status()


def cancel(page: Page, button: str) -> None:
    """Fills in a reason, and cancels with this button."""
    form = page.locator("form").filter(has=page.get_by_role("button", name=button))
    form.get_by_label("Reason").fill("ticket 4711")
    form.get_by_role("button", name=button).click()
    expect(page.get_by_role("status")).to_have_text("Saved")


@pytest.fixture
def run(server: Server, tmp_path: Path) -> Run:
    return runner(server.cast.amina.db.url, tmp_path)


@at_both_widths
def test_what_is_queued_is_canceled_one_by_one_or_at_once(
    browser: Browser, server: Server, width: int, tmp_path: Path, run: Run
) -> None:
    nobody_listens(run, tmp_path, IDLE)
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    send(server)
    page.goto(f"{server.url}/console/accounts?q=amina")
    page.get_by_role("link", name="amina", exact=True).click()
    page.get_by_role("link", name="messages that wait for a carrier").click()
    expect(page.get_by_text("6 SMS credits go back to the wallet of amina")).to_be_visible()
    picture(page, "console-queued")
    page.get_by_role("link", name=PHONES[1]).click()
    expect(page.get_by_text("2 SMS credits go back to the wallet of amina")).to_be_visible()
    picture(page, "console-queued-message")
    cancel(page, "Cancel it and give back 2 SMS credits")
    expect(page.get_by_text("The message was canceled.").first).to_be_visible()
    expect(page.get_by_role("heading", name="Cancel it")).not_to_be_attached()
    page.get_by_role("link", name="amina", exact=True).click()
    page.get_by_role("link", name="messages that wait for a carrier").click()
    cancel(page, "Cancel 2 messages")
    expect(page.get_by_text("Nothing is queued")).to_be_visible()
    picture(page, "console-queued-none")
    page.get_by_role("link", name="amina", exact=True).click()
    page.get_by_role("link", name="Wallet").click()
    expect(page.get_by_role("heading", name="Newest entries")).to_be_visible()
    picture(page, "console-wallet-entries")
    page.goto(f"{server.url}/console/log")
    expect(page.get_by_text("Canceled queued messages").first).to_be_visible()


@at_both_widths
def test_settings_of_a_carrier_are_tried_refused_and_saved(
    browser: Browser, server: Server, width: int, tmp_path: Path, run: Run
) -> None:
    nobody_listens(run, tmp_path, SET)
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    page.goto(f"{server.url}/console/carriers/{SET}")
    page.get_by_role("link", name="Change settings").click()
    picture(page, "console-carrier-settings")
    page.locator("[name=binds]").fill("65")
    page.get_by_label("Window of each bind").fill("20")
    page.get_by_label("Reason").fill("contract 12")
    page.get_by_role("button", name="Save the settings").click()
    expect(page.locator("[name=binds]")).to_have_attribute("aria-invalid", "true")
    page.locator("[name=binds]").fill("2")
    page.get_by_label("System id").fill("amina-foods")
    page.get_by_role("button", name="Try to bind").click()
    expect(page.get_by_text("could not be bound")).to_be_visible()
    expect(page.get_by_label("Window of each bind")).to_have_value("20")
    picture(page, "console-carrier-settings-refused")
    page.get_by_role("button", name="Save the settings").click()
    page.get_by_label("Save it all the same").check()
    page.get_by_role("button", name="Save the settings").click()
    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    picture(page, "console-carrier-set")
    stored = run("carrier", "show", SET, "--json").json
    assert (stored["window"], stored["binds"], stored["system_id"]) == (20, 2, "amina-foods")
    page.goto(f"{server.url}/console/log")
    expect(page.get_by_text("Changed a carrier's settings").first).to_be_visible()
