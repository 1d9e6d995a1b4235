"""An operator decides on what the page has shown, and on nothing that changed meanwhile."""

import pytest

from heliograph import accounts, senders
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.database.database import Database
from heliograph.senders import documents, reserved_names
from tests.support.console.operators import attached, sign_in_operator, waiting_sender
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor

CHANGED = "is not what there is now"


@pytest.mark.parametrize("form", [{"do": "approve"}, {"do": "reject", "reason": "unsigned"}])
def test_what_changed_after_the_page_was_shown_is_looked_at_first(
    visitor: Visitor, db: Database, amina_id: str, form: dict[str, str]
) -> None:
    sender = waiting_sender(db, amina_id)
    first = attached(db, amina_id, sender)
    path = f"/console/approvals/senders/{sender}"
    sign_in_operator(visitor, db)

    def refused() -> None:
        again = visitor.post(path, form)
        assert (again.status_code, CHANGED in again.text) == (400, True)
        with db.read() as tx:
            assert senders.find(tx, sender).status == "submitted"

    visitor.get(path)
    second = attached(db, amina_id, sender)
    refused()
    assert second.text_id in visitor.get(path).text
    with db.write() as tx:
        documents.detach(tx, amina_id, sender, first.text_id)
    refused()
    visitor.get(path)
    clock.move(1_000)
    with db.write() as tx:
        senders.reject(tx, senders.find(tx, sender).id, "somebody else", now_ms=clock.now_ms())
    clock.move(1_000)
    waiting_sender(db, amina_id)
    refused()
    visitor.get(path)
    assert visitor.post(path, form).status_code == 303


def test_who_decides_after_somebody_else_is_told_so(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sender = waiting_sender(db, amina_id)
    path = f"/console/approvals/senders/{sender}"
    sign_in_operator(visitor, db)
    visitor.get(path)
    with db.write() as tx:
        senders.reject(tx, senders.find(tx, sender).id, "unsigned", now_ms=clock.now_ms())
    late = visitor.post(path, {"do": "approve"})
    assert (late.status_code, CHANGED in late.text) == (400, True)


def test_nobody_decides_for_an_account_that_was_closed(visitor: Visitor, db: Database) -> None:
    chidi = open_account(db, "chidi", credits=0)
    sender = waiting_sender(db, chidi)
    path = f"/console/approvals/senders/{sender}"
    sign_in_operator(visitor, db)
    visitor.get(path)
    with db.write() as tx:
        accounts.close(tx, chidi, now_ms=clock.now_ms())
    assert visitor.post(path, {"do": "approve"}).status_code == 403
    assert "Decide" not in visitor.get(path).text
    assert "No sender ID waits" in visitor.get("/console/approvals").text


def test_what_is_registered_again_waits_since_then(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sender, first_ms = waiting_sender(db, amina_id), clock.now_ms()
    with db.write() as tx:
        senders.reject(tx, senders.find(tx, sender).id, "unsigned", now_ms=clock.now_ms())
    clock.move(by_ms=3 * DAY_MS)
    sign_in_operator(visitor, db)
    waiting_sender(db, amina_id)
    with db.read() as tx:
        last = senders.history(tx, senders.find(tx, sender).id)[0]
    listed = visitor.get("/console/approvals").text
    assert last.at_ms > first_ms
    assert f'datetime="{clock.rfc3339(last.at_ms)}"' in listed


def test_the_page_that_is_shown_anew_can_be_decided_on(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sender = waiting_sender(db, amina_id)
    path = f"/console/approvals/senders/{sender}"
    sign_in_operator(visitor, db)
    visitor.get(path)
    document = attached(db, amina_id, sender)
    visitor.page = visitor.post(path, {"do": "reject", "reason": "unsigned"})
    assert document.text_id in visitor.page.text
    assert 'value="unsigned"' in visitor.page.text, "what was typed stays"
    assert visitor.post(path, {"do": "approve"}).status_code == 303


def test_a_name_is_released_as_it_was_shown(visitor: Visitor, db: Database, amina_id: str) -> None:
    def reserve(reason: str) -> None:
        with db.write() as tx:
            reserved_names.add(tx, "MTN", reason, now_ms=clock.now_ms())

    reserve("the network's own name")
    path = "/console/approvals/reserved/release"
    form = {"sender": "MTN", "reason": "it is a shop's"}
    sign_in_operator(visitor, db)
    visitor.get(path, params={"sender": "MTN"})
    reserve("the police said so")
    late = visitor.post(path, form)
    assert (late.status_code, CHANGED in late.text) == (400, True)
    assert "the police said so" in late.text
    with db.read() as tx:
        assert reserved_names.find_reserved(tx, "MTN") is not None
    visitor.page = late
    assert visitor.post(path, form).status_code == 303
    with db.read() as tx:
        assert reserved_names.find_reserved(tx, "MTN") is None
