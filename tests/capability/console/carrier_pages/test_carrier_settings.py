"""An operator changes the settings of a carrier as the command does, after they were tried."""

import asyncio
import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from heliograph import carriers, users
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.carriers import Carrier
from heliograph.carriers.tables import carriers as carrier_rows
from heliograph.database.database import Database
from heliograph.users import OperatorEntry, OperatorRole
from heliograph.users.sign_ins import FRESH_MS
from tests.support.capability.commands import Run
from tests.support.console.operators import sign_in_operator
from tests.support.factories import SECRET_KEY, open_carrier
from tests.support.portal.visitor import SITE, Visitor, shown_in
from tests.support.services import free_port
from tests.support.wire.smsc_peer import Smsc, running_smsc

PATH = "/console/carriers/gh/settings"
STORED_PASSWORD = "secret"
NEW_PASSWORD = " s3cret-9 "
FIELD = re.compile(r'<input name="(\w+)" value="([^"]*)"|<select name="(\w+)">(.*?)</select>', re.S)
CHOSEN = re.compile(r'<option(?: value="([^"]*)")? selected>([^<]*)<')


@pytest.fixture(scope="module")
def smsc() -> Iterator[Smsc]:
    with running_smsc() as peer:
        yield peer


@pytest.fixture
def carrier(db: Database, smsc: Smsc) -> str:
    open_carrier(db, "gh", port=smsc.port, prefix=None, tps=50.0, dest_ton_npi=[1, 8])
    smsc.reset()
    return "gh"


def stored(db: Database) -> Carrier:
    with db.read() as tx:
        return carriers.carrier_named(tx, "gh")


def password_of(db: Database) -> str:
    with db.read() as tx:
        return carriers.connection_settings(tx, stored(db), SECRET_KEY).password


def filled(visitor: Visitor) -> dict[str, str]:
    """Returns what the form is filled in with, and what its page has shown."""
    page = visitor.get(PATH).text
    fields = {}
    for name, value, chooses, options in FIELD.findall(page):
        if chooses:
            [(explicit, words)] = CHOSEN.findall(options)
            fields[chooses] = explicit or words
        else:
            fields[name] = value
    return {**fields, "shown": shown_in(visitor.page), "reason": "contract 12"}


def logged(db: Database) -> list[OperatorEntry]:
    with db.read() as tx:
        found = users.operator_entries(tx, PageWanted(20, None))
    return [each.entry for each in found if each.entry.action == "carrier.set"]


def test_what_is_changed_is_stored_and_told_and_nothing_else(
    visitor: Visitor, db: Database, carrier: str, smsc: Smsc, capfd: pytest.CaptureFixture[str]
) -> None:
    sign_in_operator(visitor, db)
    form = filled(visitor)
    assert (form["host"], form["tps"], form["dest_ton_npi"]) == ("127.0.0.1", "50", "1,8")
    assert (form["window"], form["long"], form["source_ton_npi"]) == ("10", "udh", "")
    changed = {
        "window": "20",
        "tps": "",
        "long": "sar",
        "dest_ton_npi": "5, 0",
        "status": "0x45=retry 0x400=refused",
        "in_doubt": "never",
    }
    done = visitor.post(PATH, form | changed)
    assert (done.status_code, done.headers["location"]) == (303, "/console/carriers/gh")
    assert stored(db).settings == {
        "host": "127.0.0.1",
        "port": smsc.port,
        "system_id": "heliograph",
        "window": 20,
        "long": "sar",
        "dest_ton_npi": [5, 0],
        "status_overrides": {"0x45": "retry", "0x400": "refused"},
        "in_doubt": "never",
    }
    assert password_of(db) == STORED_PASSWORD
    assert asyncio.run(smsc.log())["binds"] == [], "nothing changed that a bind needs"
    [entry] = logged(db)
    assert (entry.record, entry.reason) == ("gh", "contract 12")
    assert entry.before is not None
    assert entry.after is not None
    assert entry.before.split(", ")[:2] == ["window: 10", "tps: 50"]
    assert "long: udh, in_doubt: resend, status_overrides: none" in entry.before
    assert "tps: none" in entry.after
    assert "status_overrides: 0x400=refused, 0x45=retry" in entry.after
    again = filled(visitor)
    assert again["status"] == "0x400=refused, 0x45=retry"
    assert visitor.post(PATH, again | {"status": "0x400=refused"}).status_code == 303
    assert stored(db).settings["status_overrides"] == {"0x400": "refused"}
    assert STORED_PASSWORD not in visitor.get(PATH).text + "".join(capfd.readouterr())


