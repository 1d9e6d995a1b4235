"""The operator sets routes and rates."""

import pytest
import sqlalchemy as sa

from heliograph import carriers, pricing
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.carriers import GENERAL, SIMULATOR_ID, current_rates, routing
from heliograph.carriers.tables import routes
from heliograph.database.database import Database
from heliograph.monitoring import carrier_checks
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


def test_a_prefix_is_stored_as_numbers_begin_and_one_that_none_begins_with_is_refused(
    db: Database,
) -> None:
    with db.write() as tx:
        assert routing.set_route(tx, "00233", ["simulator"]).prefix == "233"
        assert current_rates.store(tx, "+233 20", 5).destination == "23320"
        assert pricing.set_cost(tx, "simulator", "0023320", "0.05", "GHS").prefix == "23320"
        for change in (
            lambda: routing.set_route(tx, "00", ["simulator"]),
            lambda: routing.remove_route(tx, "0233"),
            lambda: current_rates.store(tx, "0233", 5),
            lambda: pricing.set_cost(tx, "simulator", "0", "0.05", "GHS"),
        ):
            with pytest.raises(InvalidRequest, match="never 0 first"):
                change()
        assert routing.remove_route(tx, "+233") == "233"
        assert current_rates.remove(tx, "0023320") == "23320"
        assert pricing.remove_cost(tx, "simulator", "+23320").prefix == "23320"
        assert (routing.all_routes(tx), current_rates.load(tx), pricing.load_costs(tx)) == (
            [],
            [],
            [],
        )


def test_what_an_earlier_version_stored_with_a_leading_0_is_told_and_removed(db: Database) -> None:
    with db.write() as tx:
        routing.set_route(tx, "233", ["simulator"])
        tx.execute(routes.insert().values(prefix="00233", carrier_ids=str(SIMULATOR_ID)))
        dead = current_rates.Rate(GENERAL, "00233", 5)
        current_rates.change(tx, [], [dead])
        simulator = carriers.carrier_named(tx, "simulator")
        told = {
            each.check: each.found
            for each in carrier_checks.routes({simulator.id: simulator}, routing.all_routes(tx))
        }
        assert told["route 00233"] == "no number begins with 0, so no text takes this route"
        assert "go to the simulator" in told["route 233"]
        assert routing.remove_route(tx, "00233") == "00233"
        assert [route.prefix for route in routing.all_routes(tx)] == ["233"]
        done = pricing.change_rate(
            tx, dead._replace(credits=None), is_removed=True, allows_loss=False, now_ms=NOW_MS
        )
        assert (done.today, current_rates.load(tx)) == (dead, [])


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
        ("0233", ["simulator"]),
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
        ("0233", 1),
        ("Default", 1),
        ("1" * 16, 1),
        ("GH", -1),
        ("GH", 10**6),
    ],
)
def test_a_rate_that_cannot_be_is_refused(db: Database, destination: str, credits: int) -> None:
    with db.write() as tx, pytest.raises(InvalidRequest):
        current_rates.store(tx, destination, credits)
