"""An owner invites somebody, and who was not there comes in, in a real browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.api.server import Server, serving
from tests.support.polling import wait_until
from tests.support.portal.browsing import at_both_widths, opened, picture, sign_in_owner
from tests.support.portal.mailbox import Mailbox, taking_mail


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with taking_mail() as box:
        yield box


@pytest.fixture(scope="module")
def mailing_server(
    new_database: Callable[[str], str],
    served_database: str,
    tmp_path_factory: pytest.TempPathFactory,
    mailbox: Mailbox,
) -> Iterator[Server]:
    with serving(
        new_database(served_database),
        tmp_path_factory.mktemp("serve"),
        HELIOGRAPH_SMTP_URL=f"smtp://127.0.0.1:{mailbox.port}",
    ) as server:
        yield server


@at_both_widths
def test_somebody_is_invited_accepts_and_later_asks_for_a_link(
    browser: Browser, mailing_server: Server, mailbox: Mailbox, width: int
) -> None:
    server = mailing_server
    invited = f"kofi{width}@example.com"
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Members").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Email address").focus()
    page.keyboard.type("nobody")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be an email address")).to_be_visible()
    picture(page, "members-wrong")
    page.get_by_label("Email address").fill(invited)
    page.locator("form.filters select[name=role]").select_option("marketer")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").filter(has_text=invited)).to_contain_text("invited")
    for name in ("Change", "Remove", "Withdraw"):
        box = page.get_by_role("table").get_by_text(name).first.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width, "it is reached without scrolling sideways"
    named = "it => getComputedStyle(it, '::before').content"
    before = page.get_by_role("cell", name="just now").first.evaluate(named)
    assert before == ('"Signed in "' if width == 390 else "none"), "a time has a name"
    picture(page, "members")
    wait_until(lambda: mailbox.got and mailbox.got[-1]["To"] == invited, "no invitation was mailed")
    theirs = opened(browser, width)
    theirs.goto(server.url + mailbox.link())
    picture(theirs, "invited")
    expect(theirs.get_by_role("button", name="Accept")).to_be_focused()
    theirs.keyboard.press("Enter")
    expect(theirs.get_by_text(invited)).to_be_visible()
    expect(theirs.get_by_text("marketer", exact=True)).to_be_visible()
    theirs.get_by_role("button", name="Sign out").click()
    before = len(mailbox.got)
    theirs.get_by_label("Email address, for a link").fill(invited)
    picture(theirs, "sign-in-mail")
    theirs.keyboard.press("Enter")
    expect(theirs.get_by_role("heading", name="Look into your mail")).to_be_visible()
    wait_until(lambda: len(mailbox.got) > before, "no link was mailed")
    theirs.goto(server.url + mailbox.link())
    expect(theirs.get_by_role("button", name="Sign in")).to_be_focused()
    theirs.keyboard.press("Enter")
    expect(theirs.get_by_text(invited)).to_be_visible()
    for each in (page, theirs):
        each.context.close()
