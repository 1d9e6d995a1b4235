"""Operators see in the console what becomes of an account's webhooks, and stop an endpoint."""

import pytest

from heliograph import accounts
from heliograph.base import clock, ids
from heliograph.base.clock import HOUR_MS
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from heliograph.webhooks import backlogs, endpoints
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.states import FAILING
from heliograph.webhooks.tables import webhook_attempts, webhook_endpoints
from tests.support.capability.webhooks import endpoint, let_wait
from tests.support.console.logs import logged, told
from tests.support.console.looked_up import page_of
from tests.support.console.operators import sign_in_operator
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor

X = {"reason": "it answers nobody"}


@pytest.fixture
def listening(db: Database, amina_id: str) -> WebhookEndpoint:
    """Returns an endpoint of amina's."""
    return endpoint(db, amina_id)[0]


def path_of(db: Database, each: WebhookEndpoint) -> str:
    return f"{page_of(db, each.account_id)}/webhooks/{endpoints.text_id(each.id)}"


def now(db: Database, each: WebhookEndpoint) -> WebhookEndpoint:
    with db.read() as tx:
        return endpoints.endpoint_of(tx, endpoints.text_id(each.id))


def let_fail(db: Database, each: WebhookEndpoint, **values: object) -> None:
    """Says that an endpoint has met nothing but failures for two hours, the last one of them 503,
    with an answer that repeats a number.
    """
    now_ms = clock.now_ms()
    since = {"failing_since_ms": now_ms - 2 * HOUR_MS, **values}
    with db.write() as tx:
        tx.execute(
            webhook_endpoints.update().where(webhook_endpoints.c.id == each.id).values(since)
        )
        tx.execute(
            webhook_attempts.insert().values(
                {
                    "id": ids.raw_of_number(ids.new_number(now_ms)),
                    "endpoint_id": each.id,
                    "event_id": ids.raw_of_number(ids.new_number(now_ms)),
                    "try": 3,
                    "status": 503,
                    "reason": "status",
                    "took_ms": 1_234,
                    "answer": "no such customer: 233201234567",
                }
            )
        )


