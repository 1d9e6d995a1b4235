"""A mailed link leads to the page where it was asked for."""

import html
import re

import pytest

from heliograph.base import clock
from heliograph.portal.sign_in.mailer import Mailer
from heliograph.users.sign_ins import FRESH_MS
from tests.support.api.service import Loop
from tests.support.portal.mailbox import Mailbox
from tests.support.portal.visitor import EMAIL, Visitor


def mailed(visitor: Visitor, mailer: Mailer, run_loop: Loop, mailbox: Mailbox, **more: str) -> str:
    """Asks for a link with the form of the last page, and returns the link's path."""
    [form] = re.findall(
        r'<form[^>]*action="/portal/sign-in/mail".*?</form>', visitor.page.text, re.S
    )
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    given = {name: html.unescape(value) for name, value in fields.items()}
    asked = visitor.post("/portal/sign-in/mail", {**given, "email": EMAIL, **more})
    assert asked.status_code == 200, asked.text
    run_loop(mailer.send_due())
    return mailbox.link()


def opened(visitor: Visitor, link: str) -> str:
    visitor.get(link)
    return str(visitor.post(link).headers["location"])


def test_a_fresh_sign_in_by_a_link_leads_back_to_the_page_that_asked(
    at_noon: None,
    visitor: Visitor,
    stranger: Visitor,
    home: str,
    mailer: Mailer,
    run_loop: Loop,
    mailbox: Mailbox,
) -> None:
    clock.move(FRESH_MS)
    path = f"{home}/keys/new?mode=live&x=1"
    assert visitor.get(path).status_code == 403
    assert opened(visitor, mailed(visitor, mailer, run_loop, mailbox)) == path
    visitor.get("/portal/sign-in")
    again = mailed(visitor, mailer, run_loop, mailbox)
    assert opened(visitor, again) == "/portal", "what was asked for before is forgotten"
    assert visitor.get("/portal/you").status_code == 200
    clock.move(FRESH_MS)
    visitor.get(path)
    assert opened(stranger, mailed(visitor, mailer, run_loop, mailbox)) == "/portal"


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/portal/\\evil", ""])
def test_a_link_leads_to_no_other_site(
    visitor: Visitor,
    home: str,
    mailer: Mailer,
    run_loop: Loop,
    mailbox: Mailbox,
    back: str,
) -> None:
    visitor.get("/portal/sign-in")
    assert opened(visitor, mailed(visitor, mailer, run_loop, mailbox, back=back)) == "/portal"
