"""`heliograph user … --operator` manages the people who run the service."""

import pytest

from heliograph import accounts, users
from heliograph.base import clock
from heliograph.base.clock import HOUR_MS, rfc3339
from heliograph.database.database import Database
from heliograph.users import OperatorEntry, OperatorRole, operators, sign_ins
from heliograph.users.operator_log import log_operator
from tests.support.capability.commands import Run, typed

ADD = typed("user add kofi@example.com --operator support --json")


def test_an_operator_is_added_with_a_link_that_signs_in(run: Run, db: Database) -> None:
    added = run(*ADD).json
    assert (added["operator"], added["roles"]) == ("support", [])
    [listed] = run(*typed("user list --json")).json
    assert listed["operator"] == "support"
    with db.write() as tx:
        secret = added["link"].rpartition("/")[2]
        begun = sign_ins.begin(tx, secret, seen_by="", now_ms=clock.now_ms())
        session = sign_ins.session_of(tx, begun.secret, now_ms=clock.now_ms())
        assert operators.role_of(tx, session.user.id) is OperatorRole.SUPPORT
    assert not session.is_two_step, "a link alone is not enough for the console"


@pytest.mark.parametrize("end", ["user remove", "user disable"])
def test_the_role_of_an_operator_is_taken_away(run: Run, db: Database, end: str) -> None:
    link = run(*ADD).json["link"]
    option = ["--operator"] if end == "user remove" else []
    ended = run(*typed(f"{end} kofi@example.com"), *option, "--json").json
    assert ended["operator"] is None
    with db.write() as tx, pytest.raises(sign_ins.NotSignedIn):
        sign_ins.begin(tx, link.rpartition("/")[2], seen_by="", now_ms=clock.now_ms())


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--account amina --operator admin",
        "--account amina",
        "--operator admin --role owner",
        "--account amina --role owner --operator admin",
    ],
)
def test_a_role_is_either_in_an_account_or_in_the_console(
    run: Run, db: Database, amina_id: str, options: str
) -> None:
    refused = run(*typed(f"user add kofi@example.com {options}"))
    assert refused.status == 2
    assert "--account" in refused.err
    with db.read() as tx:
        assert users.page(tx, limit=1) == []


@pytest.mark.parametrize("take", ["add {} --operator auditor", "remove {} --operator"])
def test_the_last_admin_is_refused_at_the_option_that_was_given(run: Run, take: str) -> None:
    run(*typed("user add kofi@example.com --operator admin"))
    refused = run(*typed(f"user {take.format('kofi@example.com')}"))
    assert "--operator must stay admin" in refused.err
    assert "--role" not in refused.err


def test_who_is_no_operator_cannot_be_removed_as_one(run: Run, amina_id: str) -> None:
    run(*typed("user add ama@example.com --account amina --role owner"))
    refused = run(*typed("user remove ama@example.com --operator"))
    assert refused.status == 1
    assert "This user is no operator." in refused.err


def test_the_log_of_operators_is_listed_as_the_console_shows_it(
    run: Run, db: Database, amina_id: str
) -> None:
    now_ms = clock.now_ms()
    with db.write() as tx:
        kofi = users.add(tx, "kofi@example.com", now_ms=now_ms)
        ama = users.add(tx, "ama@example.com", now_ms=now_ms)
        for user, account_id, action, later_ms in (
            (kofi, amina_id, "account.suspend", 0),
            (ama, None, "route.set", HOUR_MS),
            (kofi, None, "carrier.pause", 2 * HOUR_MS),
        ):
            entry = OperatorEntry(action, account_id, "it", "so", "not so", "as agreed")
            log_operator(tx, user, entry, now_ms=now_ms + later_ms)
    clock.move(by_ms=3 * HOUR_MS)
    shown = {
        options: [each["action"] for each in run(*typed(f"user log --json {options}")).json]
        for options in ("", "--limit 1", "--by Kofi@example.com", "--account amina", "--until 90m")
    }
    assert shown == {
        "": ["carrier.pause", "route.set", "account.suspend"],
        "--limit 1": ["carrier.pause"],
        "--by Kofi@example.com": ["carrier.pause", "account.suspend"],
        "--account amina": ["account.suspend"],
        "--until 90m": ["route.set", "account.suspend"],
    }
    [first] = run(*typed("user log --json --account amina")).json
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, amina_id))
    assert first == {
        "time": rfc3339(now_ms),
        "by": "kofi@example.com",
        "action": "account.suspend",
        "account_id": account,
        "record": "it",
        "before": "so",
        "after": "not so",
        "reason": "as agreed",
    }
    header, newest, *_ = run(*typed("user log")).out.splitlines()
    assert header.split()[-4:] == ["RECORD", "BEFORE", "AFTER", "REASON"]
    assert newest.split()[-6:] == ["it", "so", "not", "so", "as", "agreed"]
