"""The operator's commands show and change accounts with their keys, senders and ledgers."""

import re
from typing import Any

import sqlalchemy as sa

from heliograph.accounts.tables import account_history
from heliograph.cli.accounts import wallet as cli_wallet
from heliograph.database.database import Database
from heliograph.keys.issue import digest
from heliograph.keys.tables import api_keys
from heliograph.wallet.tables import ENTRY_TYPES, wallets
from tests.support.capability.commands import Run, typed


def test_an_account_is_created_shown_set_suspended_and_resumed(run: Run, amina_foods: str) -> None:
    shown = run("account", "show", "Amina Foods", "--json").json
    assert shown == {
        "id": amina_foods,
        "partner_id": None,
        "name": "Amina Foods",
        "country_code": "GH",
        "status": "active",
        "wallet": {"balance": 50, "currency": "GHS"},
        "sms_credits": 1000,
        "sandbox": False,
        "low_balance_credits": 100,
        "low_balance_amount": None,
        "max_tier": "standard",
        "countries": None,
        "daily_credits": 10_000,
        "otp_unverified": None,
        "transactional": False,
        "time_zone": "UTC",
        "created_at": shown["created_at"],
        "closed_at": None,
        "status_reason": None,
        "status_by": None,
        "status_since": None,
    }
    changed = run(
        *typed(
            f"account set {amina_foods} --max-tier enterprise --countries gh,ng "
            "--daily-credits 500 --low-balance 20 --low-balance-amount 7.50 "
            "--time-zone Africa/Accra --transactional yes --json"
        )
    ).json
    assert changed == {
        **shown,
        "max_tier": "enterprise",
        "countries": ["GH", "NG"],
        "daily_credits": 500,
        "low_balance_credits": 20,
        "low_balance_amount": 7.5,
        "transactional": True,
        "time_zone": "Africa/Accra",
    }
    run(
        *typed(
            f"account set {amina_foods} --max-tier standard --countries all --daily-credits none "
            "--low-balance-amount none"
        )
    )
    assert run("account", "suspend", amina_foods, "--json").json["status"] == "suspended"
    resumed = run("account", "resume", amina_foods, "--json").json
    assert resumed == {
        **shown,
        "status_by": resumed["status_by"],
        "status_since": resumed["status_since"],
        "daily_credits": None,
        "low_balance_credits": 20,
        "transactional": True,
        "time_zone": "Africa/Accra",
    }


def test_an_account_is_found_by_what_is_known_of_it(run: Run, amina_foods: str) -> None:
    run("account", "create", "Chidi Cars", "--country", "NG", "--currency", "NGN")
    of_amina = ("--account", "Amina Foods")
    run("user", "add", "amina@example.com", "--role", "owner", *of_amina)
    key = run("key", "create", *of_amina, "--mode", "live", "--permissions", "all", "--json").json
    for looked_for in ("MINA", amina_foods, "amina@example.com", key["prefix"]):
        [found] = run("account", "list", "--find", looked_for, "--json").json
        assert found["id"] == amina_foods, looked_for
    assert len(run("account", "list", "--find", "a", "--json").json) == 2
    assert run("account", "list", "--find", "nobody", "--json").json == []
    both = run("account", "list", "--find", "a", "--customers-of", "Amina Foods")
    assert "not both" in both.err


def test_lists_go_on_where_they_ended(run: Run) -> None:
    for name in ("amina", "bilal", "chidi"):
        run("account", "create", name, "--country", "GH", "--currency", "GHS")
    first = run("account", "list", "--limit", 2, "--json").json
    rest = run("account", "list", "--limit", 2, "--before", first[-1]["id"], "--json").json
    assert sorted(account["name"] for account in first + rest) == ["amina", "bilal", "chidi"]
    printed = run("account", "list", "--limit", 2)
    heading = "ID  NAME  COUNTRY CODE  STATUS  SMS CREDITS  WALLET BALANCE  WALLET CURRENCY"
    assert re.split("  +", printed.out.splitlines()[0]) == heading.split("  ")
    assert printed.err == f"There may be more: --before {first[-1]['id']}\n"


