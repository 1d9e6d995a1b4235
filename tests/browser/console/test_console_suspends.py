"""An operator suspends an account while it sends, in a real browser: its sends are refused at once,
and none is done by half.
"""

import threading
import time
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.capability.commands import runner
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture

REFUSED_WITHIN_S = 1.0  # docs/architecture.md, "The configuration cache"
SEEN_WITHIN_S = 15.0


class Sender(threading.Thread):
    """Sends text after text until it is told to stop, and keeps what was answered when."""

    def __init__(self, server: Server, key: str) -> None:
        super().__init__(daemon=True)
        self._url, self._key = f"{server.url}/api/v1/sms/send", key
        self.answers: list[tuple[float, int]] = []
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.is_set():
            answer = plain_http.post(
                self._url,
                headers={"Authorization": f"Bearer {self._key}"},
                json={"sender": "AMINA", "message": "order 1", "to": "233201234567"},
            )
            self.answers.append((time.monotonic(), answer.status_code))
            self.stopped.wait(0.05)

    def wait_for(self, status: int) -> None:
        until_s = time.monotonic() + SEEN_WITHIN_S
        while not self.answers or self.answers[-1][1] != status:
            assert time.monotonic() < until_s, self.answers[-5:]
            time.sleep(0.02)


@at_both_widths
def test_an_account_that_is_suspended_while_it_sends_stops_at_once(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    amina, page = server.cast.amina, opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    sender = Sender(server, amina.key())
    sender.start()
    try:
        sender.wait_for(200)
        page.get_by_role("navigation").get_by_role("link", name="Accounts").click()
        page.get_by_role("link", name="amina", exact=True).first.click()
        suspends = page.locator("form").filter(has=page.get_by_role("button", name="Suspend"))
        suspends.get_by_label("Reason").fill("complaints from the network")
        suspends.get_by_role("button", name="Suspend amina").click()
        expect(page.get_by_role("status")).to_have_text("Saved")
        suspended_s = time.monotonic()
        sender.wait_for(403)
        time.sleep(REFUSED_WITHIN_S)
        picture(page, "console-suspended")
    finally:
        sender.stopped.set()
        sender.join()
    late = {status for at_s, status in sender.answers if at_s > suspended_s + REFUSED_WITHIN_S}
    assert late == {403}
    statuses = [status for _, status in sender.answers]
    accepted = statuses.count(200)
    assert statuses == [200] * accepted + [403] * (len(statuses) - accepted)
    run = runner(amina.db.url, tmp_path)
    sent = run("message", "list", "--account", "amina", "--limit", "1000", "--json")
    assert len(sent.json) == accepted, "each that was accepted is there, and no other"
    verified = run("ledger", "verify")
    assert verified.status == 0, verified
    resumes = page.locator("form").filter(has=page.get_by_role("button", name="Resume"))
    resumes.get_by_label("Reason").fill("it was a mistake")
    resumes.get_by_role("button", name="Resume amina").click()
    expect(page.get_by_role("heading", name="Suspend it")).to_be_visible()
