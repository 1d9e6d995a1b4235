"""Each opt-out that is new, and each that is lifted, is told once in the transaction of its change,
to whoever listens.
"""

from contextlib import suppress as suppressing
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import contacts
from heliograph.base import clock
from heliograph.contacts import Changer, ChangerKind, ContactOwner, ContactPatch
from heliograph.database.database import Database
from heliograph.opt_outs import OptOutOwner, OptOutSource, lift, suppress
from heliograph.opt_outs.suppression import scope_of_sender
from heliograph.text import parse_phone
from heliograph.webhooks.tables import webhook_queue
from tests.support.capability.commands import Run
from tests.support.capability.told_opt_outs import Told, hears_of_opt_outs, told_of_opt_outs
from tests.support.capability.webhooks import endpoint
from tests.support.factories import PHONE, phones

API = OptOutSource.API


def test_what_changes_nothing_tells_nothing(db: Database, amina_id: str) -> None:
    hears_of_opt_outs(db, amina_id)
    owner, sales = OptOutOwner(amina_id, False), scope_of_sender("SALES")
    first, second, third = phones(3)
    now_ms = clock.now_ms()
    with db.write() as tx:
        suppress(tx, owner, [first], source=OptOutSource.KEYWORD, now_ms=now_ms)
        suppress(tx, owner, [first, second], source=API, now_ms=now_ms)
        suppress(tx, owner, [second], source=OptOutSource.PORTAL, now_ms=now_ms)
        suppress(tx, owner, [first], source=API, now_ms=now_ms, scope=sales)
        lift(tx, owner, [third], by=API, now_ms=now_ms)
        lift(tx, owner, [first], by=OptOutSource.KEYWORD, now_ms=now_ms)  # it is the API's by now
    assert told_of_opt_outs(db) == [
        Told("out", first, "keyword"),
        Told("out", second, "api"),
        Told("out", first, "api", "sales"),
    ]
    with db.write() as tx:
        assert lift(tx, owner, [first], by=OptOutSource.PORTAL, now_ms=now_ms, scope=None) == {
            first
        }
    assert told_of_opt_outs(db)[3:] == [
        Told("in", first, "portal"),
        Told("in", first, "portal", "sales"),
    ], "one for each opt-out that was lifted"


def test_nothing_is_told_of_what_is_taken_back_nor_to_others(db: Database, amina_id: str) -> None:
    hears_of_opt_outs(db, amina_id, sandbox=True)
    endpoint(db, amina_id, kinds=["contact.opted_in", "message.sent"])
    live, now_ms = OptOutOwner(amina_id, False), clock.now_ms()
    with suppressing(ZeroDivisionError), db.write() as tx:
        suppress(tx, live._replace(sandbox=True), [PHONE], source=API, now_ms=now_ms)
        raise ZeroDivisionError
    with db.write() as tx:
        suppress(tx, live, [PHONE], source=API, now_ms=now_ms)
    assert told_of_opt_outs(db) == []
    with db.write() as tx:
        lift(tx, live, [PHONE], by=API, now_ms=now_ms)
    assert told_of_opt_outs(db) == [Told("in", PHONE, "api")]
    with db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(webhook_queue)).scalar() == 1


@pytest.mark.parametrize(
    ("by", "source"),
    [
        (contacts.OPERATOR, "operator"),
        (Changer(ChangerKind.KEY, "shop"), "api"),
        (Changer(ChangerKind.USER, "amina@example.com"), "portal"),
        (Changer(ChangerKind.USER, "amina@example.com", is_import=True), "import"),
    ],
)
def test_contacts_that_change_are_told_together_and_each_once(
    db: Database, amina_id: str, by: Changer, source: str
) -> None:
    hears_of_opt_outs(db, amina_id)
    owner = ContactOwner(amina_id, False)
    some = phones(4)

    def saved(*opted_out: bool | None) -> None:
        changes = [
            ContactPatch(parse_phone(phone), {} if is_out is None else {"opted_out": is_out})
            for phone, is_out in zip(some, opted_out, strict=True)
        ]
        with db.write() as tx:
            contacts.upsert(tx, owner, changes, by=by, now_ms=clock.now_ms())

    saved(True, True, False, None)
    saved(True, None, None, None)
    assert told_of_opt_outs(db) == [Told("out", phone, source) for phone in some[:2]]
    inserted: list[str] = []

    def after(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "INTO webhook_events" in statement:
            inserted.append(statement)

    sa.event.listen(db.engine, "after_cursor_execute", after)
    saved(False, True, True, True)
    sa.event.remove(db.engine, "after_cursor_execute", after)
    assert told_of_opt_outs(db)[2:] == [
        Told("in", some[0], source),
        Told("out", some[2], source),
        Told("out", some[3], source),
    ]
    if db.engine.dialect.name == "postgresql":
        assert len(inserted) == 1


def test_a_contact_that_gets_another_phone_tells_of_what_is_new(
    db: Database, amina_id: str
) -> None:
    hears_of_opt_outs(db, amina_id)
    owner = ContactOwner(amina_id, False)
    old, new = phones(2)

    def changed(contact_id: str, phone: str | None, **given: Any) -> None:
        patch = ContactPatch(None if phone is None else parse_phone(phone), given)
        with db.write() as tx:
            contacts.update(
                tx, owner, contact_id, patch, by=contacts.OPERATOR, now_ms=clock.now_ms()
            )

    with db.write() as tx:
        [made] = contacts.upsert(
            tx, owner, [ContactPatch(parse_phone(old))], by=contacts.OPERATOR, now_ms=1
        )
    assert made.contact is not None
    contact_id = contacts.text_id(made.contact)
    changed(contact_id, new, opted_out=True)
    out = [Told("out", phone, "operator") for phone in (old, new)]
    assert told_of_opt_outs(db) == out, "something may be on its way to the old phone, too"
    changed(contact_id, old)
    changed(contact_id, None, opted_out=False)
    assert told_of_opt_outs(db) == [*out, Told("in", old, "operator")]


def test_commands_tell(db: Database, amina_id: str, run: Run) -> None:
    hears_of_opt_outs(db, amina_id)
    for args in (
        ("opt-out", "add", PHONE),
        ("opt-out", "add", PHONE),
        ("opt-out", "add", PHONE, "--sender", "Sales"),
        ("opt-out", "remove", PHONE),
        ("contact", "opt-out", PHONE),
        ("contact", "opt-in", PHONE),
    ):
        assert run(*args, "--account", "amina").status == 0
    assert told_of_opt_outs(db) == [
        Told("out", PHONE, "operator"),
        Told("out", PHONE, "operator", "sales"),
        Told("in", PHONE, "operator"),
        Told("in", PHONE, "operator", "sales"),
        Told("out", PHONE, "operator"),
        Told("in", PHONE, "operator"),
    ]
