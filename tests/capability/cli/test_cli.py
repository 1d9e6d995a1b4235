"""The operator's commands, run as they are typed."""

import re
from contextlib import closing

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from heliograph import keys
from heliograph.base.database_url import without_password
from heliograph.database import migrate
from heliograph.database.database import Database
from heliograph.database.schema import installation, newest_version
from heliograph.keys.tables import api_keys
from heliograph.messages.tables import queue
from heliograph.wallet.tables import wallets
from tests.support.capability.commands import Run

CARRIER = [
    "carrier",
    "add",
    "mtn",
    "--host",
    "smpp.example.net",
    "--port",
    "2775",
    "--system-id",
    "amina",
    "--password-file",
    "-",
]


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


def test_an_account_is_created_shown_set_suspended_and_resumed(run: Run, amina: str) -> None:
    shown = run("account", "show", "Amina Foods", "--json").json
    assert shown == {
        "id": amina,
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
        "time_zone": "UTC",
        "created_at": shown["created_at"],
        "closed_at": None,
        "status_reason": None,
        "status_by": None,
        "status_since": None,
    }
    changed = run(
        "account",
        "set",
        amina,
        "--max-tier",
        "enterprise",
        "--countries",
        "gh,ng",
        "--daily-credits",
        500,
        "--low-balance",
        20,
        "--low-balance-amount",
        "7.50",
        "--time-zone",
        "Africa/Accra",
        "--json",
    ).json
    assert changed == {
        **shown,
        "max_tier": "enterprise",
        "countries": ["GH", "NG"],
        "daily_credits": 500,
        "low_balance_credits": 20,
        "low_balance_amount": 7.5,
        "time_zone": "Africa/Accra",
    }
    run(
        "account",
        "set",
        amina,
        "--max-tier",
        "standard",
        "--countries",
        "all",
        "--daily-credits",
        "none",
        "--low-balance-amount",
        "none",
    )
    assert run("account", "suspend", amina, "--json").json["status"] == "suspended"
    resumed = run("account", "resume", amina, "--json").json
    assert resumed == {
        **shown,
        "status_by": resumed["status_by"],
        "status_since": resumed["status_since"],
        "daily_credits": None,
        "low_balance_credits": 20,
        "time_zone": "Africa/Accra",
    }


def test_lists_go_on_where_they_ended(run: Run) -> None:
    for name in ("amina", "bilal", "chidi"):
        run("account", "create", name, "--country", "GH", "--currency", "GHS")
    first = run("account", "list", "--limit", 2, "--json").json
    rest = run("account", "list", "--limit", 2, "--before", first[-1]["id"], "--json").json
    assert sorted(account["name"] for account in first + rest) == ["amina", "bilal", "chidi"]
    printed = run("account", "list", "--limit", 2)
    assert re.split("  +", printed.out.splitlines()[0]) == [
        "ID",
        "NAME",
        "COUNTRY CODE",
        "STATUS",
        "SMS CREDITS",
        "WALLET BALANCE",
        "WALLET CURRENCY",
    ]
    assert printed.err == f"There may be more: --before {first[-1]['id']}\n"


def test_a_key_is_shown_once_and_opens_the_account(run: Run, amina: str, database_url: str) -> None:
    made = run(
        "key",
        "create",
        "--account",
        amina,
        "--mode",
        "sandbox",
        "--tier",
        "enterprise",
        "--permissions",
        "sms.send,sms.read",
        "--expires",
        "90d",
        "--json",
    ).json
    assert made["key"].startswith("sk_test_")
    assert (made["account_id"], made["tier"], made["permissions"], made["sandbox"]) == (
        amina,
        "enterprise",
        ["sms.send", "sms.read"],
        True,
    )
    database = Database(database_url)
    with database.read() as tx:
        assert bytes(tx.execute(sa.select(api_keys.c.sha256)).scalar_one()) == keys.digest(
            made["key"]
        )
    database.close()
    listed = run("key", "list", "--account", "Amina Foods", "--json")
    assert [key["id"] for key in listed.json] == [made["id"]]
    assert made["key"] not in listed.out
    assert "LAST USED AT" in run("key", "list").out
    assert run("key", "revoke", made["id"], "--json").json["revoked_at"] is not None


