"""An operator decides on what the page has shown, and on nothing that changed meanwhile."""

import pytest

from heliograph import senders
from heliograph.base import clock
from heliograph.database.database import Database
from tests.support.console.operators import attached, come_in, waiting_sender
from tests.support.portal.visitor import Visitor

CHANGED = "is not what there is now"


@pytest.mark.parametrize("form", [{"do": "approve"}, {"do": "reject", "reason": "unsigned"}])
def test_what_changed_after_the_page_was_shown_is_looked_at_first(
    visitor: Visitor, db: Database, amina: str, form: dict[str, str]
) -> None:
    sender = waiting_sender(db, amina)
    first = attached(db, amina, sender)
    path = f"/console/approvals/senders/{sender}"
    come_in(visitor, db)

    def refused() -> None:
        again = visitor.post(path, form)
        assert (again.status_code, CHANGED in again.text) == (400, True)
        with db.read() as tx:
            assert senders.find(tx, sender).status == "submitted"

    visitor.get(path)
    second = attached(db, amina, sender)
    refused()
    assert second.text_id in visitor.get(path).text
    with db.write() as tx:
        senders.detach(tx, amina, sender, first.text_id)
    refused()
    visitor.get(path)
    clock.move(1_000)
    with db.write() as tx:
        senders.reject(tx, senders.find(tx, sender).id, "somebody else", now_ms=clock.now_ms())
    clock.move(1_000)
    waiting_sender(db, amina)
    refused()
    visitor.get(path)
    assert visitor.post(path, form).status_code == 303


def test_the_page_that_is_shown_anew_can_be_decided_on(
    visitor: Visitor, db: Database, amina: str
) -> None:
    sender = waiting_sender(db, amina)
    path = f"/console/approvals/senders/{sender}"
    come_in(visitor, db)
    visitor.get(path)
    document = attached(db, amina, sender)
    visitor.page = visitor.post(path, {"do": "reject", "reason": "unsigned"})
    assert document.text_id in visitor.page.text
    assert 'value="unsigned"' in visitor.page.text, "what was typed stays"
    assert visitor.post(path, {"do": "approve"}).status_code == 303
