"""`heliograph user …` manages the people who sign in to the portal."""

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import operators, sign_ins, tables, two_step
from tests.support.capability.commands import Run, typed
from tests.support.factories import open_account
from tests.support.portal.authenticator import given_codes


def test_a_user_is_added_with_a_link_that_signs_in(run: Run, db: Database, amina_id: str) -> None:
    added = run(
        "user", "add", "Ama@Example.com", "--account", "amina", "--role", "owner", "--json"
    ).json
    assert added["email"] == "ama@example.com"
    assert added["roles"] == ["owner of amina"]
    base, _, secret = added["link"].rpartition("/")
    assert base == "http://127.0.0.1:8080/portal/sign-in"
    with db.write() as tx:
        session = sign_ins.begin(tx, secret, seen_by="", now_ms=clock.now_ms()).secret
        found = sign_ins.session_of(tx, session, now_ms=clock.now_ms())
    assert users.text_id(found.user) == added["id"]


def test_a_role_is_changed_and_taken_away(run: Run, amina_id: str) -> None:
    run(*typed("user add ama@example.com --account amina --role owner"))
    again = run(
        "user", "add", "ama@example.com", "--account", "amina", "--role", "viewer", "--json"
    ).json
    assert again["roles"] == ["viewer of amina"]
    removed = run("user", "remove", "ama@example.com", "--account", "amina", "--json").json
    assert (removed["id"], removed["roles"]) == (again["id"], [])
    [listed] = run("user", "list", "--json").json
    assert listed["email"] == "ama@example.com"


def test_another_link_is_another_secret(run: Run, amina_id: str) -> None:
    first = run(
        "user", "add", "ama@example.com", "--account", "amina", "--role", "owner", "--json"
    ).json
    second = run("user", "link", first["id"], "--json").json
    assert second["id"] == first["id"]
    assert second["link"] != first["link"]


def test_who_has_lost_phone_and_recovery_codes_is_let_in_without(
    run: Run, db: Database, amina_id: str
) -> None:
    run(*typed("user add ama@example.com --account amina --role owner"))
    with db.write() as tx:
        user = users.find(tx, "ama@example.com")
        given_codes(tx, user.id, clock.now_ms())
        assert two_step.is_on(tx, user.id)
    run(*typed("user two-step-off ama@example.com"))
    with db.read() as tx:
        assert not two_step.is_on(tx, user.id)
        assert two_step.recovery_codes_left(tx, user.id) == 0


def test_an_operator_who_has_lost_the_only_passkey_is_let_in_without(
    run: Run, db: Database
) -> None:
    run(*typed("user add kofi@example.com --operator admin"))
    with db.write() as tx:
        user_id = users.find(tx, "kofi@example.com").id
        tx.execute(
            tables.passkeys.insert().values(
                id="0" * 32,
                user_id=user_id,
                name="phone",
                credential_id=b"1",
                credential=b"1",
                signatures=0,
                made_at_ms=clock.now_ms(),
            )
        )
    for words, is_asked in (("", True), (" --passkeys", False)):
        run(*typed(f"user two-step-off kofi@example.com{words}"))
        with db.read() as tx:
            assert operators.has_second_step(tx, user_id) == is_asked


def test_a_user_is_created_by_the_other_name_too_and_disabled_everywhere(
    run: Run, db: Database, amina_id: str
) -> None:
    open_account(db, "chidi")
    made = run(*typed("user create ama@example.com --account amina --role owner --json")).json
    assert made["roles"] == ["owner of amina"]
    run(*typed("user add ama@example.com --account chidi --role viewer"))
    for _ in range(2):  # then without a role
        link = run(*typed("user link ama@example.com --json")).json["link"]
        disabled = run(*typed("user disable ama@example.com --json")).json
        assert disabled["roles"] == []
        with db.write() as tx, pytest.raises(sign_ins.NotSignedIn):
            sign_ins.begin(tx, link.rpartition("/")[2], seen_by="", now_ms=clock.now_ms())