def test_a_new_password_is_tried_and_stored_as_it_was_typed_and_told_nowhere(
    visitor: Visitor, db: Database, carrier: str, smsc: Smsc
) -> None:
    sign_in_operator(visitor, db)
    form = filled(visitor) | {"password": NEW_PASSWORD}
    tried = visitor.post(f"{PATH}/try", form)
    assert f"127.0.0.1:{smsc.port} let heliograph in." in tried.text
    assert password_of(db) == STORED_PASSWORD
    done = visitor.post(PATH, form)
    assert done.status_code == 303
    assert password_of(db) == NEW_PASSWORD
    assert len(asyncio.run(smsc.log())["binds"]) == 2, "each of the two has tried it"
    [entry] = logged(db)
    assert (entry.before, entry.after) == (None, "a new password")
    assert "s3cret" not in tried.text + visitor.get(PATH).text + visitor.get("/console/log").text


def test_a_carrier_that_cannot_be_bound_then_is_changed_only_if_it_is_wanted_all_the_same(
    visitor: Visitor, db: Database, carrier: str
) -> None:
    sign_in_operator(visitor, db)
    nobody = free_port()
    form = filled(visitor) | {"port": str(nobody)}
    refused = visitor.post(PATH, form)
    assert refused.status_code == 400
    assert "could not be bound: nothing listens there" in refused.text
    assert "Save it all the same" in refused.text
    assert f'value="{nobody}"' in refused.text, "what was typed stays"
    assert logged(db) == []
    assert visitor.post(PATH, form | {"saved_anyway": "yes"}).status_code == 303
    assert stored(db).settings["port"] == nobody


def test_a_password_of_a_refused_form_is_typed_again_before_anything_is_saved(
    visitor: Visitor, db: Database, carrier: str
) -> None:
    sign_in_operator(visitor, db)
    form = filled(visitor) | {"port": str(free_port())}
    refused = visitor.post(PATH, form | {"password": NEW_PASSWORD})
    assert "could not be bound" in refused.text
    assert 'name="password_typed" value="yes"' in refused.text
    emptied = form | {"password": "", "password_typed": "yes", "saved_anyway": "yes"}
    refused = visitor.post(PATH, emptied)
    assert (refused.status_code, 'id="password-error"' in refused.text) == (400, True)
    assert "type it again" in refused.text
    assert 'name="password_typed" value="yes"' in refused.text, "it is asked for until it is there"
    assert logged(db) == []
    assert visitor.post(PATH, emptied | {"password": NEW_PASSWORD}).status_code == 303
    assert password_of(db) == NEW_PASSWORD
    visitor.get(PATH)
    assert "password_typed" not in visitor.page.text, "who opens the page anew keeps the stored one"