def test_a_key_is_shown_once_and_opens_the_account(
    run: Run, amina_foods: str, database_url: str
) -> None:
    made = run(
        *typed(
            f"key create --account {amina_foods} --mode sandbox --tier enterprise --permissions "
            "sms.send,sms.read --expires 90d --json"
        )
    ).json
    assert made["key"].startswith("sk_test_")
    assert (made["account_id"], made["tier"], made["permissions"], made["sandbox"]) == (
        amina_foods,
        "enterprise",
        ["sms.send", "sms.read"],
        True,
    )
    database = Database(database_url)
    with database.read() as tx:
        assert bytes(tx.execute(sa.select(api_keys.c.sha256)).scalar_one()) == digest(made["key"])
    database.close()
    listed = run("key", "list", "--account", "Amina Foods", "--json")
    assert [key["id"] for key in listed.json] == [made["id"]]
    assert made["key"] not in listed.out
    assert "LAST USED AT" in run("key", "list").out
    assert run("key", "revoke", made["id"], "--json").json["revoked_at"] is not None


def test_credits_and_money_are_posted_once_for_a_reference(run: Run, amina_foods: str) -> None:
    grant = typed(
        f"credits grant --account {amina_foods} --reason 'Invoice 17' --reference inv-17 --credits"
    )
    granted = run(*grant, 500, "--json").json
    assert granted == {
        "id": granted["id"],
        "account_id": amina_foods,
        "type": "credit_grant",
        "amount": 0,
        "currency": "GHS",
        "credits": 500,
        "balance_after": 50,
        "credits_after": 1500,
        "description": "Invoice 17",
        "reference": "inv-17",
        "created_at": granted["created_at"],
        "applied": True,
    }
    assert run(*grant, 500, "--json").json == {**granted, "applied": False}
    assert "this reference was already applied" in run(*grant, 500).out
    other = run(*grant, 600)
    assert (other.status, other.out, other.err) == (
        2,
        "",
        (
            "heliograph: --reference 'inv-17' was already applied, with 500 SMS credits"
            f" ({granted['id']}).\n"
        ),
    )


def test_credits_and_money_are_adjusted_and_the_ledger_proves_it(
    run: Run, amina_foods: str
) -> None:
    def posted(line: str) -> Any:
        return run(*typed(f"{line} --account {amina_foods} --json")).json

    run(*typed(f"credits grant --account {amina_foods} --credits 500 --reason 'Invoice 17'"))
    assert posted("credits adjust --credits -100 --reason twice")["credits_after"] == 1400
    assert posted("wallet topup --amount 0.50 --reason cash")["balance_after"] == 50.5
    assert posted("wallet adjust --amount -50.5 --reason charges")["balance_after"] == 0
    assert run("ledger", "verify", "--json").json == {
        "proven": True,
        "wallets": 1,
        "ledger_entries": 6,
        "webhook_events": 0,
        "discrepancies": [],
    }


def test_senders_are_registered_and_decided(run: Run, amina_foods: str) -> None:
    sender = run(
        *typed(
            f"sender register AMINA --account {amina_foods} --country gh --purpose orders "
            "--default --json"
        )
    ).json
    assert (sender["status"], sender["account_id"], sender["default"], sender["customer_id"]) == (
        "submitted",
        amina_foods,
        True,
        None,
    )
    assert [
        found["id"] for found in run("sender", "list", "--status", "submitted", "--json").json
    ] == [sender["id"]]
    assert (
        run("sender", "reject", sender["id"], "--reason", "a letter, please", "--json").json[
            "rejection_reason"
        ]
        == "a letter, please"
    )
    assert (
        run("sender", "register", "amina", "--account", amina_foods, "--approve", "--json").json[
            "status"
        ]
        == "approved"
    )
    assert (
        run("sender", "suspend", sender["id"], "--reason", "complaints", "--json").json["status"]
        == "suspended"
    )
    assert run("sender", "approve", sender["id"], "--json").json["status"] == "approved"
    assert (
        run("sender", "reject", sender["id"], "--reason", "no").err
        == "heliograph: The sender amina is approved; only one that is submitted can be rejected.\n"
    )


