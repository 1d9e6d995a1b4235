"""An operator tries to bind before a carrier is added, and reads what the other side answered."""

import asyncio
from collections.abc import Iterator

import pytest

from heliograph import carriers, users
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from heliograph.users.sign_ins import FRESH_MS
from tests.support.console.operators import sign_in_operator
from tests.support.factories import SECRET_KEY
from tests.support.portal.visitor import Visitor
from tests.support.services import free_port
from tests.support.wire.smsc_peer import Smsc, running_smsc

PASSWORD = "s3cret-9"
TRY = "/console/bind-trial"


@pytest.fixture(scope="module")
def smsc() -> Iterator[Smsc]:
    with running_smsc() as peer:
        yield peer


def filled_in(port: int, **given: str) -> dict[str, str]:
    return {
        "name": "gh-main",
        "host": "127.0.0.1",
        "port": str(port),
        "system_id": "amina",
        "password": PASSWORD,
        "reason": "contract 12",
        **given,
    }


def names(db: Database) -> set[str]:
    with db.read() as tx:
        return {carrier.name for carrier in carriers.all_carriers(tx)}


def test_a_trial_says_what_the_other_side_answers_and_stores_no_carrier(
    visitor: Visitor, db: Database, smsc: Smsc, capfd: pytest.CaptureFixture[str]
) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/carriers")
    bound = visitor.post(TRY, filled_in(smsc.port, reason=""))
    assert bound.status_code == 200
    assert f"127.0.0.1:{smsc.port} let amina in." in bound.text
    asyncio.run(smsc.behave(bind_statuses=[0x0E]))
    refused = visitor.post(TRY, filled_in(smsc.port))
    assert "did not let amina in: bind refused with command_status 0x0000000e" in refused.text
    assert "wrong password, says the carrier" in refused.text
    smsc.reset()
    nobody = visitor.post(TRY, filled_in(free_port()))
    assert "could not be bound: nothing listens there, or a firewall refuses us." in nobody.text
    wrong = visitor.post(TRY, filled_in(smsc.port) | {"port": "x"})
    assert "Nobody was asked" in wrong.text
    for page in (bound, refused, nobody, wrong):
        assert PASSWORD not in page.text
        assert 'value="amina"' in page.text, "what was typed stays"
    assert names(db) == {"simulator"}
    with db.read() as tx:
        told = [each.entry for each in users.operator_entries(tx, PageWanted(9, None))]
    assert [entry.action for entry in told] == ["carrier.try"] * 3
    assert all(PASSWORD not in str(entry) for entry in told)
    assert PASSWORD not in "".join(capfd.readouterr())


def test_a_carrier_that_cannot_be_bound_is_added_only_if_it_is_wanted_all_the_same(
    visitor: Visitor, db: Database, smsc: Smsc
) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/carriers")
    dead = filled_in(free_port())
    again = visitor.post("/console/carriers", dead)
    assert again.status_code == 400
    assert "could not be bound" in again.text
    assert "Add it all the same" in again.text
    assert names(db) == {"simulator"}
    assert visitor.post("/console/carriers", {**dead, "added_anyway": "yes"}).status_code == 303
    living = filled_in(smsc.port, name="gh-spare")
    assert visitor.post("/console/carriers", living).status_code == 303
    assert names(db) == {"simulator", "gh-main", "gh-spare"}


def test_a_carrier_that_there_is_is_tried_with_what_is_stored(
    visitor: Visitor, db: Database, smsc: Smsc
) -> None:
    sign_in_operator(visitor, db)
    with db.write() as tx:
        settings = {"host": "127.0.0.1", "port": smsc.port, "system_id": "amina"}
        now_ms = clock.now_ms()
        carriers.add_carrier(tx, "gh", settings, "x", secret_key=SECRET_KEY, now_ms=now_ms)
    visitor.get("/console/carriers/gh")
    assert "let amina in." in visitor.post("/console/carriers/gh/try").text
    assert visitor.post("/console/carriers/simulator/try").status_code == 400
    clock.move(FRESH_MS)
    assert visitor.post("/console/carriers/gh/try").status_code == 403


def test_who_may_not_change_carriers_calls_nobody(
    visitor: Visitor, db: Database, smsc: Smsc
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    visitor.get("/console/carriers")
    smsc.reset()
    assert visitor.post(TRY, filled_in(smsc.port)).status_code == 403
    assert asyncio.run(smsc.log())["binds"] == []
