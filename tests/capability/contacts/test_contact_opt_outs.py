"""A contact is opted out where its phone is suppressed, whatever becomes of the contact."""

from typing import Any, Final

import pytest

from heliograph import contacts
from heliograph.base import clock
from heliograph.contacts import Changer, ChangerKind, Contact, ContactOwner, ContactPatch
from heliograph.database.database import Database
from heliograph.opt_outs import OptOutOwner, OptOutSource, find_suppressed, lift, suppress
from heliograph.opt_outs.suppression import scope_of_sender
from heliograph.text import parse_phone
from tests.support.factories import PHONE, phones

IMPORT: Final = Changer(ChangerKind.USER, "amina@example.com", is_import=True)


def saved(
    db: Database, account_id: str, phone: str, by: Changer = contacts.OPERATOR, **given: Any
) -> Contact:
    change, owner = ContactPatch(parse_phone(phone), given), ContactOwner(account_id, False)
    with db.write() as tx:
        [stored] = contacts.upsert(tx, owner, [change], by=by, now_ms=clock.now_ms())
    assert stored.contact is not None
    return stored.contact


def sources(db: Database, account_id: str, *asked: str) -> dict[str, OptOutSource]:
    with db.read() as tx:
        return find_suppressed(tx, OptOutOwner(account_id, False), asked)


@pytest.mark.parametrize(
    ("by", "source"),
    [
        (contacts.OPERATOR, OptOutSource.OPERATOR),
        (Changer(ChangerKind.KEY, "shop"), OptOutSource.API),
        (Changer(ChangerKind.USER, "amina@example.com"), OptOutSource.PORTAL),
        (IMPORT, OptOutSource.IMPORT),
    ],
)
def test_a_contact_that_is_deleted_and_made_again_is_still_opted_out(
    db: Database, amina_id: str, by: Changer, source: OptOutSource
) -> None:
    made = saved(db, amina_id, PHONE, by, opted_out=True)
    assert sources(db, amina_id, PHONE) == {PHONE: source}
    with db.write() as tx:
        contacts.delete(tx, ContactOwner(amina_id, False), contacts.text_id(made))
    again = saved(db, amina_id, PHONE, name="Kofi")
    assert (again.opted_out, again.id != made.id) == (True, True)
    with db.read() as tx:
        assert contacts.by_phone(tx, ContactOwner(amina_id, False), PHONE) == again
        assert contacts.opt_out_history(tx, again) == []  # nobody did it to this contact
    assert not saved(db, amina_id, PHONE, opted_out=False).opted_out
    assert sources(db, amina_id, PHONE) == {}


def test_an_opt_out_of_one_sender_leaves_the_contact_as_it_is(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        suppress(
            tx,
            OptOutOwner(amina_id, False),
            [PHONE],
            source=OptOutSource.KEYWORD,
            now_ms=clock.now_ms(),
            scope=scope_of_sender("AMINA"),
        )
    assert not saved(db, amina_id, PHONE).opted_out


def test_a_file_opts_nobody_in_who_has_opted_out_by_keyword_or_through_the_carrier(
    db: Database, amina_id: str
) -> None:
    by_source = dict(zip(OptOutSource, phones(len(OptOutSource)), strict=True))
    for source, phone in by_source.items():
        with db.write() as tx:
            owner = OptOutOwner(amina_id, False)
            suppress(tx, owner, [phone], source=source, now_ms=clock.now_ms())
    kept = {OptOutSource.KEYWORD, OptOutSource.CARRIER}
    for source, phone in by_source.items():
        after = saved(db, amina_id, phone, IMPORT, opted_out=False, name="Kofi")
        assert (after.opted_out, after.name) == (source in kept, "Kofi")
    assert set(sources(db, amina_id, *by_source.values()).values()) == kept
    for source in kept:
        assert not saved(db, amina_id, by_source[source], opted_out=False).opted_out


def test_a_contact_whose_phone_changes_takes_the_opt_out_with_it_and_leaves_it_behind(
    db: Database, amina_id: str
) -> None:
    old, new, other = phones(3)
    contact = saved(db, amina_id, old, opted_out=True)
    owner, text_id = ContactOwner(amina_id, False), contacts.text_id(contact)
    with db.write() as tx:
        patch = ContactPatch(parse_phone(new))
        after = contacts.update(
            tx, owner, text_id, patch, by=contacts.OPERATOR, now_ms=clock.now_ms()
        )
    assert after.opted_out
    assert sources(db, amina_id, old, new).keys() == {old, new}
    with db.write() as tx:
        suppress(
            tx,
            OptOutOwner(amina_id, False),
            [other],
            source=OptOutSource.KEYWORD,
            now_ms=clock.now_ms(),
        )
        lift(tx, OptOutOwner(amina_id, False), [new], by=OptOutSource.API, now_ms=clock.now_ms())
        patch = ContactPatch(parse_phone(other))
        after = contacts.update(
            tx, owner, text_id, patch, by=contacts.OPERATOR, now_ms=clock.now_ms()
        )
    assert after.opted_out
    assert sources(db, amina_id, new, other) == {other: OptOutSource.KEYWORD}
