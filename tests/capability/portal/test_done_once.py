"""Each form of an account that is clicked twice has one effect. The cases are made from the routes,
so a form that is added later is clicked twice, too.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import httpx
import pytest
import sqlalchemy as sa

from heliograph import senders
from heliograph.accounts.tables import audit_log
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.inbound.tables import inbound
from heliograph.messages.tables import messages
from heliograph.portal.portal import Portal
from heliograph.senders import documents
from heliograph.users.tables import mails
from heliograph.wallet import ledger, prices
from tests.support.api.inbound_texts import store_inbound
from tests.support.capability.webhooks import NOWHERE
from tests.support.factories import grant, open_route
from tests.support.portal.contents import contents
from tests.support.portal.mailbox import Mailbox
from tests.support.portal.routes import There, asked_of, of_accounts
from tests.support.portal.visitor import Visitor

PDF: Final = {"file": ("paper.pdf", b"%PDF-1.4\n1 0 obj\n%%EOF\n", "application/pdf")}
SHEET: Final = {"file": ("people.csv", b"phone\n0201234567\n")}
SEND: Final = {"mode": "sandbox", "sender": "SANDBOX", "message": "hello"}
SAME_TWICE: Final = "what it sets is the same when it is set again"
PART: Final = "it shows a part of a page, and does nothing"


class Twice(NamedTuple):
    """Says what is sent, how many entries of the audit log both forms together leave, and how many
    texts they send or have written.
    """

    form: Mapping[str, str]
    files: Mapping[str, Any] | None = None
    entries: int = 1
    texts: int = 0


# by what stands behind the account in the path of the route
FORMS: Final[Mapping[str, Twice]] = {
    "quickstart": Twice({"do": "make_key"}),
    "send": Twice({**SEND, "recipients": "233201234567", "do": "send"}, entries=0, texts=1),
    "campaigns/{campaign}/test": Twice({"to": "0201234567"}, entries=0, texts=1),
    "conversations/{phone}": Twice({**SEND, "do": "send"}, entries=0, texts=1),
    "contacts/new": Twice({"phone": "0201234561"}),
    "contacts/import": Twice({}, SHEET),
    "contacts/imports/{file}": Twice({"do": "stop"}),
    "contacts/{contact}/remove": Twice({}),
    "senders": Twice({"sender": "OTHER", "mode": "sandbox"}),
    "senders/{sender}/documents": Twice({}, PDF),
    "senders/{sender}/documents/{document}": Twice({}),
    "campaigns/new": Twice({"name": "May", "sender": "AMINA", "mode": "sandbox", "message": "hi"}),
    "campaigns/new/import": Twice(
        {"name": "May", "sender": "AMINA", "mode": "sandbox", "message": "hi"}, SHEET
    ),
    "campaigns/{campaign}": Twice({"do": "cancel"}),
    "money/buy": Twice({"credits": "100", "cost_minor": "250"}),
    "connect/new": Twice({"full_name": "Esi", "phone": "0201234598", "country_code": "GH"}),
    "connect/{customer}": Twice({"credits": "5", "way": "to the customer"}),
    "keys/new": Twice({"name": "till", "mode": "sandbox", "may sms.read": "yes"}),
    "webhooks/new": Twice({"url": NOWHERE, "hears message.sent": "yes"}),
    "webhooks/{endpoint}/secret": Twice({"do": "rotate"}),
    "webhooks/{endpoint}": Twice({"do": "remove"}),
    "members": Twice({"do": "invite", "email": "kofi@example.com", "role": "viewer"}),
}
OTHERS: Final[Mapping[str, str]] = {
    "send/count": PART,
    "campaigns/new/preview": PART,
    "webhooks/new/address": PART,
    "webhooks/{endpoint}/test": "test_webhooks.py clicks it twice: both posts are one event",
    "handsets/{phone}": "test_handsets.py clicks it twice: it counts what comes again",
    "conversations/{phone}/opt-out": SAME_TWICE,
    "contacts/{contact}": SAME_TWICE,
    "contacts/tags": SAME_TWICE,
    "senders/{sender}": SAME_TWICE,
    "campaigns/{campaign}/launch": "what is launched is launched no second time",
    "campaigns/{campaign}/launch/price": "it only asks what a launch would cost",
    "money/low": SAME_TWICE,
    "keys/{key}/revoke": SAME_TWICE,
    "settings": SAME_TWICE,
}


def forms_of(portal: Portal) -> dict[str, Any]:
    """Returns the routes of forms by what stands behind the account in their paths."""
    return {
        route.path.removeprefix("/portal/accounts/{account}/"): route
        for route in of_accounts(portal)
        if "POST" in (route.methods or ())
    }


def test_each_form_is_clicked_twice_or_has_a_reason_not_to_be(portal: Portal) -> None:
    assert set(forms_of(portal)) == set(FORMS) | set(OTHERS)
    assert not set(FORMS) & set(OTHERS)


@pytest.fixture
def all_there(db: Database, amina_id: str, there: There) -> There:
    """Amina has one of each thing, credits and money, a document, and a text to answer."""
    grant(db, amina_id, 1_000)
    open_route(db)
    with db.write() as tx:
        prices.set_price(tx, "GHS", "2.50", 100)
        ledger.topup(tx, amina_id, "50", "paid", now_ms=clock.now_ms())
        waiting = senders.register(tx, amina_id, "SHOP", sandbox=False, now_ms=clock.now_ms())
        sender = senders.text_id(waiting)
        store_inbound(tx, amina_id, "hi", sender=there.phone, sandbox=True)
        paper = documents.attach(
            tx, amina_id, sender, "a.pdf", b"%PDF-1.4\n%%EOF\n", now_ms=clock.now_ms()
        )
    return there._replace(sender=sender, document=paper.text_id)


def entries_of(db: Database) -> int:
    with db.read() as tx:
        found: int = tx.execute(sa.select(sa.func.count()).select_from(audit_log)).scalar_one()
        return found


def texts_of(db: Database) -> int:
    """Returns how many texts there are, in both directions."""
    with db.read() as tx:
        return sum(
            tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in (messages, inbound)
        )


def told(answer: httpx.Response) -> tuple[int, str | None, list[str]]:
    """Returns what a reader gets of an answer: the status, where it leads, and a secret."""
    secret = re.findall(r'id="secret"[^>]*>([^<]+)<|"(sk_test_\w+)', answer.text)
    return answer.status_code, answer.headers.get("location"), [a or b for a, b in secret]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_clicked_twice_has_one_effect_and_one_answer(
    visitor: Visitor,
    portal: Portal,
    db: Database,
    home: str,
    all_there: There,
    mailbox: Mailbox,
    name: str,
) -> None:
    path, wanted = asked_of(forms_of(portal)[name], all_there).path, FORMS[name]
    visitor.get(home)
    if name == "contacts/import":  # one at a time: the other one ends first
        visitor.post(f"{home}/contacts/imports/{all_there.file}", {"do": "stop"})
    before, texts = entries_of(db), texts_of(db)
    form = {**wanted.form, "once": "of this form"}
    more = {} if wanted.files is None else {"files": wanted.files}
    first, second = visitor.post_twice(path, form, **more)
    assert first.status_code in (200, 303), first.text
    if name != "campaigns/new/import":  # its first answer is a report, and the second leads on
        assert told(first) == told(second), second.text
    assert entries_of(db) == before + wanted.entries
    assert texts_of(db) == texts + wanted.texts
    after = contents(db)
    visitor.post(path, form, **more)
    assert contents(db) == after, "and a third click does nothing either"


def test_an_invitation_is_mailed_once_by_two_clicks(
    visitor: Visitor, db: Database, home: str, mailbox: Mailbox
) -> None:
    visitor.get(f"{home}/members")
    form = {"do": "invite", "email": "kofi@example.com", "role": "viewer", "once": "x"}
    visitor.post_twice(f"{home}/members", form)
    with db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(mails)).scalar_one() == 1


def test_every_form_that_is_done_once_has_its_value_on_its_page(
    visitor: Visitor, home: str, all_there: There, mailbox: Mailbox
) -> None:
    """A page without it could not be used: its form would be refused as incomplete."""
    pages = {name for name in FORMS if name.endswith("new") or "{" not in name}
    pages |= {"webhooks/{endpoint}", "campaigns/{campaign}", "senders/{sender}/documents"}
    for name in sorted(pages - {"send", "campaigns/new/import"} | {"contacts/{contact}/remove"}):
        path = name
        for parameter, value in all_there._asdict().items():
            path = path.replace(f"{{{parameter}}}", value)
        query = "?credits=100" if name == "money/buy" else ""
        text = visitor.get(f"{home}/{path}{query}").text
        action = re.escape(f"{home}/{path}")
        forms = re.findall(
            rf'<form[^>]*method="post"[^>]*action="{action}"[^>]*>.*?</form>', text, re.S
        )
        assert forms, name
        assert all('name="once"' in form for form in forms), name
