"""The request log in the portal lists what requests were answered, with filters."""

import pytest

from heliograph import keys, requests
from heliograph.api.api import new_request_id
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.requests import LoggedRequest
from heliograph.requests.request_log import FAILURES_MAX
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor


def note(
    db: Database, account_id: str, status: int, *, sandbox: bool = False, key_id: str = "0" * 32
) -> str:
    """Stores a request as the API does, and returns its request id."""
    request_id = new_request_id()
    with db.write() as tx:
        requests.store_requests(
            tx,
            [
                LoggedRequest(
                    request_id.removeprefix("req_"),
                    account_id,
                    key_id=key_id,
                    sandbox=sandbox,
                    method="POST",
                    endpoint="/sms/send",
                    http_status=status,
                    code="INVALID_REQUEST" if status >= 400 else None,
                    reason="no_valid_recipient" if status >= 400 else None,
                    took_ms=12,
                )
            ],
        )
    return request_id


def test_requests_are_found_by_outcome_by_mode_and_by_id(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    failed, succeeded = note(db, amina_id, 400), note(db, amina_id, 200)
    in_sandbox = note(db, amina_id, 400, sandbox=True)
    foreign = note(db, open_account(db, "chidi"), 400)
    seen = {
        query: {
            request_id
            for request_id in (failed, succeeded, in_sandbox, foreign)
            if f">{request_id}<" in visitor.get(f"{home}/requests{query}").text
        }
        for query in (
            "",
            "?show=failures",
            "?show=successes",
            "?mode=sandbox",
            f"?id={failed}",
            f"?id={foreign}",
        )
    }
    assert list(seen.values()) == [
        {failed, succeeded},
        {failed},
        {succeeded},
        {in_sandbox},
        {failed},
        set(),
    ]


def test_the_page_says_how_many_failures_are_kept(visitor: Visitor, home: str) -> None:
    assert FAILURES_MAX == 5
    assert "failures, at most five a second," in visitor.get(f"{home}/requests").text


def test_the_oldest_of_many_keys_is_named(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        oldest, *_ = [
            keys.issue(
                tx,
                amina_id,
                name=f"shop {number}",
                sandbox=False,
                tier="standard",
                permissions=["all"],
                now_ms=clock.now_ms(),
            ).record.id
            for number in range(1_001)
        ]
    note(db, amina_id, 400, key_id=oldest)
    assert ">shop 0</td>" in visitor.get(f"{home}/requests").text


def test_a_long_log_has_pages(visitor: Visitor, db: Database, amina_id: str, home: str) -> None:
    noted = [note(db, amina_id, 400) for _ in range(5)]
    pages = [page.text for page in visitor.pages(f"{home}/requests?show=failures&limit=2")]
    assert [sum(f">{each}<" in page for each in noted) for page in pages] == [2, 2, 1]


@pytest.mark.judged_in_python
@pytest.mark.parametrize("query", ["?id=12", "?show=all", "?mode=test"])
def test_a_query_that_is_wrong_says_so_at_its_field(
    visitor: Visitor, home: str, query: str
) -> None:
    answer = visitor.get(f"{home}/requests{query}")
    assert answer.status_code == 400
    assert 'aria-invalid="true"' in answer.text
    assert "must be" in answer.text
