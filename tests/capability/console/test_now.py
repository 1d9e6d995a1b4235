"""The page Now says what is wrong, and shows carriers, processes and plots."""

import re

import pytest
import sqlalchemy as sa

from heliograph import alerts, otp
from heliograph.alerts import AlertKind
from heliograph.base import clock
from heliograph.carriers import LinkState, routing
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.messages.tables import inflight
from heliograph.monitoring import MeasuredQueue, Sampler
from heliograph.monitoring.process_figures import CarrierCounts
from heliograph.monitoring.situation import WEBHOOKS_MIN
from heliograph.users import OperatorRole
from heliograph.webhooks import endpoints
from heliograph.webhooks.tables import webhook_endpoints
from tests.support.alerted import hold, look
from tests.support.capability.webhooks import endpoint, let_wait
from tests.support.console.looked_up import page_of
from tests.support.console.operators import sign_in_operator
from tests.support.factories import grant, open_carrier
from tests.support.monitored import bound, tell
from tests.support.portal.visitor import Visitor

WELL = "Nothing is wrong."


@pytest.fixture
def carrier_id(db: Database) -> int:
    """Returns the id of a carrier that is bound, of a service that is well."""
    made = open_carrier(db, "alpha", window=10, binds=2)
    tell(db, 7)
    bound(db, made)
    return made


def sampled(db: Database, carrier_id: int) -> None:
    """Has two samples taken, ten seconds apart."""
    sampler = Sampler()
    for number in range(2):
        tell(db, 7, alpha=CarrierCounts(250 * number, {"accepted": 250 * number}, {}, 13))
        bound(db, carrier_id)
        with db.write() as tx:
            sampler.take(tx, {carrier_id: MeasuredQueue(3, 4, 5_000, 90)}, clock.now_ms())
        clock.move(by_ms=10_000)


def in_doubt(carrier_id: int) -> dict[str, object]:
    """Returns the row of a segment that a carrier has not answered for five minutes."""
    return {
        "message_id": "0" * 32,
        "part": 1,
        "parts": 1,
        "carrier_id": carrier_id,
        "worker": 0,
        "attempt": 1,
        "state": "in_doubt",
        "prefix": "",
        "expires_at_ms": 0,
        "since_ms": clock.now_ms() - 300_000,
    }


