"""Where nothing is handed over to the carrier that a text would go to, the answer says so, and what
happens then.
"""

import pytest

from heliograph import carriers
from heliograph.base import clock
from heliograph.carriers import LinkState, carrier_states, routing
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.messages.accept import look_up_route, route_in_words
from heliograph.text import parse_phone
from tests.support.factories import PHONE, open_carrier

PROCESS_NUMBER = 1
WOULD_GO = f"A text to {PHONE} would go to"
FAILED = "cannot connect: [Errno 111] Connection refused"


@pytest.fixture(autouse=True)
def process(db: Database) -> None:
    with db.write() as tx:
        row = {"epoch": PROCESS_NUMBER, "kind": "carrier", "started_at_ms": clock.now_ms()}
        tx.execute(workers.insert().values(row))


def one_that_is(db: Database, name: str, state: LinkState, *, since_s: int = 0) -> str:
    """Opens a carrier that is in this state since so many seconds, and returns its name."""
    carrier_id = open_carrier(db, name, prefix=None)
    began_ms = clock.now_ms() - since_s * 1000
    detail = FAILED if state is LinkState.BACKING_OFF else ""
    with db.write() as tx:
        for each, text in ((LinkState.BOUND, ""), (state, detail)):
            carrier_states.record(tx, PROCESS_NUMBER, carrier_id, each, text, began_ms)
    return name


def told(db: Database, *route: str) -> list[str]:
    """Returns the sentences about a text, where this is the only route."""
    phone = parse_phone(PHONE)
    assert phone is not None
    with db.write() as tx:
        routing.set_route(tx, "", route)
    with db.read() as tx:
        found = look_up_route(tx, phone, None, now_ms=clock.now_ms())
        return route_in_words(phone, None, found, carrier_states.served_carriers(tx))


def test_of_carriers_that_work_nothing_more_is_said(db: Database) -> None:
    first, second = (one_that_is(db, name, LinkState.BOUND) for name in ("gh-main", "gh-spare"))
    assert told(db, first, second) == [
        f"{WOULD_GO} gh-main, and cost 1 credit a segment.",
        "The route for all other numbers decides: it tries gh-main, then gh-spare.",
        "The general rate for all other destinations is 1 credit.",
    ]


def test_a_text_waits_for_a_carrier_that_is_paused_where_no_other_takes_it(db: Database) -> None:
    only = one_that_is(db, "gh-main", LinkState.BOUND)
    with db.write() as tx:
        carriers.pause_carrier(tx, only)
    assert told(db, only)[:3] == [
        f"{WOULD_GO} gh-main, and cost 1 credit a segment.",
        "At the moment gh-main is paused, so nothing is handed over to it.",
        "The text waits until that is over, or until its validity ends.",
    ]
    down = one_that_is(db, "gh-spare", LinkState.BACKING_OFF, since_s=90)
    assert told(db, only, down)[1:5] == [
        "At the moment gh-main is paused, so nothing is handed over to it.",
        "No other carrier of the route is up, so the text waits until one is, or until its validity"
        " ends.",
        "The route for all other numbers decides: it tries gh-main, then gh-spare.",
        f"gh-spare has been down for a minute or longer (backing off: {FAILED}).",
    ]


def test_a_paused_carrier_is_passed_over_while_another_one_is_up(db: Database) -> None:
    first, second = (one_that_is(db, name, LinkState.BOUND) for name in ("gh-main", "gh-spare"))
    with db.write() as tx:
        carriers.pause_carrier(tx, first)
    assert told(db, first, second)[:3] == [
        f"{WOULD_GO} gh-spare, and cost 1 credit a segment.",
        "The route for all other numbers decides: it tries gh-main, then gh-spare.",
        "gh-main is paused, so nothing is handed over to it.",
    ]


def test_a_carrier_that_is_not_bound_has_a_minute_until_the_next_ones_take_its_texts(
    db: Database,
) -> None:
    first = one_that_is(db, "gh-main", LinkState.BACKING_OFF, since_s=20)
    others = [one_that_is(db, name, LinkState.BOUND) for name in ("gh-a", "gh-b")]
    assert told(db, first, *others)[:3] == [
        f"{WOULD_GO} gh-main, and cost 1 credit a segment.",
        f"At the moment gh-main is not bound (backing off: {FAILED}).",
        "The text waits. Once gh-main has been down for a minute, gh-a takes it.",
    ]
    shared = told(db, *(f"{name}:1" for name in (first, *others)))
    condition = f"gh-main is not bound (backing off: {FAILED})."
    assert sum(condition in sentence for sentence in shared) == 1, "whichever carrier is named"


def test_a_carrier_that_nobody_serves_is_told(db: Database) -> None:
    only = one_that_is(db, "gh-main", LinkState.CLOSED)
    assert told(db, only)[1:3] == [
        "At the moment gh-main is not bound, because no process serves it.",
        "The text waits until that is over, or until its validity ends.",
    ]


def test_a_process_that_died_serves_no_carrier(db: Database) -> None:
    only = one_that_is(db, "gh-main", LinkState.BOUND)
    with db.write() as tx:
        tx.execute(workers.delete())
    assert "no process serves it" in told(db, only)[1]


def test_where_all_carriers_drain_a_text_is_refused_and_it_is_said_until_when(
    db: Database,
) -> None:
    only = one_that_is(db, "gh-main", LinkState.BOUND)
    with db.write() as tx:
        carriers.drain_carrier(tx, only)
    assert told(db, only)[:4] == [
        f"A text to {PHONE} would be refused with no_route.",
        "The route for all other numbers decides: it tries gh-main.",
        "gh-main drains, so it takes no new messages.",
        "As all of its carriers drain, texts are refused until one is resumed.",
    ]
