"""What is decided already is not decided again, and the logs do not tell of it twice."""

import pytest

from heliograph import accounts, senders, users
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from tests.support.console.operators import account_in_sandbox, sign_in_operator, waiting_sender
from tests.support.portal.visitor import Visitor

LOOKED_AT = PageWanted(9, None)


@pytest.mark.parametrize(
    ("form", "action"),
    [
        ({"do": "approve"}, "sender.approve"),
        ({"do": "reject", "reason": "a letter is missing"}, "sender.reject"),
        ({"do": "suspend", "reason": "complaints"}, "sender.suspend"),
        ({"do": "suspend", "reason": "invoice 17"}, "account.suspend"),
        ({"reason": "contract signed"}, "account.go_live"),
    ],
)
def test_a_decision_that_is_sent_twice_is_told_of_once(
    visitor: Visitor, db: Database, amina_id: str, form: dict[str, str], action: str
) -> None:
    account_id = account_in_sandbox(db) if action == "account.go_live" else amina_id
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, account_id))
    sender = waiting_sender(db, amina_id)
    if action == "sender.suspend":
        with db.write() as tx:
            senders.approve(tx, senders.find(tx, sender).id, now_ms=clock.now_ms())
    path = {
        "account.suspend": f"/console/accounts/{account}",
        "account.go_live": f"/console/approvals/accounts/{account}",
    }.get(action) or f"/console/approvals/senders/{sender}"
    sign_in_operator(visitor, db)
    visitor.get(path)
    for _ in range(2):
        assert visitor.post(path, form).status_code == 303
    with db.read() as tx:
        told = audit_log.page(tx, account_id, LOOKED_AT)
        logged = users.operator_entries(tx, LOOKED_AT)
    assert [each.entry.action for each in told] == [action]
    assert [each.entry.action for each in logged] == [action]