def test_what_is_wrong_leads_to_the_page_where_something_can_be_done(
    visitor: Visitor, db: Database, carrier_id: int, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    tell(db, 7)
    sampler, now_ms = Sampler(), clock.now_ms()
    with db.write() as tx:
        sampler.take(tx, {carrier_id: MeasuredQueue()}, now_ms)
        sampler.take(tx, {carrier_id: MeasuredQueue(unmatched=450)}, now_ms + 10_000)
        routing.set_route(tx, "44", ["simulator"])
        otp.block(tx, amina_id, "23320123", now_ms)
    clock.move(by_ms=10_000)
    with db.write() as tx:
        tx.execute(sa.insert(inflight).values(in_doubt(carrier_id)))
    bound(db, carrier_id, LinkState.BACKING_OFF, "Connection refused")
    page = visitor.get("/console/now").text
    troubles = page.partition('class="troubles"')[2].partition("</section>")[0]
    assert "<code>heliograph message list --in-doubt</code>" in troubles
    assert "`" not in troubles, "a command is set apart as one"
    links = dict(re.findall(r'<a href="([^"]+)">([^<]+)</a>', troubles))
    assert links == {
        "/console/carriers/alpha": "Carrier alpha",
        f"/console/messages/receipts?carrier={carrier_id}": "Receipts of alpha",
        "/console/messages/in-doubt": "Messages in doubt",
        "/console/abuse": "Abuse",
        "/console/routes": "Routes",
    }
    for path in links:
        assert visitor.get(path).status_code == 200


def test_an_endpoint_that_fails_and_one_for_which_most_events_wait_lead_to_their_pages(
    visitor: Visitor, db: Database, carrier_id: int, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    failing, waited_for = endpoint(db, amina_id)[0], endpoint(db, amina_id)[0]
    its = webhook_endpoints.c.id == failing.id
    let_wait(db, waited_for, WEBHOOKS_MIN)
    with db.write() as tx:
        tx.execute(webhook_endpoints.update().where(its).values(failing_since_ms=1))
    sampled(db, carrier_id)
    page = visitor.get("/console/now").text
    troubles = page.partition('class="troubles"')[2].partition("</section>")[0]
    assert f"most of them for {waited_for.url}." in troubles
    for each in (failing, waited_for):
        path = f"{page_of(db, amina_id)}/webhooks/{endpoints.text_id(each.id)}"
        assert f'href="{path}">Webhook endpoint of amina' in troubles
        assert visitor.get(path).status_code == 200


def test_the_console_leads_to_what_happens_now(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    assert visitor.get("/console").headers["location"] == "/console/now"


@pytest.mark.parametrize("role", list(OperatorRole))
def test_every_operator_sees_that_nothing_is_wrong(
    visitor: Visitor, db: Database, carrier_id: int, role: OperatorRole
) -> None:
    sign_in_operator(visitor, db, role)
    tell(db, 7)
    bound(db, carrier_id)
    page = visitor.get("/console/now").text
    assert WELL in page
    assert '<span class="badge bound">bound</span>' in page


def test_a_carrier_that_dies_is_told_with_what_to_do_until_it_returns(
    visitor: Visitor, db: Database, carrier_id: int
) -> None:
    sign_in_operator(visitor, db)
    bound(db, carrier_id, LinkState.BACKING_OFF, "Connection refused")
    page = visitor.get("/console/now").text
    assert WELL not in page
    assert "Carrier alpha has had no bound session" in page
    assert "heliograph carrier test alpha" in page
    bound(db, carrier_id)
    assert WELL in visitor.get("/console/now").text


def test_an_alert_that_is_open_is_among_what_is_wrong_until_it_is_well(
    visitor: Visitor, db: Database, carrier_id: int, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    hold(db, AlertKind.WALLET_LOW, 0)
    with db.write() as tx:
        alerts.watch_wallet(tx, "amina", 1_000_000)
    for _ in range(3):
        tell(db, 7)
        bound(db, carrier_id)
        look(db)
    low = "The wallet of amina is low."
    assert low in visitor.get("/console/now").text
    grant(db, amina_id, 2_000_000)
    look(db)
    assert low not in visitor.get("/console/now").text, "the alert is open yet, and all is well"


def test_carriers_processes_and_plots_are_shown(
    visitor: Visitor, db: Database, carrier_id: int
) -> None:
    sign_in_operator(visitor, db)
    sampled(db, carrier_id)
    page = visitor.get("/console/now").text
    assert re.search(r"2[45]\.\d /s", page)
    assert '13 <span class="quiet">of 20</span>' in page
    assert ' <span class="quiet">90 s</span>' in page
    assert "80 MiB" in page
    assert "50.0 GiB" in page
    assert page.count("<figure") == 6


def test_each_process_says_which_work_it_does(
    visitor: Visitor, db: Database, carrier_id: int
) -> None:
    sign_in_operator(visitor, db)
    for process_number, kind in ((8, "worker"), (9, "api"), (10, "console"), (11, "carrier")):
        tell(db, process_number, kind=kind)
    with db.write() as tx:
        tx.execute(sa.update(workers).where(workers.c.epoch == 11).values(carrier_id=carrier_id))
    alone = "carriers that have no process of their own"
    works = {7: f"{alone}, the common work", 8: alone, 9: "requests", 10: "the console"}
    assert works_shown(visitor) == works | {11: "alpha"}
    for process_number in (12, 13):
        tell(db, process_number, kind="scheduler")
    works |= {7: alone, 11: "alpha", 12: "the common work", 13: "stands by for the common work"}
    assert works_shown(visitor) == works
    tell(db, 5, kind="serve")
    with db.write() as tx:
        tx.execute(sa.delete(workers).where(workers.c.kind == "scheduler"))
    assert works_shown(visitor)[5] == "requests, all carriers, the common work"


def works_shown(visitor: Visitor) -> dict[int, str]:
    """Returns what the page says that each process serves, by its process number."""
    row = r'<span class="quiet">(\d+)</span></td>\s*<td class="wraps spans">(.*?)</td>'
    return {int(found[1]): found[2] for found in re.finditer(row, visitor.get("/console/now").text)}


def test_what_goes_before_bulk_is_not_called_one_time_passwords_alone(
    visitor: Visitor, db: Database, carrier_id: int
) -> None:
    sign_in_operator(visitor, db)
    page = visitor.get("/console/now").text
    assert '<th class="number">Priority waiting</th>' in page
    assert "one-time passwords, replies to handsets, and what is handed over again" in page


@pytest.mark.parametrize("span", ["hour", "day", "week"])
def test_plots_have_a_table_and_a_file_of_the_same_figures(
    visitor: Visitor, db: Database, carrier_id: int, span: str
) -> None:
    sign_in_operator(visitor, db)
    for number in range(62):  # ten minutes are over
        if number == 0:
            sampler = Sampler()
        with db.write() as tx:
            sampler.take(tx, {carrier_id: MeasuredQueue(waiting_bulk=42)}, clock.now_ms())
        clock.move(by_ms=10_000)
    assert f"The last {span}" in visitor.get(f"/console/now?span={span}").text
    table = visitor.get(f"/console/now/figures?span={span}").text
    file = visitor.get(f"/console/now/export?span={span}")
    assert f'filename="now-{span}.csv"' in file.headers["content-disposition"]
    first, *rows = file.text.splitlines()
    assert first.startswith("time,accepted_per_second,handed_over_per_second")
    assert rows
    assert all(row.split(",")[5] == "42" for row in rows)
    assert table.count("<tr>") == len(rows) + 1


def test_a_stuck_queue_is_told_of_once_though_its_alert_is_open(
    visitor: Visitor, db: Database, carrier_id: int
) -> None:
    sign_in_operator(visitor, db)
    hold(db, AlertKind.BACKLOG, 0)
    sampler = Sampler()
    for number in range(40):
        clock.move(by_ms=10_000)
        taken = max(0, number - 35)  # at the end the carrier takes some again
        tell(db, 7, alpha=CarrierCounts(taken, {"accepted": taken}, {}, 0))
        bound(db, carrier_id)
        measured = MeasuredQueue(waiting_bulk=4 if number < 39 else 3, oldest_bulk_s=400.0)
        with db.write() as tx:
            sampler.take(tx, {carrier_id: measured}, clock.now_ms())
        if number == 38:
            look(db)
            look(db)
            page = visitor.get("/console/now").text
            assert "4 texts wait for carrier alpha" in page
            assert "Messages wait too long" not in page
    page = visitor.get("/console/now").text
    assert "texts wait for carrier alpha" not in page, "the queue shrinks"
    assert "Messages wait too long for carrier alpha." in page, "but its alert is open"


def test_pages_say_what_will_be_seen_there_while_nothing_is(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    page = visitor.get("/console/now").text
    assert "No process is registered." in page
    assert "No sample was taken in the last hour." in page
    assert "No sample was taken" in visitor.get("/console/now/figures").text
    assert len(visitor.get("/console/now/export").text.splitlines()) == 1


def test_a_span_that_is_none_shows_the_last_hour(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    assert "The last hour" in visitor.get("/console/now?span=year").text
    assert visitor.get("/console/now?unknown=1").status_code == 400
