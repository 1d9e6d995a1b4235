"""Whatever accounts, carriers, strangers and operators have said, the pages of the console are made
of the same elements, and lead to the same places. So are the answers of its forms.
"""

import pytest

from heliograph.database.database import Database
from heliograph.portal.portal import Portal
from tests.support.console.operators import sign_in_operator
from tests.support.console.shown_things import (
    PLAIN,
    ShownThings,
    forms_of_console,
    made,
    pages_of,
    store,
)
from tests.support.portal.hostile import (
    HOSTILE,
    Form,
    active_parts_of,
    assert_inert,
    structure_of,
)
from tests.support.portal.hostile_forms import fill_all
from tests.support.portal.visitor import Visitor

# pages that lead to others, or say that what their address leaves out was not found
LEAD_ON = {
    "/console",
    "/console/alerts/recipients",
    "/console/approvals/reserved/release",
    "/console/messages",
    "/console/messages/match",
    "/console/abuse/unblock",
    "/console/phones/opt-outs/lift",
}
DECIDE = "/console/messages/in-doubt/decide"


@pytest.fixture
def things(db: Database, amina_id: str) -> ShownThings:
    return made(db, amina_id)


def test_no_text_becomes_a_part_of_a_page_of_the_console(
    visitor: Visitor, portal: Portal, db: Database, things: ShownThings
) -> None:
    sign_in_operator(visitor, db)
    plain, active, paths = {}, set[str](), pages_of(portal, things)
    of_messages = (things.message, things.queued)
    store(db, [f"{PLAIN} {k}" for k in range(len(HOSTILE))], 0)
    for path in paths:
        page = visitor.get(path)
        assert page.status_code in (200, 303), path
        assert PLAIN in page.text or path.partition("?")[0] in LEAD_ON, path
        plain[path] = structure_of(page.text)
        active |= active_parts_of(page.text)
    for shift in range(len(HOSTILE)):
        store(db, HOSTILE, shift)
        for path in paths:
            page = visitor.get(path)
            assert page.status_code in (200, 303), (path, shift)
            assert_inert(page, active, (path, shift))
            # no PDU is made of a sender that no phone could show
            is_alike = path not in {f"/console/messages/{each}" for each in of_messages}
            assert not is_alike or structure_of(page.text) == plain[path], (path, shift)


def test_no_form_of_the_console_answers_with_more_than_the_text_that_it_was_sent(
    visitor: Visitor, portal: Portal, db: Database, things: ShownThings
) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/approvals")
    of_page = {"form_token": visitor.token, "once": "", "carrier": str(things.carrier_id)}
    decide = Form("post", DECIDE, False, ["reason", things.message], {**of_page, "do": "sent"})
    went = fill_all(visitor, pages_of(portal, things), [decide])
    left = forms_of_console(portal, things) - went
    assert left == {
        f"/console/accounts/{things.account}/leave",  # nobody looks at a portal
        f"/console/messages/{things.message}/cancel",  # it is in doubt, and another one is queued
    }