def test_an_endpoint_that_fails_is_shown_with_why_and_what_waits_and_is_stopped(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    let_fail(db, listening)
    let_wait(db, listening, 7)
    account, path = page_of(db, listening.account_id), path_of(db, listening)
    assert f'href="{account}/webhooks"' in visitor.get(account).text
    listed = visitor.get(f"{account}/webhooks").text
    assert f'href="{path}">{listening.url}<' in listed
    assert "nothing but failures, the first" in listed
    assert 'data-name="Events wait">7<' in listed
    page = visitor.get(path).text
    assert '<td class="number ends">503</td>' in page
    assert "1\u202f234 ms" in page
    assert "233201234567" not in page, "an answer may repeat what the event has told"
    for do, action in (("disable", "disabled"), ("enable", "enabled")):
        visitor.get(path)
        done = visitor.post(path, {"do": do, **X})
        assert (done.status_code, done.headers["location"]) == (303, path)
        assert f'class="badge {action}"' in visitor.get(path).text
    late, early = logged(db)
    assert (early.action, early.record, early.before, early.after, early.reason) == (
        "webhook.disable",
        endpoints.text_id(listening.id),
        f"enabled: it fails, {listening.url}",
        "disabled: by hand",
        "it answers nobody",
    )
    assert (late.action, late.after) == ("webhook.enable", "enabled")
    assert told(db, listening.account_id) == ["webhook.enable", "webhook.disable"]


def test_an_endpoint_is_removed_and_a_second_removal_is_quiet(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, listening)
    visitor.get(path)
    for words in ("Removed", "That was removed already"):
        done = visitor.post(path, {"do": "remove", **X})
        assert done.status_code == 303
        page = visitor.get(done.headers["location"]).text
        assert words in page
        assert "It has no webhook endpoint." in page
    assert visitor.get(path).status_code == 404
    [entry] = logged(db)
    before = f"enabled, {listening.url}"
    assert (entry.action, entry.before, entry.after) == ("webhook.remove", before, None)
    refused = visitor.post(path, {"do": "disable", **X})
    assert refused.status_code == 404


def test_the_query_of_an_address_stands_on_no_page_and_in_no_log(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    sign_in_operator(visitor, db)
    address = listening.url.partition("?")[0]
    with db.write() as tx:
        is_it = webhook_endpoints.c.id == listening.id
        values = {"url": f"{address}?token=s3cr3t"}
        tx.execute(webhook_endpoints.update().where(is_it).values(values))
    account, path = page_of(db, listening.account_id), path_of(db, listening)
    for page in (account, f"{account}/webhooks", path):
        text = visitor.get(page).text
        assert (f"{address}?…" in text, "s3cr3t" in text) == (True, False), page
    visitor.post(path, {"do": "remove", **X})
    [entry] = logged(db)
    assert entry.before == f"enabled, {address}?…"


def test_what_is_so_already_is_told_of_quietly(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, listening)
    visitor.get(path)
    sent = [{"do": "disable", **X}] * 2
    answers = visitor.post_at_once(path, sent, lambda tx: accounts.lock(tx, listening.account_id))
    assert [answer.status_code for answer in answers] == [303, 303]
    assert len(logged(db)) == 1
    late = visitor.post(path, sent[0])
    assert "That was done already" in visitor.get(late.headers["location"]).text
    assert len(logged(db)) == 1


def test_one_that_has_disabled_itself_says_why(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    sign_in_operator(visitor, db)
    let_fail(
        db, listening, failing_since_ms=None, disabled_at_ms=clock.now_ms(), disabled_reason=FAILING
    )
    page = visitor.get(path_of(db, listening)).text
    assert "it met nothing but failures for 5 days" in page
    assert "Enable the endpoint" in page
    assert "Disable the endpoint" not in page


def test_an_endpoint_of_a_closed_account_is_not_enabled(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    chidi = open_account(db, "chidi", sender=None)
    each, _ = endpoint(db, chidi)
    visitor.get(path_of(db, each))
    with db.write() as tx:
        endpoints.disable(tx, endpoints.text_id(each.id), now_ms=clock.now_ms())
        accounts.close(tx, chidi, now_ms=clock.now_ms())
    refused = visitor.post(path_of(db, each), {"do": "enable", **X})
    assert (refused.status_code, "closed" in refused.text) == (403, True)
    assert "Enable the endpoint" not in visitor.get(path_of(db, each)).text
    assert now(db, each).disabled_at_ms is not None


def test_an_endpoint_of_another_account_is_not_found_there(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    sign_in_operator(visitor, db)
    chidi = page_of(db, open_account(db, "chidi"))
    path = f"{chidi}/webhooks/{endpoints.text_id(listening.id)}"
    visitor.get(chidi)
    assert visitor.get(path).status_code == 404
    assert visitor.post(path, {"do": "disable", **X}).status_code == 404
    assert now(db, listening).disabled_at_ms is None


@pytest.mark.judged_in_python
def test_who_lacks_the_right_sees_an_endpoint_and_stops_none(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    path = path_of(db, listening)
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    assert f'action="{path}"' not in visitor.get(path).text
    assert visitor.post(path, {"do": "disable", **X}).status_code == 403
    assert now(db, listening).disabled_at_ms is None


@pytest.mark.judged_in_python
def test_an_endpoint_is_stopped_with_a_reason_and_a_fresh_sign_in(
    visitor: Visitor, db: Database, listening: WebhookEndpoint
) -> None:
    path = path_of(db, listening)
    sign_in_operator(visitor, db)
    visitor.get(path)
    page = visitor.post(path, {"do": "disable", "reason": ""})
    assert (page.status_code, page.text.count('id="reason-error"')) == (400, 1)
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in visitor.post(path, {"do": "disable", **X}).text
    assert now(db, listening).disabled_at_ms is None


def test_no_more_events_are_counted_than_the_page_says(
    db: Database, listening: WebhookEndpoint, amina_id: str
) -> None:
    other, _ = endpoint(db, amina_id)
    with db.read() as tx:
        assert backlogs.most_waited_for(tx) is None
    let_wait(db, other, 3)
    let_wait(db, listening, backlogs.WAITING_COUNTED_MAX + 1)
    with db.read() as tx:
        assert backlogs.waiting(tx, [other.id, listening.id]) == {
            other.id: 3,
            listening.id: backlogs.WAITING_COUNTED_MAX,
        }
        assert backlogs.most_waited_for(tx) == listening
    with db.write() as tx:
        endpoints.remove(tx, endpoints.text_id(listening.id), now_ms=clock.now_ms())
        assert backlogs.most_waited_for(tx) == other, "one that was removed is shown to nobody"