def test_a_ledger_that_is_not_proven_names_the_account(
    run: Run, amina_foods: str, database_url: str
) -> None:
    database = Database(database_url)
    with database.write() as tx:
        tx.execute(wallets.update().values(sms_credits=7))
    database.close()
    for args in (["--json"], []):
        said = run("ledger", "verify", *args)
        assert said.status == 1
        assert said.err.startswith(
            f"heliograph: The ledger is not proven: account {amina_foods}: the wallet holds 7"
            " credits"
        )
        assert amina_foods in said.out


def test_an_account_is_not_half_created(run: Run) -> None:
    assert (
        run(
            "account", "create", "x", "--country", "GH", "--currency", "GHS", "--balance", "0.001"
        ).status
        == 2
    )
    assert run("account", "list", "--json").json == []


def test_a_second_account_of_a_name_is_made_only_when_it_is_meant(
    run: Run, amina_foods: str
) -> None:
    wanted = ("account", "create", " Amina Foods ", "--country", "GH", "--currency", "GHS")
    refused = run(*wanted)
    assert (refused.status, refused.out) == (1, "")
    assert (
        refused.err
        == f"heliograph: There is already an account of this name, {amina_foods}. With --same-name"
        " you make another one; commands then need an id instead of the name.\n"
    )
    second = run(*wanted, "--same-name", "--json").json["id"]
    assert (
        run("account", "show", "Amina Foods").err
        == f"heliograph: Several accounts are named 'Amina Foods'; say which by its id:"
        f" {amina_foods}, {second}.\n"
    )
    assert run("account", "rename", second, "Amina Foods").status == 1
    assert (
        run("account", "rename", amina_foods, "Amina Foods", "--same-name", "--json").json["id"]
        == amina_foods
    )


def test_an_account_is_renamed_and_found_by_its_new_name_only(run: Run, amina_foods: str) -> None:
    before = run("account", "show", amina_foods, "--json").json
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
        run("account", "rename", amina_foods, "Amina Foods Ltd", "--json").json["name"]
        == "Amina Foods Ltd"
    )
    assert run("account", "rename", amina_foods, "acc_amina").err.startswith(
        "heliograph: NAME must not begin like an id"
    )


def test_why_an_account_was_suspended_is_kept_with_who_did_it_and_when(
    run: Run, amina_foods: str, db: Database
) -> None:
    suspended = run(
        "account",
        "suspend",
        amina_foods,
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
    assert run("account", "show", amina_foods, "--json").json == suspended
    resumed = run("account", "resume", amina_foods, "--by", "dede", "--json").json
    assert (resumed["status"], resumed["status_reason"], resumed["status_by"]) == (
        "active",
        None,
        "dede",
    )
    assert resumed["status_since"] >= suspended["status_since"]
    refused = run("account", "suspend", amina_foods, "--reason", "a\nb")
    assert (refused.status, refused.err) == (
        2,
        "heliograph: --reason must be one line of printable characters.\n",
    )
    # the suspension was not half made
    assert run("account", "show", amina_foods, "--json").json == resumed
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


def test_transactions_are_listed_as_the_api_lists_them(run: Run, amina_foods: str) -> None:
    run(
        "credits",
        "adjust",
        "--account",
        amina_foods,
        "--credits",
        -3,
        "--reason",
        "Granted twice",
        "--reference",
        "fix-1",
    )
    run("credits", "buy", "--account", amina_foods, "--credits", 1)  # refused: there is no price
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
            for entry in run(
                "wallet", "transactions", "--account", amina_foods, *options, "--json"
            ).json
        ]

    ids = [entry["id"] for entry in every]
    assert listed("--type", "topup") == ids[1:2]
    assert listed("--since", "1h") == listed("--until", "2999-01-01") == ids
    assert listed("--until", "1h") == []
    assert listed("--limit", 1) == ids[:1]
    assert listed("--limit", 2, "--before", ids[0]) == ids[1:]
    assert (
        run("wallet", "transactions", "--account", amina_foods, "--limit", 1).err
        == f"There may be more: --before {ids[0]}\n"
    )
    assert run("wallet", "transactions", "--account", amina_foods, "--before", "txn_x").status == 1
    assert run("wallet", "transactions", "--account", amina_foods, "--type", "gift").status == 2


def test_the_kinds_of_transactions_that_can_be_asked_for_are_those_there_are() -> None:
    assert cli_wallet._TYPES == ENTRY_TYPES
