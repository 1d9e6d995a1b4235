"""The operator adds and changes carriers."""

import json
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import carriers
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.secrets import SecretUnreadable
from heliograph.carriers import SIMULATOR_ID, Carrier, LinkState, carrier_states, routing
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.tables import carriers as table
from heliograph.database.database import Database
from tests.support.capability.cast import NOW_MS, at_once, epoch
from tests.support.capability.sending import WORKER, only_worker

SECRET_KEY = "s" * 32
PASSWORD = "p4ssw0rd"
SETTINGS: dict[str, Any] = {"host": "127.0.0.1", "port": 2775, "system_id": "amina"}


def add(db: Database, name: str = "mtn", **settings: Any) -> Carrier:
    return db.transact(
        lambda tx: carriers.add_carrier(
            tx, name, {**SETTINGS, **settings}, PASSWORD, secret_key=SECRET_KEY, now_ms=NOW_MS
        )
    )


def change(db: Database, password: str | None = None, **settings: Any) -> Carrier:
    with db.write() as tx:
        return carriers.set_carrier(tx, "mtn", settings, password, secret_key=SECRET_KEY)


def connection(db: Database, name: str = "mtn", secret_key: str = SECRET_KEY) -> SmppSettings:
    with db.read() as tx:
        return carriers.connection_settings(tx, carriers.carrier_named(tx, name), secret_key)


def test_a_carrier_is_added_with_its_password_encrypted(db: Database) -> None:
    before = epoch(db)
    added = add(db, source_ton_npi=[5, 0], tps=50.0, in_doubt="never")
    assert epoch(db) > before
    assert connection(db) == SmppSettings(
        name="mtn", password=PASSWORD, **SETTINGS, source_ton_npi=(5, 0), tps=50.0
    )
    assert [carriers.setting(added, name) for name in ("in_doubt", "id_format", "window")] == [
        "never",
        "auto",
        10,
    ]
    with db.read() as tx:
        assert [carrier.name for carrier in carriers.all_carriers(tx)] == ["mtn", "simulator"]
        assert carriers.carrier_named(tx, "mtn") == added
        assert all(
            PASSWORD not in str(value)
            for value in tx.execute(sa.select(table).where(table.c.name == "mtn")).one()
        )
    with pytest.raises(SecretUnreadable):
        connection(db, secret_key="t" * 32)


def test_settings_and_password_are_changed_by_themselves(db: Database) -> None:
    add(db, tps=50.0, id_format="hex")
    with db.write() as tx:
        tx.execute(table.update().where(table.c.name == "mtn").values(id_format="dec"))
    assert change(db, window=20, tps=None).settings == {
        **SETTINGS,
        "window": 20,
        "id_format": "hex",
    }
    assert (connection(db).password, connection(db).window, connection(db).tps) == (
        PASSWORD,
        20,
        None,
    )
    assert change(db, "n3w").id_format == "dec"
    assert connection(db).password == "n3w"
    assert change(db, id_format="auto").id_format is None  # what was learnt is learnt anew


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("port", 0),
        ("alphabet", "utf8"),
        ("long", "no"),
        ("id_format", "oct"),
        ("in_doubt", "maybe"),
        ("tps", -1),
        ("binds", 0),
        ("colour", "red"),
        ("host", ""),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_name(
    db: Database, setting: str, value: Any
) -> None:
    with pytest.raises(InvalidRequest, match=setting):
        add(db, **{setting: value})
    add(db)
    with pytest.raises(InvalidRequest, match=setting):
        change(db, **{setting: value})
    assert connection(db) == SmppSettings(name="mtn", password=PASSWORD, **SETTINGS)


@pytest.mark.parametrize("name", ["", "a,b", "mtn gh", "-mtn", "m" * 65, "simulator"])
def test_a_name_is_new_and_can_stand_in_a_route(db: Database, name: str) -> None:
    with pytest.raises(InvalidRequest, match="name must"):
        add(db, name)


def test_carriers_added_at_once_have_ids_of_their_own(db: Database) -> None:
    added = at_once(5, lambda k: add(db, f"mtn{k}"))
    assert (
        len({carrier.id for carrier in added if isinstance(carrier, Carrier)} - {SIMULATOR_ID}) == 5
    )


