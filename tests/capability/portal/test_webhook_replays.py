"""A span of events is delivered again, from the page of an endpoint."""

import html
import re
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS, rfc3339
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.webhooks.tables import webhook_endpoints, webhook_events, webhook_queue
from tests.support.api.service import Loop
from tests.support.capability.webhooks import endpoint, outcomes, waiting
from tests.support.portal.visitor import EMAIL, Visitor
from tests.support.portal.webhook_pages import exhaust, happens, path_of

MINUTE_MS = 60_000


def audit_entries(db: Database, account_id: str) -> list[audit_log.AuditEntry]:
    with db.read() as tx:
        return [each.entry for each in audit_log.page(tx, account_id, PageWanted(9, None))]


def made_apart(run_loop: Loop, db: Database, account_id: str, hours: Sequence[int]) -> list[str]:
    """Makes an event, and then moves the clock by so many hours, again and again. It returns their
    ids (raw), the oldest first.
    """
    for each in hours:
        run_loop(happens(db, account_id, 1))
        clock.move(by_ms=each * HOUR_MS)
    with db.read() as tx:
        return list(
            tx.execute(sa.select(webhook_events.c.id).order_by(webhook_events.c.id)).scalars()
        )


def in_lagos(hours_ago: float) -> str:
    """Returns what a browser's field says of that moment in Lagos, an hour before UTC."""
    at_ms = clock.now_ms() - round(hours_ago * HOUR_MS)
    return rfc3339(at_ms + HOUR_MS)[:16]


def test_what_waits_for_a_later_try_has_it_now(
    visitor: Visitor, run_loop: Loop, db: Database, amina_id: str, home: str
) -> None:
    made, _ = endpoint(db, amina_id)
    made_apart(run_loop, db, amina_id, (2, 0, 0))
    with db.write() as tx:
        tx.execute(webhook_queue.update().values(due_at_ms=clock.now_ms() + HOUR_MS, tries=4))
    for hours, due in ((1, 2), (24, 3)):
        visitor.get(path_of(home, made))
        since = rfc3339(clock.now_ms() - hours * HOUR_MS)  # as a link to the page would say it
        answer = visitor.post(path_of(home, made), {"do": "replay_since", "since": since})
        assert answer.status_code == 303
        with db.read() as tx:
            rows = tx.execute(sa.select(webhook_queue)).all()
        assert [row.tries for row in rows if row.due_at_ms <= clock.now_ms()] == [4] * due


def test_what_was_not_delivered_in_a_span_is_delivered_again(
    visitor: Visitor, run_loop: Loop, db: Database, amina_id: str, home: str
) -> None:
    made, _ = endpoint(db, amina_id)
    path = path_of(home, made)
    with db.write() as tx:
        accounts.change(tx, amina_id, time_zone="Africa/Lagos")
    _, between, _ = made_apart(run_loop, db, amina_id, (2, 2, 1))
    exhaust(db)
    page = visitor.get(path).text
    assert f'name="since" value="{in_lagos(24)}"' in page, "the last day is offered"
    assert "Since, Africa/Lagos" in page
    span = {"do": "replay_since", "since": in_lagos(4), "until": in_lagos(2)}
    led = visitor.post(path, span)
    assert "On its way" in visitor.get(led.headers["location"]).text
    with db.read() as tx:
        assert tx.execute(sa.select(webhook_queue.c.event_id)).scalars().all() == [between]
    assert len(outcomes(db)) == 2
    audited = audit_entries(db, amina_id)
    assert [each.action for each in audited] == ["webhook.replay_since"]
    led = visitor.post(path, span)
    assert "Nothing to deliver again in that time" in visitor.get(led.headers["location"]).text
    assert audit_entries(db, amina_id) == audited
    assert visitor.post(path, {"do": "replay_since", "since": in_lagos(6)}).status_code == 303
    assert (len(waiting(db)), outcomes(db)) == (3, []), "without an end, until now"


def test_who_has_failed_for_days_is_offered_all_of_that_time(
    at_noon: None, visitor: Visitor, run_loop: Loop, db: Database, amina_id: str, home: str
) -> None:
    made, _ = endpoint(db, amina_id)
    run_loop(happens(db, amina_id, 3))
    clock.move(by_ms=2 * MINUTE_MS)  # so late is the first attempt
    with db.write() as tx:
        failing = {"failing_since_ms": clock.now_ms()}
        tx.execute(webhook_endpoints.update().where(webhook_endpoints.c.id == made.id), failing)
    exhaust(db)
    clock.move(by_ms=3 * DAY_MS)
    visitor.sign_in(EMAIL, amina_id)
    page = visitor.get(path_of(home, made)).text
    [since] = re.findall(r'name="since" value="(.+?)"', page)
    assert visitor.post(path_of(home, made), {"do": "replay_since", "since": since})
    assert (len(waiting(db)), outcomes(db)) == (3, [])


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("since", "until", "at", "words"),
    [
        ("", "", "since", "is required"),
        ("soon", "", "since", "must be a time in RFC 3339"),
        (31 * 24, "", "since", "must be within the last 30 days: events are kept no longer"),
        (-1, "", "since", "must not be in the future"),
        (2, 2, "until", "must be later than the beginning"),
        (2, 3, "until", "must be later than the beginning"),
        (2, "<script>", "until", "must be a time in RFC 3339"),
    ],
)
def test_a_span_that_cannot_be_is_refused_at_its_field_in_the_words_of_the_use_case(
    visitor: Visitor,
    run_loop: Loop,
    db: Database,
    amina_id: str,
    home: str,
    since: float | str,
    until: float | str,
    at: str,
    words: str,
) -> None:
    made, _ = endpoint(db, amina_id)
    path = path_of(home, made)
    with db.write() as tx:
        accounts.change(tx, amina_id, time_zone="Africa/Lagos")
    run_loop(happens(db, amina_id, 3))
    exhaust(db)
    visitor.get(path)
    typed = {
        name: value if isinstance(value, str) else in_lagos(value)
        for name, value in (("since", since), ("until", until))
    }
    refused = visitor.post(path, {"do": "replay_since", **typed})
    assert refused.status_code == 400
    [told] = re.findall(rf'id="{at}-error">(.+?)<', refused.text)
    assert words in html.unescape(told)
    assert f'name="{at}" value="{html.escape(typed[at])}"' in refused.text
    assert (waiting(db), len(outcomes(db))) == ([], 3)
    assert audit_entries(db, amina_id) == []
