"""The operator sets routes and rates."""

import pytest
import sqlalchemy as sa

from heliograph import carriers
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.carriers import GENERAL, SIMULATOR_ID, current_rates, routing
from heliograph.carriers.tables import routes
from heliograph.database.database import Database
from tests.support.capability.cast import NOW_MS, epoch


def add(db: Database, name: str) -> int:
    with db.write() as tx:
        settings = {"host": "127.0.0.1", "port": 2775, "system_id": "amina"}
        return carriers.add_carrier(
            tx, name, settings, "secret", secret_key="s" * 32, now_ms=NOW_MS
        ).id


def test_a_route_is_set_replaced_and_removed(db: Database) -> None:
    mtn = add(db, "mtn")
    before = epoch(db)
    with db.write() as tx:
        routing.set_route(tx, "", ["simulator"])
        routing.set_route(tx, "233", ["simulator"])
        assert routing.set_route(tx, "233", ["mtn", "simulator"]) == routing.Route(
            "233", (mtn, SIMULATOR_ID)
        )
        assert routing.all_routes(tx) == [
            routing.Route("", (SIMULATOR_ID,)),
            routing.Route("233", (mtn, SIMULATOR_ID)),
        ]
        routing.remove_route(tx, "233")
        assert routing.all_routes(tx) == [routing.Route("", (SIMULATOR_ID,))]
        with pytest.raises(NotFound):
            routing.remove_route(tx, "233")
    assert epoch(db) >= before + 4


def test_new_messages_pass_a_draining_carrier_by_and_do_not_fall_to_a_shorter_prefix(
    db: Database,
) -> None:
    mtn = add(db, "mtn")
    with db.write() as tx:
        routing.set_route(tx, "", ["simulator"])
        routing.set_route(tx, "233", ["mtn"])
        routing.set_route(tx, "2332", ["mtn", "simulator"])
        carriers.drain_carrier(tx, "mtn")
        draining = routing.Routes(routing.load_routes(tx))
        carriers.drain_carrier(tx, "mtn", draining=False)
        again = routing.Routes(routing.load_routes(tx))
    assert [draining.carriers_for(number) for number in ("23424", "23354", "23320")] == [
        routing.Route("", (SIMULATOR_ID,)),
        None,
        routing.Route("2332", (SIMULATOR_ID,)),
    ]
    assert again.carriers_for("23354") == routing.Route("233", (mtn,))


def test_weights_stand_before_carriers_that_stand_by_and_go_with_a_carrier_that_drains(
    db: Database,
) -> None:
    a, b, spare = add(db, "mtn-a"), add(db, "mtn-b"), add(db, "gh-spare")
    with db.write() as tx:
        set_there = routing.set_route(tx, "233", ["mtn-a:70", " mtn-b : 30 ", "gh-spare"])
        routing.set_route(tx, "", ["mtn-a", "mtn-b"])
        assert (
            routing.all_routes(tx)[1] == set_there == routing.Route("233", (a, b, spare), (70, 30))
        )
        weights = tx.execute(sa.select(routes.c.weights).order_by(routes.c.prefix)).scalars().all()
        with pytest.raises(InvalidRequest, match="with a weight first") as refused:
            routing.set_route(tx, "233", ["mtn-a", "mtn-b:30"])
        carriers.drain_carrier(tx, "mtn-a")
        one_drains = routing.load_routes(tx)[1]
        carriers.drain_carrier(tx, "mtn-b")
        both_drain = routing.load_routes(tx)[1]
    assert weights == [None, "70,30"], "a route without weights is stored as before"
    assert refused.value.fields[0].field == "carrier"
    assert one_drains == routing.Route("233", (b, spare), (30,))
    assert both_drain == routing.Route("233", (spare,))


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("+233", ["simulator"]),
        ("233x", ["simulator"]),
        ("٢٣٣", ["simulator"]),
        ("1" * 16, ["simulator"]),
        ("233", []),
        ("233", ["nobody"]),
        ("233", ["simulator", "simulator"]),
        ("233", ["simulator:70", "simulator:30"]),
        ("233", ["simulator:0"]),
        ("233", ["simulator:101"]),
        ("233", ["simulator:"]),
        ("233", ["simulator:-1"]),
        ("233", ["simulator:1.5"]),
        ("233", ["simulator:1:2"]),
        ("233", ["simulator:٣"]),
    ],
)
def test_a_route_that_cannot_be_is_refused(db: Database, prefix: str, names: list[str]) -> None:
    with db.write() as tx, pytest.raises(InvalidRequest):
        routing.set_route(tx, prefix, names)
    with db.read() as tx:
        assert routing.all_routes(tx) == []


def test_a_rate_is_set_replaced_and_removed(db: Database, amina_id: str) -> None:
    before = epoch(db)
    with db.write() as tx:
        current_rates.store(tx, "gh", 3)
        assert current_rates.store(tx, "gh", 2) == current_rates.Rate(GENERAL, "GH", 2)
        current_rates.store(tx, "23324", None, account_id=amina_id)
        assert current_rates.load(tx) == [(GENERAL, "GH", 2), (amina_id, "23324", None)]
        assert current_rates.load(tx, amina_id) == [(amina_id, "23324", None)]
        rates = current_rates.Rates(current_rates.load(tx))
        current_rates.remove(tx, "GH")
        with pytest.raises(NotFound):
            current_rates.remove(tx, "23324")
        left = current_rates.Rates(current_rates.load(tx))
    assert epoch(db) >= before + 4
    assert [
        rates.credits_for(amina_id, number, country)
        for number, country in (("233201", "GH"), ("233241", "GH"), ("234", "NG"))
    ] == [2, None, 1]
    assert left.credits_for(amina_id, "233201", "GH") == 1


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("destination", "credits"),
    [
        ("GHA", 1),
        ("ZZ", 1),
        ("", 1),
        ("+233", 1),
        ("Default", 1),
        ("1" * 16, 1),
        ("GH", -1),
        ("GH", 10**6),
    ],
)
def test_a_rate_that_cannot_be_is_refused(db: Database, destination: str, credits: int) -> None:
    with db.write() as tx, pytest.raises(InvalidRequest):
        current_rates.store(tx, destination, credits)
