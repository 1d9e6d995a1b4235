"""The request log keeps what requests were answered, up to limits, and without anything that is
secret.
"""

import time
from collections import Counter

import pytest
import sqlalchemy as sa

from heliograph import requests
from heliograph.base.paging import PageWanted
from heliograph.keys import Principal
from heliograph.requests import LoggedRequest, RequestEnd, RequestFilter, RequestLog
from heliograph.requests.request_log import FAILURES_MAX, OTHERS_MAX, REQUESTS_MAX, SAMPLE_MAX
from heliograph.requests.tables import request_log
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Service

STORED_WITHIN_S = 10


def logged(api: Service, who: Actor, failed: bool | None = None) -> list[LoggedRequest]:
    with api.db.read() as tx:
        return requests.requests_page(
            tx, who.account_id, RequestFilter(failed), PageWanted(100, None), sandbox=False
        )


def wait_for(
    api: Service, who: Actor, count: int, failed: bool | None = None
) -> list[LoggedRequest]:
    until_s = time.monotonic() + STORED_WITHIN_S
    while len(found := logged(api, who, failed)) < count:
        assert time.monotonic() < until_s, found
        time.sleep(0.05)
    return found


def test_a_failure_is_found_with_its_error_and_the_id_that_its_answer_had(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    refused = api.post(
        amina, "/sms/send", {"sender": "AMINA", "message": "hello", "recipients": ["12"]}
    )
    nowhere = api.get(amina, "/nowhere/233201234567")
    found = wait_for(api, amina, 2, failed=True)
    assert [
        (each.method, each.endpoint, each.http_status, each.code, each.reason) for each in found
    ] == [
        ("GET", "unknown", 404, "NOT_FOUND", "no_such_path"),
        ("POST", "/sms/send", 400, "INVALID_REQUEST", "no_valid_recipient"),
    ]
    assert [requests.text_id(each) for each in found] == [
        reply.headers["x-request-id"] for reply in (nowhere, refused)
    ]
    assert logged(api, chidi) == []


def test_a_success_is_kept_as_a_sample_and_is_no_failure(api: Service, amina: Actor) -> None:
    for _ in range(20):
        api.get(amina, "/balance")
    found = wait_for(api, amina, 1)
    assert {(each.endpoint, each.http_status, each.code) for each in found} == {
        ("/balance", 200, None)
    }
    assert len(found) < 20
    assert logged(api, amina, failed=True) == []


def test_neither_keys_nor_bodies_nor_numbers_are_kept(api: Service, amina: Actor) -> None:
    api.post(amina, "/otp/verify", {"phone": PHONE, "code": "424242"})
    api.get(amina, f"/messages/{PHONE}")
    wait_for(api, amina, 2)
    with api.db.read() as tx:
        stored = str(tx.execute(sa.select(request_log)).all())
    for secret in (amina.key(), PHONE, "424242"):
        assert secret not in stored


@pytest.mark.parametrize(
    ("status", "most", "together"),
    [(429, FAILURES_MAX, REQUESTS_MAX), (200, OTHERS_MAX, SAMPLE_MAX)],
    ids=["failures", "successes"],
)
def test_no_account_and_not_all_together_fill_the_log(
    status: int, most: int, together: int
) -> None:
    log = RequestLog()
    accounts = [f"{number:032x}" for number in range(REQUESTS_MAX + 1)]
    for account_id in accounts[:3] * 50:
        log.note(_who(account_id), f"req_{0:032x}", "GET", "/balance", RequestEnd(status), 0.001)
    assert set(Counter(each.account_id for each in log.take_all()).values()) == {most}
    for account_id in accounts:
        log.note(_who(account_id), f"req_{0:032x}", "GET", "/balance", RequestEnd(status), 0.001)
    assert len(log.take_all()) == together
    assert log.take_all() == []
    for status_of, account_id in ((200, accounts[0]), (400, accounts[1])):
        log.note(_who(account_id), f"req_{0:032x}", "GET", "/", RequestEnd(status_of), 0.001)
    assert [each.http_status for each in log.take_all()] == [200, 400]


def test_successes_leave_room_for_failures() -> None:
    log = RequestLog()
    for number in range(REQUESTS_MAX):
        log.note(_who(f"{number:032x}"), f"req_{0:032x}", "GET", "/", RequestEnd(200), 0.001)
    log.note(_who("0" * 32), f"req_{0:032x}", "GET", "/", RequestEnd(400), 0.001)
    assert Counter(each.http_status for each in log.take_all()) == {200: SAMPLE_MAX, 400: 1}


def test_what_the_rate_limit_refused_takes_no_place_of_other_failures() -> None:
    log, who = RequestLog(), _who("0" * 32)
    for status, reason in ((429, "rate_limited"), (429, "otp_too_soon"), (400, "invalid_field")):
        log.note(who, f"req_{0:032x}", "GET", "/balance", RequestEnd(status, "X", reason), 0.001)
    assert [each.reason for each in log.take_all()] == ["otp_too_soon", "invalid_field"]


def _who(account_id: str) -> Principal:
    return Principal(
        key_id="0" * 32,
        account_id=account_id,
        sandbox=False,
        permissions=frozenset(),
        per_minute=10,
        expires_at_ms=None,
        key_prefix="sk_live_0000",
        suspended=False,
        is_customer=False,
        country_code="GH",
    )
