"""Operators see what is owed before an account can be closed, and close it for good, in the
console.
"""

import pytest

from heliograph import accounts, campaigns
from heliograph.accounts import status_history
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.database.database import Database
from heliograph.jobs import close_account
from heliograph.keys import page as keys_page
from heliograph.users import OperatorRole
from heliograph.wallet import pay_out
from heliograph.webhooks import endpoints
from heliograph.webhooks.backlogs import WAITING_COUNTED_MAX
from tests.support.capability.campaigns import add_contacts, write_down
from tests.support.capability.webhooks import endpoint, let_wait
from tests.support.console.logs import logged, told
from tests.support.console.operators import account_in_sandbox, own_number, sign_in_operator
from tests.support.factories import grant, issue_key, open_account, phones
from tests.support.portal.routes import customer_of
from tests.support.portal.visitor import Visitor

WHY = {"do": "close", "reason": "contract ended"}
PROMPT = "for good?"


def text_of(db: Database, account_id: str) -> str:
    with db.read() as tx:
        return accounts.text_id(accounts.by_id(tx, account_id))


def path_of(db: Database, account_id: str) -> str:
    """Returns the path of the page that closes an account."""
    return f"/console/accounts/{text_of(db, account_id)}/close"


@pytest.fixture
def kofi_id(db: Database) -> str:
    """Returns the raw id of an account of which nothing is owed."""
    return open_account(db, "Kofi Prints", credits=0, sender=None)


def is_closed(db: Database, account_id: str) -> bool:
    with db.read() as tx:
        return accounts.by_id(tx, account_id).closed_at_ms is not None


