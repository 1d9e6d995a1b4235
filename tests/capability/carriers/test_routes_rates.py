"""The operator sets routes and rates."""

import pytest
import sqlalchemy as sa

from heliograph import carriers
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.carriers import GENERAL, SIMULATOR_ID, Rate, Rates, Route, Routes
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
        carriers.set_route(tx, "", ["simulator"])
        carriers.set_route(tx, "233", ["simulator"])
        assert carriers.set_route(tx, "233", ["mtn", "simulator"]) == Route(
            "233", (mtn, SIMULATOR_ID)
        )
        assert carriers.all_routes(tx) == [
            Route("", (SIMULATOR_ID,)),
            Route("233", (mtn, SIMULATOR_ID)),
        ]
        carriers.remove_route(tx, "233")
        assert carriers.all_routes(tx) == [Route("", (SIMULATOR_ID,))]
        with pytest.raises(NotFound):
            carriers.remove_route(tx, "233")
    assert epoch(db) >= before + 4


def test_new_messages_pass_a_draining_carrier_by_and_do_not_fall_to_a_shorter_prefix(
    db: Database,
) -> None:
    mtn = add(db, "mtn")
    with db.write() as tx:
        carriers.set_route(tx, "", ["simulator"])
        carriers.set_route(tx, "233", ["mtn"])
        carriers.set_route(tx, "2332", ["mtn", "simulator"])
        carriers.drain_carrier(tx, "mtn")
        draining = Routes(carriers.load_routes(tx))
        carriers.drain_carrier(tx, "mtn", draining=False)
        again = Routes(carriers.load_routes(tx))
    assert [draining.carriers_for(number) for number in ("23424", "23354", "23320")] == [
        Route("", (SIMULATOR_ID,)),
        None,
        Route("2332", (SIMULATOR_ID,)),
    ]
    assert again.carriers_for("23354") == Route("233", (mtn,))


def test_weights_stand_before_carriers_that_stand_by_and_go_with_a_carrier_that_drains(
    db: Database,
) -> None:
    a, b, spare = add(db, "mtn-a"), add(db, "mtn-b"), add(db, "gh-spare")
    with db.write() as tx:
        set_there = carriers.set_route(tx, "233", ["mtn-a:70", " mtn-b : 30 ", "gh-spare"])
        carriers.set_route(tx, "", ["mtn-a", "mtn-b"])
        assert carriers.all_routes(tx)[1] == set_there == Route("233", (a, b, spare), (70, 30))
        weights = tx.execute(sa.select(routes.c.weights).order_by(routes.c.prefix)).scalars().all()
        with pytest.raises(InvalidRequest, match="before those without one") as refused:
            carriers.set_route(tx, "233", ["mtn-a", "mtn-b:30"])
        carriers.drain_carrier(tx, "mtn-a")
        one_drains = carriers.load_routes(tx)[1]
        carriers.drain_carrier(tx, "mtn-b")
        both_drain = carriers.load_routes(tx)[1]
    assert weights == [None, "70,30"], "a route without weights is stored as before"
    assert refused.value.fields[0].field == "carrier"
    assert one_drains == Route("233", (b, spare), (30,))
    assert both_drain == Route("233", (spare,))


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
        carriers.set_route(tx, prefix, names)
    with db.read() as tx:
        assert carriers.all_routes(tx) == []


def test_a_rate_is_set_replaced_and_removed(db: Database, amina: str) -> None:
    before = epoch(db)
    with db.write() as tx:
        carriers.set_rate(tx, "gh", 3)
        assert carriers.set_rate(tx, "gh", 2) == Rate(GENERAL, "GH", 2)
        carriers.set_rate(tx, "23324", None, account_id=amina)
        assert carriers.load_rates(tx) == [(GENERAL, "GH", 2), (amina, "23324", None)]
        assert carriers.load_rates(tx, amina) == [(amina, "23324", None)]
        rates = Rates(carriers.load_rates(tx))
        carriers.remove_rate(tx, "GH")
        with pytest.raises(NotFound):
            carriers.remove_rate(tx, "23324")
        left = Rates(carriers.load_rates(tx))
    assert epoch(db) >= before + 4
    assert [
        rates.credits_for(amina, number, country)
        for number, country in (("233201", "GH"), ("233241", "GH"), ("234", "NG"))
    ] == [2, None, 1]
    assert left.credits_for(amina, "233201", "GH") == 1


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
        carriers.set_rate(tx, destination, credits)