def test_credits_and_money_are_posted_once_for_a_reference(run: Run, amina: str) -> None:
    granted = run(
        "credits",
        "grant",
        "--account",
        amina,
        "--credits",
        500,
        "--reason",
        "Invoice 17",
        "--reference",
        "inv-17",
        "--json",
    ).json
    assert granted == {
        "id": granted["id"],
        "account_id": amina,
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
    again = run(
        "credits",
        "grant",
        "--account",
        amina,
        "--credits",
        500,
        "--reason",
        "Invoice 17",
        "--reference",
        "inv-17",
        "--json",
    ).json
    assert again == {**granted, "applied": False}
    grant = (
        "credits",
        "grant",
        "--account",
        amina,
        "--reason",
        "Invoice 17",
        "--reference",
        "inv-17",
        "--credits",
    )
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
    assert (
        run(
            "credits",
            "adjust",
            "--account",
            amina,
            "--credits",
            -100,
            "--reason",
            "twice",
            "--json",
        ).json["credits_after"]
        == 1400
    )
    assert (
        run(
            "wallet", "topup", "--account", amina, "--amount", "0.50", "--reason", "cash", "--json"
        ).json["balance_after"]
        == 50.5
    )
    assert (
        run(
            "wallet",
            "adjust",
            "--account",
            amina,
            "--amount",
            "-50.5",
            "--reason",
            "charges",
            "--json",
        ).json["balance_after"]
        == 0
    )
    assert run("ledger", "verify", "--json").json == {
        "proven": True,
        "wallets": 1,
        "ledger_entries": 6,
        "webhook_events": 0,
        "discrepancies": [],
    }


def test_senders_are_registered_and_decided(run: Run, amina: str) -> None:
    sender = run(
        "sender",
        "register",
        "AMINA",
        "--account",
        amina,
        "--country",
        "gh",
        "--purpose",
        "orders",
        "--default",
        "--json",
    ).json
    assert (sender["status"], sender["account_id"], sender["default"], sender["customer_id"]) == (
        "submitted",
        amina,
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
        run("sender", "register", "amina", "--account", amina, "--approve", "--json").json["status"]
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


def test_a_carrier_is_shown_with_all_that_is_known_of_it(run: Run, database_url: str) -> None:
    run(*CARRIER, "--status", "0x45=retry", "--window", 5, stdin="secret\n")
    # what a server has found out of it
    with closing(Database(database_url)) as db, db.write() as tx:
        tx.execute(
            sa.text("""
                    UPDATE carriers SET id_format = 'hex', state = 'bound', state_detail = '1 of 1'
                        WHERE name = 'mtn'""")
        )
    known = run("carrier", "show", "mtn", "--json").json
    assert known in run("carrier", "list", "--json").json
    assert (
        known.items()
        >= {
            "window": 5,
            "status_overrides": {"0x45": "retry"},
            "learnt_id_format": "hex",
            "state": "bound",
        }.items()
    )
    told = dict(line.split("  ", 1) for line in run("carrier", "show", "mtn").out.splitlines())
    assert {name: value.strip() for name, value in told.items()}.items() >= {
        "window": "5",
        "id format": "auto",
        "learnt id format": "hex",
        "state detail": "1 of 1",
        "status_overrides 0x45": "retry",
    }.items()
    assert "secret" not in str(known)
    assert "There is no carrier 'gh'." in run("carrier", "show", "gh").err


def test_a_carrier_gets_routes_drains_and_goes_once_nothing_waits_for_it(
    run: Run, database_url: str
) -> None:
    added = run(
        "carrier",
        "add",
        "mtn",
        "--type",
        "smpp",
        "--host",
        "smpp.example.net",
        "--port",
        2775,
        "--system-id",
        "amina",
        "--password-file",
        "-",
        "--tps",
        50,
        "--source-ton-npi",
        "5,0",
        "--json",
        stdin="p4ssw0rd\n",
    )
    assert "p4ssw0rd" not in added.out + added.err
    assert {
        name: added.json[name]
        for name in (
            "name",
            "host",
            "tps",
            "window",
            "source_ton_npi",
            "alphabet",
            "in_doubt",
            "draining",
        )
    } == {
        "name": "mtn",
        "host": "smpp.example.net",
        "tps": 50.0,
        "window": 10,
        "source_ton_npi": [5, 0],
        "alphabet": "gsm",
        "in_doubt": "resend",
        "draining": False,
    }
    changed = run(
        "carrier", "set", "mtn", "--tls", "--window", 5, "--source-ton-npi", "auto", "--json"
    ).json
    assert (changed["tls"], changed["window"], changed["source_ton_npi"]) == (True, 5, None)
    assert run("route", "set", "233", "mtn,simulator", "--json").json == {
        "prefix": "233",
        "carriers": ["mtn", "simulator"],
    }
    assert run("route", "set", "", "simulator").status == 0
    assert [route["prefix"] for route in run("route", "list", "--json").json] == ["", "233"]
    assert "still has routes: 233" in run("carrier", "remove", "mtn").err
    run("route", "remove", "233")
    database = Database(database_url)
    with database.write() as tx:
        carrier_id = tx.execute(sa.text("SELECT id FROM carriers WHERE name = 'mtn'")).scalar_one()
        tx.execute(
            queue.insert().values(
                carrier_id=carrier_id,
                rank_us=1,
                first_id="f" * 32,
                count=3,
                send_id="e" * 32,
                segments=1,
                prefix="",
                attempt=1,
                not_before_ms=0,
                expires_at_ms=0,
            )
        )
    assert run("carrier", "drain", "mtn", "--json").json["messages_waiting"] == 3
    assert (
        run("carrier", "remove", "mtn").err
        == "heliograph: The carrier mtn still has 3 messages. Let it drain first.\n"
    )
    with database.write() as tx:
        tx.execute(queue.delete())
    database.close()
    assert run("carrier", "remove", "mtn", "--json").json == {"name": "mtn", "removed": True}
    assert [carrier["name"] for carrier in run("carrier", "list", "--json").json] == ["simulator"]


def test_rates_and_tiers_are_set_listed_and_removed(run: Run, amina: str) -> None:
    assert run("rate", "set", "gh", 2, "--json").json == {
        "destination": "GH",
        "credits": 2,
        "account_id": None,
    }
    assert run("rate", "set", "23324", "none", "--account", amina, "--json").json == {
        "destination": "23324",
        "credits": None,
        "account_id": amina,
    }
    assert len(run("rate", "list", "--json").json) == 2
    assert run("rate", "list", "--account", amina, "--json").json == [
        {"destination": "23324", "credits": None, "account_id": amina}
    ]
    assert run("rate", "remove", "23324", "--account", amina).status == 0
    assert run("tier", "set", "bulk", 5000, "--json").json == {"name": "bulk", "per_minute": 5000}
    assert run("tier", "list", "--json").json[-1] == {"name": "bulk", "per_minute": 5000}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["account", "show", "nobody"], "There is no account with the id or name 'nobody'."),
        (
            [
                "credits",
                "adjust",
                "--account",
                "Amina Foods",
                "--credits",
                "-1001",
                "--reason",
                "x",
            ],
            "The wallet holds 1000 SMS credits; this takes 1001.",
        ),
        (["key", "revoke", "key_nonsense"], "There is no key with the id 'key_nonsense'."),
        (["carrier", "set", "mtn", "--tls"], "There is no carrier 'mtn'."),
        (["rate", "remove", "GH"], "There is no such rate for 'GH'."),
        (
            ["serve", "--host", "a..b"],
            "Cannot listen on a..b port 8080: Name or service not known.",
        ),
    ],
)
def test_a_failure_is_one_line_and_status_1(
    run: Run, amina: str, args: list[str], told: str
) -> None:
    said = run(*args, stdin="p4ssw0rd\n")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("heliograph: ")
    assert told in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["account", "create", "x", "--country", "GHA", "--currency", "GHS"],
            "heliograph: --country must be a country of ISO 3166-1",
        ),
        (
            ["account", "set", "Amina Foods", "--max-tier", "gold"],
            "heliograph: --max-tier must be one of free, standard, enterprise",
        ),
        (
            ["wallet", "topup", "--account", "Amina Foods", "--amount", "0.001", "--reason", "x"],
            ": --amount has more decimals than the 2 of",
        ),
        (
            ["sender", "register", "NO!", "--account", "Amina Foods"],
            "heliograph: SENDER must have 3 to 11 of",
        ),
        (["route", "set", "233", "nobody"], "carrier must be one of simulator; not 'nobody'."),
        (
            ["rate", "set", "-1", "1"],
            (
                "PREFIX|COUNTRY|default must be the first 1 to 15 digits of numbers, a country such"
                " as GH, or default; not '-1'."
            ),
        ),
        (
            [
                "key",
                "create",
                "--account",
                "Amina Foods",
                "--mode",
                "live",
                "--permissions",
                "all,x",
            ],
            ": --permissions must be all, or some of sms.send, ",
        ),
        (
            [
                "key",
                "create",
                "--account",
                "Amina Foods",
                "--mode",
                "live",
                "--permissions",
                "all,x",
            ],
            "sender_ids.write; not 'x'.",
        ),
        (
            [
                "key",
                "create",
                "--account",
                "Amina Foods",
                "--mode",
                "live",
                "--permissions",
                "all,sms.send",
            ],
            "; not 'all' beside others.",
        ),
        (
            [
                "account",
                "create",
                "x",
                "--country",
                "GH",
                "--currency",
                "GHS",
                "--balance",
                "0.001",
            ],
            "heliograph: --balance has more decimals",
        ),
        (
            ["account", "create", "acc_1", "--country", "GH", "--currency", "GHS"],
            "heliograph: NAME must not begin like an id",
        ),
        (
            ["route", "set", "+233", "simulator"],
            "heliograph: PREFIX must be the first 1 to 15 digits",
        ),
        ([*CARRIER, "--window", "0"], "heliograph: --window cannot be 0 (allowed: 1..10000)."),
        (
            [*CARRIER, "--source-ton-npi", "9,9"],
            "heliograph: --source-ton-npi cannot be 9,9 (allowed: 0..6, and one of 0, 1, 3,",
        ),
        (
            [*CARRIER, "--dest-ton-npi", "1,2"],
            "heliograph: --dest-ton-npi cannot be 1,2 (allowed: ",
        ),
        (
            [
                "key",
                "create",
                "--account",
                "Amina Foods",
                "--mode",
                "live",
                "--permissions",
                "all",
                "--expires",
                "2020-01-01",
            ],
            "heliograph: --expires must lie in the future",
        ),
    ],
)
def test_a_value_that_is_refused_is_one_line_and_status_2(
    run: Run, amina: str, args: list[str], told: str
) -> None:
    said = run(*args, stdin="p4ssw0rd\n")
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith("heliograph: ")
    assert told in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["account", "create", "x"],
        ["account", "set", "Amina Foods"],
        ["key", "create", "--account", "x", "--mode", "both"],
        ["credits", "grant", "--account", "x", "--credits", "0", "--reason", "x"],
        *(
            ["wallet", "topup", "--account", "x", "--amount", amount, "--reason", "x"]
            for amount in ("NaN", "1_0", "٣", "1e2")
        ),
        ["carrier", "add", "mtn", "--host", "h", "--port", "2775", "--system-id", "s"],
        ["carrier", "add", "mtn", "--host", "h", "--port", "2775"],
        ["carrier", "set", "mtn", "--password-file", "/nowhere"],
        CARRIER,
        ["carrier", "set", "mtn"],
        ["rate", "set", "GH", "-1"],
        [
            "key",
            "create",
            "--account",
            "x",
            "--mode",
            "live",
            "--permissions",
            "all",
            "--expires",
            "soon",
        ],
    ],
)
def test_a_mistake_in_the_command_line_is_status_2(run: Run, args: list[str]) -> None:
    said = run(*args)
    assert said.status == 2, said
    assert "Usage: " in said.err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["rate", "set", "GH", "-1"],
            "'CREDITS|none': '-1' is not a whole number of 0 or more, or none.",
        ),
        (
            ["rate", "set", "GH", "1.5", "--account", "x"],
            "'CREDITS|none': '1.5' is not a whole number of 0 or more, or none.",
        ),
        (["tier", "set", "bulk", "-5"], "'PER_MINUTE': '-5' is not a whole number of 1 or more."),
        (
            ["account", "create", "x", "--country", "GH", "--currency", "GHS", "--balance", "-1"],
            "'--balance': '-1' is not a number of 0 or more.",
        ),
        (
            ["account", "set", "x", "--low-balance-amount", "x"],
            "'--low-balance-amount': 'x' is not a number, or none.",
        ),
        (["serve", "--port", "65536"], "'--port': '65536' is not a whole number from 0 to 65535."),
        (["smsc", "--stats", "nan"], "'nan' is not a number of 0.1 or more."),
        (["smsc", "--stats", "inf"], "'inf' is not a number of 0.1 or more."),
        ([*CARRIER, "--tps", "NaN"], "'NaN' is not a number of 0 or more."),
        (["carrier", "set", "mtn", "--tps", "-1"], "-1.0 is not in the range x>=0"),
        (["carrier", "list", "-5"], "Got unexpected extra argument (-5)"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_can(
    run: Run, args: list[str], told: str
) -> None:
    said = run(*args)
    assert (said.status, told in said.err) == (2, True), said.err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["acount", "list"], "No such command 'acount'. Did you mean 'account'?"),
        (["restore_check"], "Did you mean 'restore-check'?"),
        (["account", "creat", "x"], "No such command 'creat'. Did you mean 'create'?"),
        (
            ["account", "list", "--limits", "5"],
            "No such option '--limits'. Did you mean '--limit'?",
        ),
        (
            ["credits", "adjust", "--acount", "x", "--credits", "-5", "--reason", "x"],
            "No such option '--acount'. Did you mean '--account'?",
        ),
        (["zzzz"], "No such command 'zzzz'."),
    ],
)
def test_a_name_that_is_nearly_right_gets_a_suggestion(
    run: Run, args: list[str], told: str
) -> None:
    said = run(*args)
    assert (said.status, told in said.err.splitlines()[-1]) == (2, True), said.err


