"""What breaks a rule for long enough is told once, and once more when it is over."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import sqlalchemy as sa
from standardwebhooks import Webhook

from heliograph import alerts
from heliograph.alerts import AlertKind, notifications
from heliograph.alerts.recipients import PURPOSE
from heliograph.alerts.rules import rule_of
from heliograph.alerts.tables import alert_recipients, alert_tellings
from heliograph.alerts.tables import alerts as alert_rows
from heliograph.base import clock
from heliograph.base.secrets import encrypt
from heliograph.carriers import LinkState, carrier_states
from heliograph.database.database import Database
from tests.support.alerted import (
    CONSOLE_URL,
    OPERATOR_MAIL,
    added,
    events,
    look,
    open_now,
    subjects,
    tell,
)
from tests.support.factories import SECRET_KEY, open_carrier
from tests.support.monitored import tell as process_tells
from tests.support.portal.mailbox import Mailbox, taking_mail
from tests.support.wire.smsc_process import repeat_until
from tests.support.wire.webhook_receiver import OK, Receiver, receiver_in_a_thread, says

HOLD_MS = 60_000  # of the rule, as it is without any setting
DOWN, OVER = "[Heliograph] Carrier alpha is down", "[Heliograph] Over: Carrier alpha is down"


@pytest.fixture
def carrier_id(db: Database) -> int:
    """Returns the id of a carrier that is bound."""
    made = open_carrier(db, "alpha")
    process_tells(db, 7)
    state(db, made)
    return made


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with taking_mail() as box:
        yield box


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiver_in_a_thread(says(OK)) as receiver:
        yield receiver


def state(db: Database, carrier_id: int, now: LinkState = LinkState.BOUND) -> None:
    with db.write() as tx:
        carrier_states.record(tx, 7, carrier_id, now, "", clock.now_ms())


def waits_for_lock(db: Database) -> None:
    """Returns when a transaction waits for what another one has locked."""
    waits = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    repeat_until(lambda: bool(_one(db, waits)), lambda: None)


def _one(db: Database, query: sa.TextClause) -> int:
    with db.read() as tx:
        return int(tx.execute(query).scalar_one())


def dies(db: Database, carrier_id: int) -> None:
    """Lets the carrier be down for so long that it is told."""
    state(db, carrier_id, LinkState.BACKING_OFF)
    look(db)
    look(db, HOLD_MS)


def returns(db: Database, carrier_id: int) -> None:
    state(db, carrier_id)
    look(db)
    look(db, HOLD_MS)


def test_a_carrier_that_dies_and_returns_is_told_once_each_by_mail_and_webhook(
    db: Database, carrier_id: int, box: Mailbox, receiver: Receiver
) -> None:
    added(db, OPERATOR_MAIL)
    secret = added(db, receiver.url()).secret
    dies(db, carrier_id)
    assert tell(db, box) == 2
    look(db, HOLD_MS)
    assert tell(db, box) == 0
    assert subjects(box) == [DOWN]
    assert "heliograph carrier test alpha" in box.got[0].get_content()
    assert f"\r\n{CONSOLE_URL}/console/alerts\r\n" in box.got[0].get_content()
    returns(db, carrier_id)
    assert tell(db, box) == 2
    look(db, HOLD_MS)
    assert tell(db, box) == 0
    assert subjects(box) == [DOWN, OVER]
    assert [event["event"] for event in events(receiver)] == ["alert.opened", "alert.over"]
    assert events(receiver)[0]["data"]["title"] == "Carrier alpha is down"
    assert open_now(db) == []
    assert secret is not None
    for head, body in zip(receiver.heads, receiver.bodies, strict=True):
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        Webhook(secret).verify(body.decode(), headers)  # as others check it


def test_what_comes_and_goes_within_the_hold_tells_nobody(
    db: Database, carrier_id: int, box: Mailbox
) -> None:
    added(db, OPERATOR_MAIL)
    for _ in range(3):
        state(db, carrier_id, LinkState.BACKING_OFF)
        look(db)
        look(db, HOLD_MS // 2)
        state(db, carrier_id)
        look(db, HOLD_MS)
    assert (open_now(db), tell(db, box)) == ([], 0)
    dies(db, carrier_id)
    for _ in range(3):
        state(db, carrier_id)
        look(db)
        look(db, HOLD_MS // 2)
        state(db, carrier_id, LinkState.BACKING_OFF)
        look(db, HOLD_MS)
    assert open_now(db) == ["Carrier alpha is down"]
    tell(db, box)
    assert subjects(box) == [DOWN]


def test_two_processes_that_look_and_take_at_once_tell_once(
    postgresql_url: str, box: Mailbox
) -> None:
    with closing(Database(postgresql_url)) as db, ThreadPoolExecutor(1) as other:
        carrier_id = open_carrier(db, "alpha")
        process_tells(db, 7)
        added(db, OPERATOR_MAIL)
        state(db, carrier_id, LinkState.BACKING_OFF)
        look(db)
        clock.move(by_ms=HOLD_MS)
        with db.read() as tx:
            seen = alerts.find_breaches(tx, clock.now_ms())
        with db.write() as tx:
            alerts.store_found(tx, seen, clock.now_ms())
            looks = other.submit(look, db)
            waits_for_lock(db)
        looks.result()
        with db.write() as tx, db.write() as beside:
            taken = notifications.take_due(tx, SECRET_KEY, clock.now_ms())
            assert notifications.take_due(beside, SECRET_KEY, clock.now_ms()) == []
        assert len(taken) == 1


def test_a_mail_server_that_is_out_is_tried_again_and_the_end_waits_for_the_beginning(
    db: Database, carrier_id: int, box: Mailbox
) -> None:
    recipient = added(db, OPERATOR_MAIL).recipient
    box.is_out = True
    dies(db, carrier_id)
    assert tell(db, box) == 0
    clock.move(by_ms=HOLD_MS)
    assert tell(db, box) == 0  # the third try is two minutes later
    with db.read() as tx:
        failed = alerts.last_notifications(tx, [recipient.id])[recipient.id]
    assert failed.told_at_ms is None
    assert "451" in (failed.failure or "")
    state(db, carrier_id)
    look(db)
    box.is_out = False
    look(db, HOLD_MS)
    assert open_now(db) == []
    assert tell(db, box) == 0
    clock.move(by_ms=HOLD_MS)
    assert [tell(db, box), tell(db, box)] == [1, 1]
    assert subjects(box) == [DOWN, OVER]


def test_what_nobody_could_be_told_is_given_up_after_two_hours(
    db: Database, carrier_id: int, box: Mailbox
) -> None:
    added(db, OPERATOR_MAIL)
    box.is_out = True
    dies(db, carrier_id)
    for _ in range(20):
        tell(db, box)
        clock.move(by_ms=3_600_000)
    with db.read() as tx:
        row = tx.execute(sa.select(alert_tellings)).one()
    assert (row.tries, row.due_at_ms, row.told_at_ms) == (8, None, None)


def test_who_is_removed_is_told_nothing_more(db: Database, carrier_id: int, box: Mailbox) -> None:
    recipient = added(db, OPERATOR_MAIL).recipient
    dies(db, carrier_id)
    with db.write() as tx:
        alerts.remove_recipient(tx, recipient.text_id)
    assert tell(db, box) == 0
    assert box.got == []


def test_who_is_added_later_is_not_told_the_end_of_what_began_before(
    db: Database, carrier_id: int, box: Mailbox
) -> None:
    dies(db, carrier_id)
    added(db, OPERATOR_MAIL)
    returns(db, carrier_id)
    assert tell(db, box) == 0


def test_a_rule_that_is_turned_off_ends_its_alerts(db: Database, carrier_id: int) -> None:
    dies(db, carrier_id)
    with db.write() as tx:
        alerts.set_rule(tx, rule_of(tx, AlertKind.CARRIER_DOWN)._replace(is_on=False))
    look(db)
    look(db, HOLD_MS)
    assert open_now(db) == []
    with db.read() as tx:
        assert tx.execute(sa.select(alert_rows.c.over_at_ms)).scalar_one() is not None


def test_a_secret_that_cannot_be_read_keeps_no_other_recipient_back(
    db: Database, carrier_id: int, receiver: Receiver
) -> None:
    """Both are taken together: the one that cannot be read comes first."""
    lost = added(db, "https://hooks.example/lost").recipient
    clock.move(by_ms=1)
    added(db, receiver.url())
    with db.write() as tx:
        other_key = encrypt("t" * 32, PURPOSE, "whsec_lost")
        tx.execute(
            alert_recipients.update()
            .where(alert_recipients.c.id == lost.id)
            .values(secret=other_key)
        )
    dies(db, carrier_id)
    assert tell(db) == 1
    assert [event["event"] for event in events(receiver)] == ["alert.opened"]
    with db.read() as tx:
        failure = alerts.last_notifications(tx, [lost.id])[lost.id].failure
    assert failure is not None
    assert "secret" in failure
