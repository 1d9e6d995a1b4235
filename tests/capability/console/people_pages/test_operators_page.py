"""Admins say in the console who runs the service, and in which role."""

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import OperatorRole, operators, passwords, sign_ins, two_step
from heliograph.users import tables as user_tables
from tests.support.console.logs import LATEST, logged
from tests.support.console.operators import OPERATOR, sign_in_operator
from tests.support.console.people import WHY, YAW, link_in, user_named
from tests.support.portal.authenticator import given_codes
from tests.support.portal.visitor import Visitor

PATH = "/console/people/operators"


@pytest.fixture
def admin(visitor: Visitor, db: Database) -> Visitor:
    """Returns a browser in which the only admin is signed in."""
    sign_in_operator(visitor, db)
    visitor.get(PATH)
    return visitor


def role_of(db: Database, email: str) -> OperatorRole | None:
    with db.read() as tx:
        return operators.role_of(tx, users.find(tx, email).id)


def path_of(db: Database, email: str) -> str:
    return f"/console/people/{users.text_id(user_named(db, email))}/operator"


def test_an_operator_is_added_changed_and_taken_away(admin: Visitor, db: Database) -> None:
    link = link_in(admin.post(PATH, {"email": YAW, "role": "finance", **WHY}))
    with db.write() as tx:
        begun = sign_ins.begin(tx, link, seen_by="", now_ms=clock.now_ms())
    assert not begun.waits
    page = admin.get(PATH).text
    assert "not set up yet" in page
    assert ">app<" in page.replace("\n", ""), "the admin has one"
    path = path_of(db, YAW)
    assert admin.post(path, {"do": "role", "role": "auditor", **WHY}).status_code == 303
    assert role_of(db, YAW) is OperatorRole.AUDITOR
    with db.read() as tx, pytest.raises(sign_ins.NotSignedIn):
        sign_ins.session_of(tx, begun.secret, now_ms=clock.now_ms())
    for _ in range(2):
        assert admin.post(path, {"do": "remove", **WHY}).headers["location"] == PATH
    assert role_of(db, YAW) is None
    assert [(entry.action, entry.before, entry.after) for entry in logged(db)] == [
        ("operator.remove", f"{YAW} auditor", None),
        ("operator.role", f"{YAW} finance", f"{YAW} auditor"),
        ("user.link", None, f"shown for {YAW}"),
        ("operator.add", None, f"{YAW} finance"),
    ]


def test_who_becomes_an_operator_keeps_nothing_that_somebody_else_may_have_set_up(
    admin: Visitor, db: Database
) -> None:
    now_ms = clock.now_ms()
    with db.write() as tx:
        user = users.add(tx, YAW, now_ms=now_ms)
        passwords.store(tx, user.id, passwords.hash_of("a word of somebody else"), now_ms=now_ms)
        given_codes(tx, user.id, now_ms)
        passkey = {"id": user.id, "user_id": user.id, "name": "theirs", "made_at_ms": now_ms}
        tx.execute(
            user_tables.passkeys.insert().values(
                **passkey, credential_id=b"1", credential=b"1", signatures=0
            )
        )
        assert operators.has_second_step(tx, user.id)
    assert admin.post(PATH, {"email": YAW, "role": "admin", **WHY}).status_code == 200
    with db.read() as tx:
        assert not operators.has_second_step(tx, user.id)
        assert not two_step.is_on(tx, user.id)
        assert two_step.recovery_codes_left(tx, user.id) == 0
        for table in (user_tables.passwords, user_tables.passkeys, user_tables.totps):
            assert tx.execute(table.select().where(table.c.user_id == user.id)).all() == []
    with db.write() as tx:
        passwords.store(tx, user.id, passwords.hash_of("a word of her own"), now_ms=now_ms)
    path = path_of(db, YAW)
    assert admin.post(path, {"do": "role", "role": "auditor", **WHY}).status_code == 303
    with db.read() as tx:
        assert passwords.find(tx, YAW) is not None, "another role takes nothing away"


@pytest.mark.parametrize(
    ("below", "form"),
    [
        ("operator", {"do": "remove"}),
        ("operator", {"do": "role", "role": "support"}),
        ("disable", {"do": "disable"}),
    ],
)
def test_the_last_admin_stays_and_the_page_says_why(
    admin: Visitor, db: Database, below: str, form: dict[str, str]
) -> None:
    path = path_of(db, OPERATOR).replace("/operator", f"/{below}")
    refused = admin.post(path, {**form, **WHY})
    assert refused.status_code == 400
    assert "must stay admin: the console has one admin at least" in refused.text
    assert role_of(db, OPERATOR) is OperatorRole.ADMIN
    assert list(logged(db)) == []
    admin.post(PATH, {"email": YAW, "role": "admin", **WHY})
    assert admin.post(path, {**form, **WHY}).status_code == 303
    assert role_of(db, OPERATOR) is not OperatorRole.ADMIN
    assert admin.get(PATH).status_code == 401, "the own sessions end, too"


def test_a_change_takes_a_fresh_sign_in(admin: Visitor, db: Database) -> None:
    clock.move(11 * 60_000)
    page = admin.post(PATH, {"email": YAW, "role": "admin", **WHY})
    assert "Confirm that it is you" in page.text
    with db.read() as tx:
        assert len(operators.page(tx, PageWanted(9, None))) == 1
        assert users.operator_entries(tx, LATEST) == []