def test_a_carrier_with_routes_or_messages_is_not_removed(db: Database) -> None:
    add(db)
    with db.write() as tx:
        routing.set_route(tx, "233", ["mtn", "simulator"])
        with pytest.raises(InvalidRequest, match="still has routes: 233"):
            carriers.remove_carrier(tx, "mtn", messages_waiting=0)
        routing.set_route(tx, "233", ["simulator"])
        with pytest.raises(InvalidRequest, match="still has 3 messages"):
            carriers.remove_carrier(tx, "mtn", messages_waiting=3)
        carriers.remove_carrier(tx, "mtn", messages_waiting=0)
        for gone in ("mtn", "nobody"):
            with pytest.raises(NotFound):
                carriers.remove_carrier(tx, gone, messages_waiting=0)


def test_the_simulator_stays_as_it_is(db: Database) -> None:
    with db.write() as tx:
        with pytest.raises(InvalidRequest, match="built in"):
            carriers.remove_carrier(tx, "simulator", messages_waiting=0)
        with pytest.raises(InvalidRequest, match="built in"):
            carriers.set_carrier(tx, "simulator", {"port": 1}, secret_key=SECRET_KEY)
        assert json.loads(json.dumps(carriers.carrier_named(tx, "simulator").settings)) == {}


def test_a_carrier_counts_as_down_after_a_minute(db: Database) -> None:
    mtn = add(db)  # not connected yet
    with db.read() as tx:
        assert carriers.down_carriers(tx, NOW_MS + 59_999) == frozenset()
        assert carriers.down_carriers(tx, NOW_MS + 60_000) == {mtn.id}


def test_a_link_that_we_ended_ourselves_has_its_whole_minute_when_it_begins_anew(
    db: Database,
) -> None:
    mtn = add(db)
    only_worker(db, WORKER)
    with db.write() as tx:
        for state, after_ms in (
            (LinkState.BOUND, 0),
            (LinkState.CLOSED, 1_000),
            (LinkState.CONNECTING, 100_000),
            (LinkState.BACKING_OFF, 130_000),
        ):
            carrier_states.record(tx, WORKER, mtn.id, state, "", NOW_MS + after_ms)
        assert carriers.down_carriers(tx, NOW_MS + 159_999) == frozenset()
        assert carriers.down_carriers(tx, NOW_MS + 160_000) == {mtn.id}
        carrier_states.record(tx, WORKER, mtn.id, LinkState.CLOSED, "", NOW_MS + 161_000)
        # as long as nobody begins it, messages go elsewhere
        assert carriers.down_carriers(tx, NOW_MS + 162_000) == {mtn.id}


@pytest.mark.parametrize(
    ("settings", "password", "told"),
    [
        (
            {"system_id": "x" * 16},
            None,
            "system_id must have at most 15 characters (SMPP 3.4, 4.1.1), not 16.",
        ),
        (
            {"system_type": "x" * 13},
            None,
            "system_type must have at most 12 characters (SMPP 3.4, 4.1.1), not 13.",
        ),
        ({"system_id": ""}, None, "system_id must not be empty."),
        ({}, "p" * 65, "password must have at most 64 characters, not 65."),
    ],
)
def test_what_a_bind_has_no_room_for_is_refused_when_it_is_set(
    db: Database, settings: dict[str, Any], password: str | None, told: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        change(db, password, **settings)  # before it is seen that there is no such carrier
    assert str(refused.value) == told
    if password is None:
        with pytest.raises(InvalidRequest):
            add(db, **settings)


def test_what_was_stored_longer_before_stays_until_it_is_changed(db: Database) -> None:
    add(db)
    longer = json.dumps(SETTINGS | {"system_id": "x" * 50})
    db.transact(
        lambda tx: tx.execute(table.update().where(table.c.name == "mtn").values(settings=longer))
    )
    assert change(db, "p" * 64, window=5).settings["window"] == 5
    assert connection(db).system_id == "x" * 50