def test_an_account_of_which_nothing_is_owed_is_closed_with_all_that_ends_with_it(
    visitor: Visitor, db: Database, kofi_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    issue_key(db, kofi_id)
    own_number(db, kofi_id)
    endpoint(db, kofi_id)
    path = path_of(db, kofi_id)
    asked = visitor.get(path).text
    assert PROMPT in asked
    for ends in (
        "1 API key is revoked",
        "1 webhook endpoint is disabled",
        "1 number is given back",
    ):
        assert ends in asked, ends
    done = visitor.post(path, WHY)
    assert (done.status_code, done.headers["location"]) == (303, path.removesuffix("/close"))
    assert is_closed(db, kofi_id)
    with db.read() as tx:
        assert all(key.revoked_at_ms for key in keys_page(tx, limit=9, account_id=kofi_id))
        last = status_history.last(tx, kofi_id)
    assert last is not None
    assert (last.status, last.reason, last.by) == ("closed", "contract ended", "kofi@example.com")
    [entry] = logged(db)
    assert (entry.action, entry.account_id, entry.before, entry.after, entry.reason) == (
        "account.close",
        kofi_id,
        "active",
        "closed",
        "contract ended",
    )
    assert set(told(db, kofi_id)) == {"account.close", "number.remove", "number.add"}
    page = visitor.get(path).text
    assert "is closed" in page
    assert 'method="post" action="/console' not in page
    assert "Close it" not in visitor.get(path.removesuffix("/close")).text


def test_what_is_owed_is_listed_in_order_with_where_it_is_cleared(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    grant(db, amina_id, credits=7)
    customer = customer_of(db, amina_id)
    add_contacts(db, amina_id, phones(3))
    draft = write_down(db, amina_id)
    with db.write() as tx:
        campaigns.schedule(tx, draft.id, clock.now_ms() + DAY_MS)
    campaign = campaigns.text_id(draft)
    listening, _ = endpoint(db, amina_id)
    path, text_id = path_of(db, amina_id), text_of(db, amina_id)
    page = visitor.get(path).text
    assert PROMPT not in page
    in_order = [
        f"heliograph account close {text_of(db, customer)}",
        f"heliograph campaign cancel {campaign}",
        f"heliograph account pay-out {text_id}",
        f"heliograph webhook disable {endpoints.text_id(listening.id)}",
    ]
    places = [page.find(command) for command in in_order]
    assert -1 not in places
    assert places == sorted(places)
    assert f'href="{path_of(db, customer)}"' in page
    account = path.removesuffix("/close")
    assert f'href="{account}/campaigns/{campaign}"' in page
    assert f'href="{account}/webhooks/{endpoints.text_id(listening.id)}"' in page
    assert f'href="/console/money/{text_id}"' in page
    refused = visitor.post(path, WHY)
    assert refused.status_code == 400
    assert "Nothing was closed, because something is owed by now." in refused.text
    assert in_order[-1] in refused.text
    assert not is_closed(db, amina_id)
    assert list(logged(db)) == []


def test_who_may_not_pay_a_wallet_out_reads_who_may(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    grant(db, amina_id, credits=7)
    page = visitor.get(path_of(db, amina_id)).text
    assert "Somebody whose role may change money pays it out." in page
    assert "Pay its wallet out" not in page
    assert f"heliograph account pay-out {text_of(db, amina_id)}" in page


def test_of_many_events_that_wait_for_an_endpoint_a_hundred_are_counted(
    visitor: Visitor, db: Database, kofi_id: str
) -> None:
    sign_in_operator(visitor, db)
    listening, _ = endpoint(db, kofi_id)
    let_wait(db, listening, WAITING_COUNTED_MAX - 1)
    other, _ = endpoint(db, kofi_id)
    let_wait(db, other, WAITING_COUNTED_MAX + 1)
    page = visitor.get(path_of(db, kofi_id)).text
    assert f"{endpoints.text_id(listening.id)} has 99 events waiting for it" in page
    assert f"{endpoints.text_id(other.id)} has at least 100 events waiting for it" in page


def test_an_account_is_closed_once_its_wallet_is_paid_out(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    grant(db, amina_id, credits=7)
    path = path_of(db, amina_id)
    assert PROMPT not in visitor.get(path).text
    with db.write() as tx:
        pay_out.pay_out(tx, accounts.by_id(tx, amina_id), "paid back")
        accounts.suspend(tx, amina_id)
    assert PROMPT in visitor.get(path).text
    assert visitor.post(path, WHY).status_code == 303
    assert is_closed(db, amina_id)
    assert logged(db)[0].before == "suspended"


def test_a_closing_without_a_reason_is_refused(
    visitor: Visitor, db: Database, kofi_id: str
) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, kofi_id)
    visitor.get(path)
    page = visitor.post(path, {"do": "close", "reason": " "})
    assert (page.status_code, 'id="reason-error"' in page.text) == (400, True)
    assert not is_closed(db, kofi_id)


def test_an_account_that_somebody_else_has_closed_is_told_of_quietly(
    visitor: Visitor, db: Database, kofi_id: str
) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, kofi_id)
    visitor.get(path)
    with db.write() as tx:
        close_account.close(tx, kofi_id, None, "somebody else", now_ms=clock.now_ms())
    late = visitor.post(path, WHY)
    assert late.status_code == 303
    assert "That was done already" in visitor.get(late.headers["location"]).text
    assert list(logged(db)) == []


def test_of_two_who_close_an_account_at_once_one_does(
    visitor: Visitor, db: Database, kofi_id: str
) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, kofi_id)
    visitor.get(path)
    answers = visitor.post_at_once(path, [WHY, WHY], lambda tx: accounts.lock(tx, kofi_id))
    assert [answer.status_code for answer in answers] == [303, 303]
    assert told(db, kofi_id) == ["account.close"]
    assert len(logged(db)) == 1


@pytest.mark.parametrize("role", [OperatorRole.FINANCE, OperatorRole.AUDITOR])
def test_who_lacks_the_right_sees_what_is_owed_and_closes_nothing(
    visitor: Visitor, db: Database, kofi_id: str, role: OperatorRole
) -> None:
    sign_in_operator(visitor, db, role)
    path = path_of(db, kofi_id)
    page = visitor.get(path).text
    assert PROMPT in page
    assert "it does not decide" in page
    assert f'action="{path}"' not in page
    assert visitor.post(path, WHY).status_code == 403
    assert not is_closed(db, kofi_id)


def test_a_closing_takes_a_fresh_sign_in(visitor: Visitor, db: Database, kofi_id: str) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, kofi_id)
    visitor.get(path)
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in visitor.post(path, WHY).text
    assert not is_closed(db, kofi_id)


def test_an_account_of_the_sandbox_is_closed_too(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    zola = account_in_sandbox(db)
    path = path_of(db, zola)
    visitor.get(path)
    assert visitor.post(path, WHY).status_code == 303
    assert is_closed(db, zola)
