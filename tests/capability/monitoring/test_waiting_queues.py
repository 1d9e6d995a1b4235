"""A queue that is stuck or grows is told of, with what to do about it by its cause."""

import pytest

from heliograph.base import clock
from heliograph.carriers import (
    LinkState,
    drain_carrier,
    pause_carrier,
    resume_carrier,
    routing,
)
from heliograph.carriers.manage import DOWN_MS
from heliograph.database.database import Database
from heliograph.monitoring import MeasuredQueue, Sampler, TroubleKind, situation
from heliograph.monitoring.process_figures import CarrierCounts
from tests.support.factories import open_carrier
from tests.support.monitored import bound, tell

RATE = "heliograph carrier set alpha --tps N --window N"


class Service:
    """Has the queue of the carrier `alpha` sampled, in a service that is well but for it."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.carrier_id = open_carrier(db, "alpha")
        self.sampler = Sampler()
        self.taken = 0
        self.state = LinkState.BOUND

    def waits(self, waiting: int, oldest_s: int, *, taken: int = 0, for_s: int = 10) -> None:
        """Lets so many bulk texts wait for some time, in which the carrier takes some segments."""
        for second in range(0, for_s, 10):
            clock.move(by_ms=10_000)
            self.taken += taken
            counts = CarrierCounts(self.taken, {"accepted": self.taken}, {}, 0)
            tell(self.db, 7, alpha=counts)
            bound(self.db, self.carrier_id, self.state)
            age_s = float(oldest_s - for_s + second + 10)
            measured = MeasuredQueue(waiting_bulk=waiting, oldest_bulk_s=age_s)
            with self.db.write() as tx:
                self.sampler.take(tx, {self.carrier_id: measured}, clock.now_ms())

    def said(self) -> list[str]:
        """Returns what is said of the queue, with what to do."""
        with self.db.read() as tx:
            return [
                f"{trouble.sentence} {trouble.remedy}"
                for trouble in situation(tx, clock.now_ms()).troubles
                if trouble.kind is TroubleKind.QUEUE
            ]

    def everything_said(self) -> str:
        with self.db.read() as tx:
            troubles = situation(tx, clock.now_ms()).troubles
        return "\n".join(f"{trouble.sentence} {trouble.remedy}" for trouble in troubles)


@pytest.fixture
def service(db: Database) -> Service:
    service = Service(db)
    service.waits(0, 0)  # the first sample only begins to count
    return service


def route(db: Database, *names: str) -> None:
    with db.write() as tx:
        routing.set_route(tx, "", names)


def test_a_queue_behind_a_paused_carrier_stays_told_of_until_it_is_resumed(
    db: Database, service: Service
) -> None:
    with db.write() as tx:
        pause_carrier(tx, "alpha")
    service.waits(4, 130, for_s=130)
    remedy = (
        "Resume it (heliograph carrier resume alpha), or give its route another carrier"
        " (heliograph route set)."
    )
    assert service.said() == [
        "4 texts wait for carrier alpha, and nothing is handed over to it; the oldest has waited"
        f" for 2 min. {remedy}"
    ]
    service.waits(4, 790, for_s=660)
    [said] = service.said()
    assert said.startswith("4 texts wait for carrier alpha, and nothing is handed over to it")
    assert "for 13 min." in said, "it no longer grows, and nothing has left it"
    service.waits(1, 810)
    assert "1 text waits for carrier alpha" in service.said()[0], "three were canceled"
    with db.write() as tx:
        resume_carrier(tx, "alpha")
    service.waits(0, 0, taken=1)
    assert service.said() == []


def test_what_becomes_of_texts_for_a_paused_carrier_depends_on_who_else_takes_them(
    db: Database, service: Service
) -> None:
    beta_id = open_carrier(db, "beta")
    takes, waits = "What waits for it takes the next carrier", "What waits for it goes on waiting"
    with db.write() as tx:
        pause_carrier(tx, "alpha")

    def told() -> tuple[bool, bool]:
        said = service.everything_said()
        assert "rate or window" not in said
        return takes in said, waits in said

    bound(db, beta_id)
    route(db, "alpha")
    service.waits(4, 130)
    assert told() == (False, True)
    route(db, "alpha", "beta")
    assert told() == (True, False)
    for stop in (pause_carrier, drain_carrier):
        with db.write() as tx:
            stop(tx, "beta")
        assert told() == (False, True), "beta takes nothing"
        with db.write() as tx:
            resume_carrier(tx, "beta")
        assert told() == (True, False)
    bound(db, beta_id, LinkState.BACKING_OFF)
    clock.move(by_ms=DOWN_MS)
    assert told() == (False, True), "beta is down"
    with db.write() as tx:
        routing.set_route(tx, "233", ["alpha", "simulator"])
    assert "where one takes texts, and else goes on waiting" in service.everything_said()


def test_a_queue_behind_a_carrier_that_is_down_says_what_its_connection_says(
    db: Database, service: Service
) -> None:
    service.state = LinkState.BACKING_OFF
    service.waits(4, 130)
    route(db, "alpha")
    [said] = service.said()
    assert "heliograph carrier test alpha" in said
    assert "No other carrier of its route takes texts: give it one" in said
    assert RATE not in said


def test_a_queue_of_a_bound_carrier_is_told_unless_it_shrinks(
    db: Database, service: Service
) -> None:
    service.waits(500, 310, taken=50, for_s=310)
    [said] = service.said()
    assert said.startswith("500 texts wait for carrier alpha, as many as 5 minutes ago; the oldest")
    assert RATE in said
    service.waits(400, 700, taken=50, for_s=20)
    assert service.said() == [], "it shrinks, as the carrier takes texts"
    service.waits(300, 1_100, for_s=320)
    [said] = service.said()
    assert "and it has taken none for 5 minutes" in said
    assert "see which errors it answers with" in said
    assert RATE not in said


def test_a_carrier_that_drains_is_not_given_a_route(db: Database, service: Service) -> None:
    with db.write() as tx:
        drain_carrier(tx, "alpha")
    service.waits(500, 310, taken=50, for_s=310)
    [said] = service.said()
    assert "It drains, and what waits for it still goes out" in said
    assert "add a carrier to its routes" not in said
