"""The way that is told for a text is the one that accepting would decide, and the reason is told
too.
"""

from heliograph import accounts, carriers
from heliograph.base import clock
from heliograph.carriers import GENERAL, SIMULATOR_ID, Sharing, current_rates, routing
from heliograph.database.database import Database
from heliograph.messages.accept import look_up_route
from heliograph.messages.accept.route_lookup import RouteLookup
from heliograph.text import parse_phone
from tests.support.factories import PHONE, SECRET_KEY, open_carrier


def asked(db: Database, account_id: str | None = None) -> RouteLookup:
    phone = parse_phone(PHONE)
    assert phone is not None
    with db.read() as tx:
        return look_up_route(tx, phone, account_id, now_ms=clock.now_ms())


def test_without_a_route_it_says_so(db: Database) -> None:
    found = asked(db)
    assert found.offer.refusal == "no_route"
    assert found.route is None


def test_the_longest_prefix_and_the_accounts_own_rate_decide(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        routing.set_route(tx, "", ["simulator"])
        routing.set_route(tx, "2332", ["simulator"])
        current_rates.store(tx, "GH", 2)
        current_rates.store(tx, "233", 3, account_id=amina_id)
    general, own = asked(db), asked(db, amina_id)
    assert general.rate == current_rates.Rate(GENERAL, "GH", 2)
    assert own.rate == current_rates.Rate(amina_id, "233", 3)
    assert own.route == routing.Route("2332", (SIMULATOR_ID,))
    assert (own.offer.plan.carrier_id, own.offer.plan.prefix, own.offer.plan.rate) == (
        SIMULATOR_ID,
        "2332",
        3,
    )


def test_a_carrier_that_is_down_is_passed_over_and_one_that_drains_is_not_asked(
    db: Database,
) -> None:
    settings = {"host": "smpp.example.net", "port": 2775, "system_id": "amina"}
    with db.write() as tx:
        long_ago_ms = clock.now_ms() - 3_600_000
        spare = carriers.add_carrier(
            tx, "spare", settings, "secret", secret_key=SECRET_KEY, now_ms=long_ago_ms
        )
        routing.set_route(tx, "233", ["spare", "simulator"])
    found = asked(db)
    assert found.down >= {spare.id}
    assert found.route is not None
    assert found.route.carrier_ids[0] == spare.id
    assert found.offer.plan.carrier_id == SIMULATOR_ID
    with db.write() as tx:
        carriers.drain_carrier(tx, "simulator")
    assert asked(db).offer.plan.carrier_id == spare.id, "all that are left are down"


def test_a_number_falls_to_one_of_the_carriers_that_share_and_always_to_the_same(
    db: Database,
) -> None:
    first, second = (open_carrier(db, name, prefix=None) for name in ("first", "second"))
    with db.write() as tx:
        routing.set_route(tx, "233", ["first:1", "second:2", "simulator"])
    found = asked(db)
    assert found.offer.plan.sharing == Sharing((first, second), (1, 3))
    assert found.offer.plan.sharing.weights == {first: 1, second: 2}
    assert found.carrier_id in (first, second)
    assert found == asked(db)
    with db.write() as tx:
        carriers.pause_carrier(tx, "first")
        carriers.pause_carrier(tx, "second")
    assert asked(db).carrier_id == SIMULATOR_ID, "all that share are paused"
    with db.write() as tx:
        routing.set_route(tx, "233", ["first:1", "second:2"])
    waiting = asked(db)
    assert waiting.offer.plan.sharing == found.offer.plan.sharing, "it waits in these proportions"
    assert waiting.carrier_id == found.carrier_id


def test_a_country_that_the_account_may_not_send_to_is_refused(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        routing.set_route(tx, "", ["simulator"])
        accounts.change(tx, amina_id, countries=["NG"])
    assert asked(db, amina_id).offer.refusal == "country_not_allowed"
