"""The page of a contact says since when the contact is opted out, and who opted it out or in."""

import re
from collections.abc import Callable

import sqlalchemy as sa

from heliograph import contacts
from heliograph.base import clock
from heliograph.contacts.tables import opt_out_changes
from heliograph.database.database import Database
from tests.support.capability.campaigns import set_opted_out
from tests.support.capability.commands import Run
from tests.support.portal.campaign_pages import words_of
from tests.support.portal.stored_contacts import path_of, stored, those_of, upload
from tests.support.portal.visitor import EMAIL, Visitor


def test_each_opt_out_is_told_with_its_time_and_who_did_it(
    visitor: Visitor, db: Database, amina_id: str, home: str, run: Run
) -> None:
    made = stored(db, amina_id)
    path, phone = path_of(home, made), made.phone
    assert "Opt-outs" not in visitor.get(path).text
    whose = ("--account", "amina")
    ways: dict[str, Callable[[], object]] = {
        f"Opted out {EMAIL}": lambda: visitor.post(path, {"do": "opt_out"}),
        "Opted in again whoever runs the service": lambda: run("contact", "opt-in", phone, *whose),
        f"Opted out a file, imported by {EMAIL}": lambda: upload(
            visitor, home, f"phone,opted_out\n{phone},yes\n"
        ),
        f"Opted in again {EMAIL}": lambda: visitor.post(path, {"do": "opt_in"}),
        "Opted out whoever runs the service": lambda: run("contact", "opt-out", phone, *whose),
    }
    for way in ways.values():
        clock.move(by_ms=60_000)
        visitor.get(path)
        way()
        visitor.post(path, {"do": "change", "phone": phone, "name": "Kofi"})  # is no opt-out
    clock.move(by_ms=60_000)
    said = words_of(visitor.get(path).text)
    [table_said] = re.findall(r"Time What By (.*) Opt in again", said)
    assert table_said == " ".join(
        f"{minutes} min ago {way}" for minutes, way in enumerate(reversed(ways), 1)
    )
    since = re.search(r"Opted out since ([\d\-: ]+ UTC)", said)
    assert since is not None
    assert f'title="{since[1]}"' in visitor.page.text


def test_who_was_opted_out_before_it_was_recorded_is_told_so(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made = stored(db, amina_id)
    with db.write() as tx:  # as the version before did it
        set_opted_out(tx, amina_id, {int(made.phone): True})
    said = visitor.get(path_of(home, made)).text
    assert "The phone opted out by a text such as STOP, or its opt-out was noted elsewhere" in said
    assert "Opted out since" not in said


def test_what_is_recorded_of_a_contact_goes_with_it_and_others_keep_theirs(
    visitor: Visitor, db: Database, amina_id: str, home: str, run: Run
) -> None:
    one, erased, other = (
        stored(db, amina_id, phone=f"23320123456{k}", opted_out=True) for k in range(3)
    )
    visitor.get(f"{path_of(home, one)}/remove")
    visitor.post(f"{path_of(home, one)}/remove")
    told = run("erase", erased.phone, "--account", "amina", "--yes", "--json").json
    assert told["erased"] == {"contacts": 1, "opt_out_changes": 1, "opt_outs": 1}
    with db.read() as tx:
        left = tx.execute(sa.select(opt_out_changes.c.contact_id)).scalars().all()
        assert left == [other.id]
        [change] = contacts.opt_out_history(tx, other)
    assert change == (True, contacts.OPERATOR, change.at_ms)
    assert those_of(db, amina_id) == [other]