def test_a_ledger_that_is_not_proven_names_the_account(
    run: Run, amina: str, database_url: str
) -> None:
    database = Database(database_url)
    with database.write() as tx:
        tx.execute(wallets.update().values(sms_credits=7))
    database.close()
    for args in (["--json"], []):
        said = run("ledger", "verify", *args)
        assert said.status == 1
        assert said.err.startswith(
            f"heliograph: The ledger is not proven: account {amina}: the wallet holds 7 credits"
        )
        assert amina in said.out


def test_an_account_is_not_half_created(run: Run) -> None:
    assert (
        run(
            "account", "create", "x", "--country", "GH", "--currency", "GHS", "--balance", "0.001"
        ).status
        == 2
    )
    assert run("account", "list", "--json").json == []


def test_a_database_without_this_schema_is_migrated_on_sqlite_and_refused_on_postgresql(
    run: Run, database_url: str
) -> None:
    database = Database(database_url)

    def set_version(version: str, readable_by: str) -> None:
        with database.write() as tx:
            tx.execute(
                sa.text("UPDATE alembic_version SET version_num = :version"), {"version": version}
            )
            tx.execute(sa.update(installation).values(readable_by=readable_by))

    with database.read() as tx:
        assert migrate.is_current(tx)
    assert newest_version() == ScriptDirectory.from_config(migrate._config()).get_current_head()
    if database.postgresql:
        with database.write() as tx:
            tx.execute(sa.text("ALTER TABLE alembic_version RENAME TO away"))
        refused = run("tier", "list")
        with database.write() as tx:
            tx.execute(sa.text("ALTER TABLE away RENAME TO alembic_version"))
        assert (refused.status, refused.err) == (
            1,
            (
                f"heliograph: The database {without_password(database_url)} does not have the"
                " schema that this version needs; run `heliograph migrate`.\n"
            ),
        )
    set_version("9999", readable_by="9998")
    assert "Use the newer version" in run("tier", "list").err
    assert "a database with schema 9999, which this version" in run("migrate").err
    with database.read() as tx:
        assert not migrate.is_current(tx)
    # a newer version's, which leaves all as it was for this one
    set_version("9999", readable_by=newest_version())
    assert run("tier", "list").status == run("migrate").status == 0
    with database.read() as tx:
        assert migrate.is_current(tx)
    set_version(newest_version(), readable_by="0010")
    assert run("migrate", "--json").json == {
        "database": "postgresql" if database.postgresql else "sqlite",
        "schema": newest_version(),
    }
    database.close()
