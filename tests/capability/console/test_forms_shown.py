"""A page of the console shows a form to those alone who may send it."""

import html
import re

import pytest

from heliograph import accounts
from heliograph.base import clock
from heliograph.carriers import pause_carrier
from heliograph.database.database import Database
from heliograph.senders import reserved_names
from heliograph.users import OPERATOR_RIGHTS, OperatorRight, OperatorRole
from tests.support.alerted import OPERATOR_MAIL, added
from tests.support.api.inbound_texts import store_inbound
from tests.support.console.messages import stored_message
from tests.support.console.operators import (
    account_in_sandbox,
    attached,
    opted_out,
    own_keyword,
    own_number,
    own_things,
    sign_in_operator,
    uploaded_sheet,
    waiting_sender,
)
from tests.support.console.rights import right_of_form
from tests.support.factories import PHONE, open_carrier
from tests.support.portal.visitor import Visitor

# of who looks, and of nobody's rights
OF_EVERYBODY = ("/portal/sign-out",)
FORM = re.compile(r'<form[^>]*method="post"[^>]*action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
PAGES_MIN = 30


def crawled(visitor: Visitor, *first: str) -> dict[str, set[str]]:
    """Returns which forms with a button each page has that links of these pages lead to. Each form
    has the value by which it is done once: without that it would be refused as incomplete.
    """
    left, found = [*first], dict[str, set[str]]()
    while left:
        path = left.pop()
        page = visitor.get(path)
        if page.status_code == 303:
            left.append(page.headers["location"])
        forms = {action: shown for action, shown in FORM.findall(page.text) if "<button" in shown}
        found[path] = forms.keys() - set(OF_EVERYBODY)
        assert all('name="once"' in forms[action] for action in found[path]), path
        assert page.status_code in (200, 303, 403), path
        links = map(html.unescape, re.findall(r'href="(/console[^"#]*)"', page.text))
        known = {link.partition("?")[0] for link in (*found, *left)}
        left += [link for link in dict.fromkeys(links) if link.partition("?")[0] not in known]
    return found


@pytest.mark.parametrize("role", list(OperatorRole))
def test_each_role_is_shown_the_forms_that_it_may_send_and_no_others(
    visitor: Visitor, db: Database, amina_id: str, role: OperatorRole
) -> None:
    attached(db, amina_id, waiting_sender(db, amina_id))
    account_in_sandbox(db)
    uploaded_sheet(db)
    added(db, OPERATOR_MAIL)
    message = stored_message(db, amina_id)
    open_carrier(db, "gh-main")
    own_number(db, amina_id)
    own_things(db, amina_id)
    own_keyword(db, amina_id)
    opted_out(db, amina_id, PHONE)
    with db.write() as tx:
        pause_carrier(tx, "gh-main")
        account = accounts.text_id(accounts.by_id(tx, amina_id))
        text = store_inbound(tx, amina_id)
        reserved_names.add(tx, "POSTBANK", "a bank", now_ms=clock.now_ms())
    sign_in_operator(visitor, db, role)
    release = "/console/approvals/reserved/release?sender=POSTBANK"
    of_phone = f"/console/phones?phone={PHONE}&account={account}"
    read = (f"/console/messages/{message}", f"/console/messages/inbound/{text}")
    lift = f"/console/phones/opt-outs/lift?account={account}&phone={PHONE}"
    keywords = f"/console/numbers/keywords?account={account}"
    pages = crawled(visitor, "/console/now", *read, release, of_phone, lift, keywords)
    assert len(pages) >= PAGES_MIN
    shown = {form for forms in pages.values() for form in forms}
    beyond = [form for form in shown if right_of_form(form) not in OPERATOR_RIGHTS[role]]
    assert not beyond
    # what nothing waits for has no form: messages in doubt, and the bar of a look
    missing = OPERATOR_RIGHTS[role] - {right_of_form(form) for form in shown}
    assert missing <= {OperatorRight.LOOK, OperatorRight.OPERATORS, OperatorRight.MESSAGES}
