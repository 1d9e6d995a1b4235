"""Operators see how much an account may store and has stored today, and set it, in the console."""

import httpx
import pytest

from heliograph import accounts
from heliograph.accounts import audit_log, quota_sizes, quotas
from heliograph.accounts.quotas import StoredKind
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from tests.support.console.logs import LATEST, logged
from tests.support.console.operators import sign_in_operator
from tests.support.portal.routes import customer_of
from tests.support.portal.visitor import Visitor, shown_in

MB = 10**6


def path_of(db: Database, account_id: str) -> str:
    """Returns the path of an account's quotas in the console."""
    with db.read() as tx:
        text_id = accounts.text_id(accounts.by_id(tx, account_id))
    return f"/console/accounts/{text_id}/quotas"


@pytest.fixture
def path(db: Database, amina_id: str) -> str:
    return path_of(db, amina_id)


def own(db: Database, account_id: str) -> dict[str, int | None]:
    """Returns the quotas that were set for the account alone."""
    with db.read() as tx:
        found = quotas.quotas_of(tx, account_id)
    return {each.kind.value: each.octets_a_day for each in found if not each.is_default}


def change(visitor: Visitor, path: str, **form: str) -> httpx.Response:
    """Opens the page, and sends its form."""
    shown = shown_in(visitor.get(path))
    return visitor.post(path, {"shown": shown, "reason": "contract 12", **form})


def test_quotas_are_set_and_taken_back_with_what_was_before_in_the_log(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    assert change(visitor, path, logs="200MB", contacts="5GB", keys="none").status_code == 303
    assert own(db, amina_id) == {"logs": 200 * MB, "contacts": 5_000 * MB, "keys": None}
    page = visitor.get(path).text
    for shown in (
        'value="200MB"',
        'value="5GB"',
        'value="none"',
        "no limit",
        "200\u202f000\u202f000",
    ):
        assert shown in page, shown
    assert change(visitor, path, logs="default", contacts="5GB").status_code == 303
    assert own(db, amina_id) == {"contacts": 5_000 * MB}
    late, early = logged(db)
    assert (early.action, early.account_id, early.reason) == (
        "account.quotas",
        amina_id,
        "contract 12",
    )
    assert early.before == "logs: default, contacts: default, keys: default"
    assert early.after == "logs: 200MB, contacts: 5GB, keys: none"
    assert (late.before, late.after) == ("logs: 200MB, keys: none", "logs: default, keys: default")
    with db.read() as tx:
        told = [each.entry for each in audit_log.page(tx, amina_id, LATEST)]
    assert [each.action for each in told] == ["account.quotas", "account.quotas"]
    assert told[-1].detail == "logs: 200MB, contacts: 5GB, keys: none"


def test_nothing_changed_is_not_told(visitor: Visitor, db: Database, path: str) -> None:
    sign_in_operator(visitor, db)
    for _ in range(2):
        assert change(visitor, path, logs="200MB").status_code == 303
    assert len(logged(db)) == 1


@pytest.mark.judged_in_python
@pytest.mark.parametrize("wrong", ["much", "200 MB", "-1", "1.5GB", "200mb", "9999TB", "9" * 40])
def test_what_is_no_size_is_said_at_its_field_and_stays(
    visitor: Visitor, db: Database, amina_id: str, path: str, wrong: str
) -> None:
    sign_in_operator(visitor, db)
    page = change(visitor, path, logs="200MB", contacts=wrong)
    assert page.status_code == 400
    assert 'id="contacts-error"' in page.text
    assert f'value="{wrong}"' in page.text
    assert 'value="200MB"' in page.text
    assert own(db, amina_id) == {}
    assert list(logged(db)) == []


def test_a_change_without_a_reason_is_refused(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    page = change(visitor, path, logs="200MB", reason=" ")
    assert (page.status_code, 'id="reason-error"' in page.text) == (400, True)
    assert own(db, amina_id) == {}


def test_quotas_that_somebody_else_set_meanwhile_are_looked_at_first(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    shown = shown_in(visitor.get(path))
    with db.write() as tx:
        quotas.set_quotas(tx, amina_id, {StoredKind.LOGS: 300 * MB})
    form = {"shown": shown, "logs": "200MB", "reason": "contract 12"}
    page = visitor.post(path, form)
    assert page.status_code == 400
    assert "They are now logs: 300MB" in page.text
    assert 'value="200MB"' in page.text, "what was typed stays"
    assert own(db, amina_id) == {"logs": 300 * MB}
    visitor.page = page
    assert visitor.post(path, form | {"shown": shown_in(page)}).status_code == 303
    assert logged(db)[0].before == "logs: 300MB"


def test_a_customer_has_a_quota_of_keys_and_shares_the_others(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    customer = customer_of(db, amina_id)
    own_path = path_of(db, customer)
    sign_in_operator(visitor, db)
    page = visitor.get(own_path).text
    assert f'href="{path}"' in page, "it leads to the partner's"
    assert 'name="keys"' in page
    assert 'name="logs"' not in page
    assert change(visitor, own_path, keys="7MB").status_code == 303
    assert own(db, customer) == {"keys": 7 * MB}
    refused = change(visitor, own_path, logs="7MB", keys="7MB")
    assert refused.status_code == 400
    assert "is counted with its partner" in refused.text
    assert own(db, customer) == {"keys": 7 * MB}


def test_what_was_stored_today_is_shown(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    with db.write() as tx:
        quotas.charge(tx, amina_id, StoredKind.LOGS, 12_345, sandbox=False, now_ms=clock.now_ms())
    page = visitor.get(path).text
    assert "12\u202f345" in page
    assert "Your role looks at this" in page
    assert 'name="logs"' not in page


def test_a_closed_account_has_no_form(visitor: Visitor, db: Database, amina_id: str) -> None:
    sign_in_operator(visitor, db)
    with db.write() as tx:
        accounts.close(tx, amina_id, now_ms=clock.now_ms())
    page = visitor.get(path_of(db, amina_id)).text
    assert 'name="logs"' not in page
    assert "Your role" not in page


def test_nobody_sets_the_quotas_of_an_account_that_was_closed_meanwhile(
    visitor: Visitor, db: Database, amina_id: str, path: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(path)
    with db.write() as tx:
        accounts.close(tx, amina_id, now_ms=clock.now_ms())
    for logs in ("200MB", ""):
        late = visitor.post(path, {"logs": logs, "reason": "contract 12"})
        assert (late.status_code, "is not opened again" in late.text) == (403, True)
    assert (own(db, amina_id), logged(db)) == ({}, [])


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (0, "0"),
        (1, "1"),
        (1_234, "1234"),
        (200_000, "200kB"),
        (200 * MB, "200MB"),
        (None, "none"),
    ],
)
def test_a_size_is_written_as_it_is_read(octets: int | None, words: str) -> None:
    assert quota_sizes.size_in_words(octets) == words
    assert quota_sizes.read_size(words) == octets
