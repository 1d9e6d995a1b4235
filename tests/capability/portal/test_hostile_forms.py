"""Every field of every form of the portal is filled in with texts that somebody could do harm with.
Whether a form takes them or refuses them, its answer only shows them.
"""

import re
from importlib import import_module

import pytest

from heliograph.database.database import Database
from heliograph.portal.portal import Portal
from heliograph.wallet import prices
from tests.support.api.inbound_texts import store_inbound
from tests.support.console.operators import attached, waiting_sender
from tests.support.portal.hostile_forms import fill_all
from tests.support.portal.routes import There, asked
from tests.support.portal.visitor import EMAIL, Visitor

FILES = ("/export", "/file")
OWN = ("/portal/you", "/portal/you/authenticator")
BEFORE = ("/portal/sign-in", "/portal/sign-up")


@pytest.mark.usefixtures("mailbox")
def test_no_form_answers_with_more_than_the_text_that_it_was_sent(
    visitor: Visitor,
    stranger: Visitor,
    portal: Portal,
    db: Database,
    amina_id: str,
    there: There,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the question before a launch asks for the exact price only where it gives an estimate
    monkeypatch.setattr(import_module("heliograph.campaigns.quick_quote"), "ADDED_UP_MAX", 0)
    sender = waiting_sender(db, amina_id)
    there = there._replace(sender=sender, document=attached(db, amina_id, sender).text_id)
    with db.write() as tx:
        prices.set_price(tx, "GHS", "2.50", 100)
        store_inbound(tx, amina_id, "hello", sender=there.phone, sandbox=False)
    visitor.sign_in(EMAIL, amina_id)
    every = asked(portal, there)
    pages = [path for method, path in every if method == "GET" and not path.endswith(FILES)]
    went = fill_all(visitor, [*pages, *OWN]) | fill_all(stranger, BEFORE)
    # the one that waits cannot become the default, and another one can
    went = {re.sub(r"sid_\w+", sender, path) for path in went}
    forms = {path for method, path in every if method == "POST"}
    assert forms <= went
    assert {"/portal/you/password", "/portal/you/passkeys", *BEFORE, "/portal/sign-in/mail"} < went
