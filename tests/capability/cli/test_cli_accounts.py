"""Accounts and their ledgers, as the operator's commands show and change them."""

import pytest
import sqlalchemy as sa

from heliograph.accounts.tables import account_history
from heliograph.cli.accounts import wallet as cli_wallet
from heliograph.database.database import Database
from heliograph.wallet.tables import ENTRY_TYPES
from tests.support.capability.commands import Run


@pytest.fixture
def amina(run: Run) -> str:
    """The id of an account with 1,000 credits and 50 GHS."""
    made = run(
        "account",
        "create",
        "Amina Foods",
        "--country",
        "gh",
        "--currency",
        "ghs",
        "--credits",
        1000,
        "--balance",
        "50",
        "--json",
    )
    return str(made.json["id"])


def test_a_second_account_of_a_name_is_made_only_when_it_is_meant(run: Run, amina: str) -> None:
    wanted = ("account", "create", " Amina Foods ", "--country", "GH", "--currency", "GHS")
    refused = run(*wanted)
    assert (refused.status, refused.out) == (1, "")
    assert (
        refused.err
        == f"heliograph: There is an account of this name already, {amina}. With --same-name there"
        " are two, which commands tell apart by their ids only.\n"
    )
    second = run(*wanted, "--same-name", "--json").json["id"]
    assert (
        run("account", "show", "Amina Foods").err
        == f"heliograph: Several accounts are named 'Amina Foods'; say which by its id: {amina},"
        f" {second}.\n"
    )
    assert run("account", "rename", second, "Amina Foods").status == 1
    assert (
        run("account", "rename", amina, "Amina Foods", "--same-name", "--json").json["id"] == amina
    )


def test_an_account_is_renamed_and_found_by_its_new_name_only(run: Run, amina: str) -> None:
    before = run("account", "show", amina, "--json").json
    assert run("account", "rename", "Amina Foods", " Amina Foods Ltd ", "--json").json == {
        **before,
        "name": "Amina Foods Ltd",
    }
    assert (
        run("account", "show", "Amina Foods").err
        == "heliograph: There is no account with the id or name 'Amina Foods'.\n"
    )
    # its own name is no other account's
    assert (
        run("account", "rename", amina, "Amina Foods Ltd", "--json").json["name"]
        == "Amina Foods Ltd"
    )
    assert run("account", "rename", amina, "acc_amina").err.startswith(
        "heliograph: NAME must not begin like an id"
    )


def test_why_an_account_was_suspended_is_kept_with_who_did_it_and_when(
    run: Run, amina: str, db: Database
) -> None:
    suspended = run(
        "account",
        "suspend",
        amina,
        "--reason",
        " Invoice 17 is not paid ",
        "--by",
        "kofi",
        "--json",
    ).json
    assert (suspended["status"], suspended["status_reason"], suspended["status_by"]) == (
        "suspended",
        "Invoice 17 is not paid",
        "kofi",
    )
    assert run("account", "show", amina, "--json").json == suspended
    resumed = run("account", "resume", amina, "--by", "dede", "--json").json
    assert (resumed["status"], resumed["status_reason"], resumed["status_by"]) == (
        "active",
        None,
        "dede",
    )
    assert resumed["status_since"] >= suspended["status_since"]
    refused = run("account", "suspend", amina, "--reason", "a\nb")
    assert (refused.status, refused.err) == (
        2,
        "heliograph: --reason must be one line of printable characters.\n",
    )
    # the suspension was not half made
    assert run("account", "show", amina, "--json").json == resumed
    with db.read() as tx:
        kept = tx.execute(
            sa.select(account_history.c.status, account_history.c.reason).order_by(
                account_history.c.id
            )
        ).all()
    assert [tuple(row) for row in kept] == [
        ("suspended", "Invoice 17 is not paid"),
        ("active", None),
    ]


def test_transactions_are_listed_as_the_api_lists_them(run: Run, amina: str) -> None:
    run(
        "credits",
        "adjust",
        "--account",
        amina,
        "--credits",
        -3,
        "--reason",
        "Granted twice",
        "--reference",
        "fix-1",
    )
    run("credits", "buy", "--account", amina, "--credits", 1)  # refused: there is no price
    every = run("wallet", "transactions", "--account", "Amina Foods", "--json").json
    assert [(entry["type"], entry["credits"], entry["amount"]) for entry in every] == [
        ("adjustment", -3, 0),
        ("topup", 0, 50),
        ("credit_grant", 1000, 0),
    ]
    assert every[0] == {
        "id": every[0]["id"],
        "type": "adjustment",
        "amount": 0,
        "currency": "GHS",
        "credits": -3,
        "balance_after": 50,
        "credits_after": 997,
        "description": "Granted twice",
        "reference": "fix-1",
        "created_at": every[0]["created_at"],
    }

    def listed(*options: object) -> list[str]:
        return [
            entry["id"]
            for entry in run("wallet", "transactions", "--account", amina, *options, "--json").json
        ]

    ids = [entry["id"] for entry in every]
    assert listed("--type", "topup") == ids[1:2]
    assert listed("--since", "1h") == listed("--until", "2999-01-01") == ids
    assert listed("--until", "1h") == []
    assert listed("--limit", 1) == ids[:1]
    assert listed("--limit", 2, "--before", ids[0]) == ids[1:]
    assert (
        run("wallet", "transactions", "--account", amina, "--limit", 1).err
        == f"There may be more: --before {ids[0]}\n"
    )
    assert run("wallet", "transactions", "--account", amina, "--before", "txn_x").status == 1
    assert run("wallet", "transactions", "--account", amina, "--type", "gift").status == 2


def test_the_kinds_of_transactions_that_can_be_asked_for_are_those_there_are() -> None:
    assert cli_wallet._TYPES == ENTRY_TYPES
