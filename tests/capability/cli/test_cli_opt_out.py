"""An operator notes opt-outs, lists them page by page and lifts them. The account's audit log says
so.
"""

import pytest
import sqlalchemy as sa

from heliograph.accounts.audit_log import OPERATOR_NAME
from heliograph.accounts.tables import audit_log
from heliograph.database.database import Database
from tests.support.capability.commands import Run

AMINA = ("--account", "amina")
PHONES = [f"23320123456{digit}" for digit in range(5)]


@pytest.fixture(autouse=True)
def account_in_ghana(run: Run) -> None:
    run("account", "create", "amina", "--country", "GH", "--currency", "GHS")


def listed(run: Run, *options: str) -> list[dict[str, str]]:
    return list(run("opt-out", "list", *AMINA, *options, "--json").json)


def test_an_opt_out_is_noted_once_and_lifted(run: Run, db: Database) -> None:
    noted = run("opt-out", "add", "020 123 4560", *AMINA, "--json").json
    assert (noted["phone"], noted["sender"], noted["source"]) == (PHONES[0], None, "operator")
    assert noted["created"] is True
    again = run("opt-out", "add", PHONES[0], *AMINA, "--json").json
    assert again == {**noted, "created": False}
    of_sender = run("opt-out", "add", PHONES[0], "--sender", "Amina", *AMINA, "--json").json
    assert of_sender["sender"] == "amina"
    assert [each["id"] for each in listed(run)] == [of_sender["id"], noted["id"]]
    assert listed(run, "--mode", "sandbox") == []

    assert run("opt-out", "remove", PHONES[0], "--sender", "AMINA", *AMINA).status == 0
    assert [each["id"] for each in listed(run)] == [noted["id"]]
    assert run("opt-out", "remove", PHONES[0], *AMINA, "--json").json["deleted"] is True
    assert listed(run) == []
    with db.read() as tx:
        entries = tx.execute(sa.select(audit_log.c.action, audit_log.c.author_name)).all()
    assert {(each.action, each.author_name) for each in entries} >= {
        ("opt_out.add", OPERATOR_NAME),
        ("opt_out.remove", OPERATOR_NAME),
    }
    gone = run("opt-out", "remove", PHONES[0], *AMINA)
    assert gone.status == 1
    assert "There is no such opt-out." in gone.err


def test_a_list_goes_on_from_the_last_of_the_page_before(run: Run) -> None:
    for phone in PHONES:
        run("opt-out", "add", phone, *AMINA)
    pages: list[dict[str, str]] = []
    while page := listed(run, "--limit", "2", *(("--before", pages[-1]["id"]) if pages else ())):
        pages += page
    assert [each["phone"] for each in pages] == PHONES[::-1]
    assert f"--before {pages[1]['id']}" in run("opt-out", "list", *AMINA, "--limit", "2").err
    nowhere = run("opt-out", "list", *AMINA, "--before", "con_1")
    assert nowhere.status == 1
    assert "There is no opt-out 'con_1'." in nowhere.err


def test_what_is_no_phone_is_refused(run: Run) -> None:
    refused = run("opt-out", "add", "12", *AMINA)
    assert refused.status == 2
    assert "PHONE must be a phone number in international digits" in refused.err