def test_a_form_that_is_kept_for_a_sign_in_says_that_a_password_was_typed(
    visitor: Visitor, db: Database, carrier: str
) -> None:
    sign_in_operator(visitor, db)
    form = filled(visitor) | {"window": "20", "password": NEW_PASSWORD}
    clock.move(FRESH_MS)
    late = visitor.post(PATH, form, headers={"Referer": f"{SITE}{PATH}"})
    assert late.status_code == 403
    page = visitor.get(PATH).text
    assert "What you typed is filled in below" in page
    assert 'name="password_typed" value="yes"' in page
    assert NEW_PASSWORD.strip() not in page


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"host": ""}, "is required"),
        ({"port": "x"}, "must be an integer from 1 to 65535"),
        ({"binds": "65"}, "cannot be 65 (allowed: 1..64)"),
        ({"tps": "-1"}, "must be a number from 0"),
        ({"system_id": "x" * 16}, "must have at most 15 characters"),
        ({"password": "x" * 65}, "must have at most 64 characters, not 65"),
        ({"long": "pigeon"}, "cannot be &#39;pigeon&#39; (allowed: udh, payload, sar)"),
        ({"id_format": "oct"}, "must be one of auto, hex, dec"),
        ({"source_ton_npi": "5"}, "is not a type of number and a numbering plan, such as 5,0."),
        ({"dest_ton_npi": "9,1"}, "cannot be 9,1 (allowed: 0..6"),
        ({"status": "0x45=maybe"}, "is not a command_status and its meaning"),
        ({"status": "0x05=retry"}, "but for what ends a session"),
        ({"unmatched_max": "5"}, "must be from 1000 to 100000000, not 5"),
        ({"reason": ""}, "must have 1 to 255 characters"),
    ],
)
def test_what_the_command_refuses_is_refused_at_its_field(
    visitor: Visitor, db: Database, carrier: str, wrong: dict[str, str], said: str
) -> None:
    sign_in_operator(visitor, db)
    before = stored(db)
    refused = visitor.post(PATH, filled(visitor) | {"saved_anyway": "yes"} | wrong)
    assert refused.status_code == 400
    [field] = wrong
    at_field = re.search(rf'id="{field}-error">([^<]*)<', refused.text)
    assert at_field is not None
    assert said in at_field[1]
    assert (stored(db), logged(db)) == (before, [])


def test_settings_that_somebody_else_has_set_meanwhile_are_looked_at_first(
    visitor: Visitor, db: Database, carrier: str, run: Run
) -> None:
    sign_in_operator(visitor, db)
    form = filled(visitor) | {"window": "20"}
    assert run("carrier", "set", "gh", "--tps", "70").status == 0
    late = visitor.post(PATH, form)
    assert late.status_code == 400
    assert "are not what there is now" in late.text
    assert "tps: 70" in late.text
    assert stored(db).settings["tps"] == 70
    assert "window" not in stored(db).settings
    assert logged(db) == []


def test_a_form_that_changes_nothing_is_quiet(
    visitor: Visitor, db: Database, carrier: str, smsc: Smsc
) -> None:
    sign_in_operator(visitor, db)
    before = stored(db)
    assert visitor.post(PATH, filled(visitor)).status_code == 303
    assert "That was done already" in visitor.get("/console/carriers/gh").text
    assert (stored(db), logged(db)) == (before, [])


def test_a_password_under_a_lost_key_is_asked_for_again(
    visitor: Visitor, db: Database, carrier: str
) -> None:
    with db.write() as tx:
        tx.execute(sa.update(carrier_rows).values(password="lost"))
    sign_in_operator(visitor, db)
    form = filled(visitor) | {"window": "20"}
    for path in (PATH, f"{PATH}/try"):
        refused = visitor.post(path, form)
        assert refused.status_code == 400
        assert "type it again" in refused.text
    assert visitor.post(PATH, form | {"password": NEW_PASSWORD}).status_code == 303
    assert password_of(db) == NEW_PASSWORD


def test_who_may_not_change_carriers_sees_no_form_and_nobody_changes_the_simulator(
    visitor: Visitor, db: Database, carrier: str, smsc: Smsc
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    assert "it does not change them" in visitor.get(PATH).text
    assert "Change settings" not in visitor.get("/console/carriers/gh").text
    assert visitor.post(PATH, {"reason": "x"}).status_code == 403
    assert visitor.post(f"{PATH}/try", {}).status_code == 403
    assert asyncio.run(smsc.log())["binds"] == []


def test_the_simulator_has_no_settings_and_a_change_takes_a_fresh_sign_in(
    visitor: Visitor, db: Database, carrier: str
) -> None:
    sign_in_operator(visitor, db)
    path = "/console/carriers/simulator/settings"
    assert "it has no settings" in visitor.get(path).text
    refused = visitor.post(path, {"reason": "x", "saved_anyway": "yes"})
    assert refused.status_code == 400
    form = filled(visitor) | {"window": "20"}
    clock.move(FRESH_MS)
    assert visitor.post(PATH, form).status_code == 403
    assert "window" not in stored(db).settings
