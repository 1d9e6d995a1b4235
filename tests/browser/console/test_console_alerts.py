"""A carrier dies and returns: the page says so, and one mail and one webhook tell of each."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from standardwebhooks import Webhook

from tests.support.alerted import OPERATOR_MAIL, events, subjects
from tests.support.api.server import Server, serving
from tests.support.console.first_visit import sign_in_operator
from tests.support.factories import open_carrier
from tests.support.portal.browsing import at_both_widths, opened, picture
from tests.support.portal.mailbox import Mailbox, taking_mail
from tests.support.services import free_port
from tests.support.wire.smsc_peer import running_smsc
from tests.support.wire.smsc_process import repeat_until
from tests.support.wire.webhook_receiver import OK, Receiver, receiver_in_a_thread, says

WITHIN_MS = 40_000  # the carrier is bound or lost, two looks are made, and the page asks again


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with taking_mail() as box:
        yield box


@pytest.fixture(scope="module")
def telling_server(
    new_database: Callable[[str], str],
    served_database: str,
    tmp_path_factory: pytest.TempPathFactory,
    mailbox: Mailbox,
) -> Iterator[Server]:
    """Yields a service that sends mail."""
    with serving(
        new_database(served_database),
        tmp_path_factory.mktemp("serve"),
        HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK="true",
        HELIOGRAPH_SMTP_URL=f"smtp://127.0.0.1:{mailbox.port}",
    ) as server:
        yield server


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiver_in_a_thread(says(OK)) as receiver:
        yield receiver


def add(page: Page, address: str) -> None:
    page.get_by_label("Email address, or URL of a webhook").fill(address)
    page.get_by_role("button", name="Add", exact=True).click()


def set_up(page: Page, receiver: Receiver) -> str:
    """Adds who is told, lets the rule tell after a second, and returns the webhook's secret."""
    page.get_by_role("navigation").get_by_role("link", name="Alerts").click()
    expect(page.get_by_text("No alert is open.")).to_be_visible()
    picture(page, "console-alerts-new")
    add(page, "nobody")
    expect(page.get_by_text("must be an email address")).to_be_visible()
    expect(page.get_by_label("Email address, or URL of a webhook")).to_have_value("nobody")
    add(page, OPERATOR_MAIL)
    add(page, receiver.url())
    secret = page.locator("#secret").inner_text()
    picture(page, "console-alerts-secret")
    page.get_by_role("link", name="To the alerts").click()
    page.get_by_label("A carrier is down: held for, in seconds").fill("4000")
    page.get_by_role("button", name="Save the rules").click()
    expect(page.get_by_text("must be a whole number, 0 to 3600 s")).to_be_visible()
    picture(page, "console-alerts-refused")
    page.get_by_label("A carrier is down: held for, in seconds").fill("1")
    page.get_by_role("button", name="Save the rules").click()
    expect(page.get_by_label("A carrier is down: held for, in seconds")).to_have_value("1")
    return secret


@at_both_widths
def test_a_carrier_that_dies_and_returns_is_told_once_each(
    browser: Browser,
    telling_server: Server,
    mailbox: Mailbox,
    receiver: Receiver,
    width: int,
    tmp_path: Path,
) -> None:
    db, port, name = telling_server.cast.amina.db, free_port(), f"gh-main-{width}"
    mailbox.got.clear()
    page = opened(browser, width)
    sign_in_operator(page, telling_server, tmp_path)
    secret = set_up(page, receiver)
    page.get_by_role("button", name=f"Send a test to {receiver.url()}").click()
    page.get_by_role("button", name=f"Send a test to {OPERATOR_MAIL}").click()
    repeat_until(lambda: bool(mailbox.got and receiver.bodies), lambda: page.wait_for_timeout(100))
    expect(page.get_by_text("A test: told")).to_have_count(2, timeout=WITHIN_MS)
    with running_smsc(f"--port={port}"):
        settings = {"system_id": "amina", "backoff_min_s": 0.1, "backoff_max_s": 1.0}
        open_carrier(db, name, port=port, prefix=None, **settings)
        page.goto(f"{telling_server.url}/console/now")
        row = page.get_by_role("row").filter(has_text=name)
        expect(row.get_by_text("bound", exact=True)).to_be_visible(timeout=WITHIN_MS)
        page.goto(f"{telling_server.url}/console/alerts")
    opened_now = page.get_by_text(f"Carrier {name} is down.")
    expect(opened_now).to_be_visible(timeout=WITHIN_MS)
    of_it = page.get_by_role("region", name="Open now").get_by_text("the beginning: told")
    expect(of_it).to_have_count(2, timeout=WITHIN_MS)
    picture(page, "console-alerts-open")
    with running_smsc(f"--port={port}"):
        expect(opened_now).to_have_count(0, timeout=WITHIN_MS)
        repeat_until(
            lambda: len(mailbox.got) >= 3 and len(receiver.bodies) >= 3,
            lambda: page.wait_for_timeout(100),
        )
        page.reload()
        ended = page.get_by_role("region", name="Last alerts")
        expect(ended.get_by_text("the end: told")).to_have_count(2)
        picture(page, "console-alerts")
    page.get_by_role("link", name=f"Remove {OPERATOR_MAIL} …").click()
    picture(page, "console-alerts-removal")
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("Removed", exact=True)).to_be_visible()
    page.get_by_role("link", name=f"Remove {receiver.url()} …").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("Nobody is told.")).to_be_visible()
    down = f"Carrier {name} is down"
    told = ["This is a test", down, f"Over: {down}"]
    assert subjects(mailbox) == [f"[Heliograph] {each}" for each in told]
    kinds = [event["event"] for event in events(receiver)]
    assert kinds == ["alert.test", "alert.opened", "alert.over"]
    for head, body in zip(receiver.heads, receiver.bodies, strict=True):
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        assert Webhook(secret).verify(body.decode(), headers) == json.loads(body)
    page.context.close()
