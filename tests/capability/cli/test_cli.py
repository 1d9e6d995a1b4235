"""The operator's commands are run as they are typed: the tests ask what goes wrong, and how it is
told.
"""

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from heliograph.base.database_url import without_password
from heliograph.database import migrate, schema
from heliograph.database.database import Database
from heliograph.database.schema import installation, newest_version
from tests.support.capability.commands import ADD_CARRIER, Run, typed


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["account", "show", "nobody"], "There is no account with the id or name 'nobody'."),
        (
            typed("credits adjust --account 'Amina Foods' --credits -1001 --reason x"),
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
    run: Run, amina_foods: str, args: list[str], told: str
) -> None:
    said = run(*args, stdin="p4ssw0rd\n")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("heliograph: ")
    assert told in said.err
    assert said.err.count("\n") == 1


@pytest.mark.judged_in_python
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
                "PREFIX|COUNTRY|default must be the first 1 to 15 digits of numbers (never 0"
                " first), a country such as GH, or default; not '-1'."
            ),
        ),
        (
            typed("key create --account 'Amina Foods' --mode live --permissions all,x"),
            ": --permissions must be all, or some of sms.send, ",
        ),
        (
            typed("key create --account 'Amina Foods' --mode live --permissions all,x"),
            "sender_ids.write; not 'x'.",
        ),
        (
            typed("key create --account 'Amina Foods' --mode live --permissions all,sms.send"),
            "; not 'all' beside others.",
        ),
        (
            typed("account create x --country GH --currency GHS --balance 0.001"),
            "heliograph: --balance has more decimals",
        ),
        (
            ["account", "create", "acc_1", "--country", "GH", "--currency", "GHS"],
            "heliograph: NAME must not begin like an id",
        ),
        (
            ["route", "set", "0233", "simulator"],
            (
                "heliograph: PREFIX must be the first 1 to 15 digits of numbers (never 0 first), or"
                " \"\" for all others; not '0233'."
            ),
        ),
        ([*ADD_CARRIER, "--window", "0"], "heliograph: --window cannot be 0 (allowed: 1..10000)."),
        (
            [*ADD_CARRIER, "--source-ton-npi", "9,9"],
            "heliograph: --source-ton-npi cannot be 9,9 (allowed: 0..6, and one of 0, 1, 3,",
        ),
        (
            [*ADD_CARRIER, "--dest-ton-npi", "1,2"],
            "heliograph: --dest-ton-npi cannot be 1,2 (allowed: ",
        ),
        (
            typed(
                "key create --account 'Amina Foods' --mode live --permissions all --expires "
                "2020-01-01"
            ),
            "heliograph: --expires must lie in the future",
        ),
    ],
)
def test_a_value_that_is_refused_is_one_line_and_status_2(
    run: Run, amina_foods: str, args: list[str], told: str
) -> None:
    said = run(*args, stdin="p4ssw0rd\n")
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith("heliograph: ")
    assert told in said.err
    assert said.err.count("\n") == 1


@pytest.mark.judged_in_python
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
        ADD_CARRIER,
        ["carrier", "set", "mtn"],
        ["rate", "set", "GH", "-1"],
        typed("key create --account x --mode live --permissions all --expires soon"),
    ],
)
def test_a_mistake_in_the_command_line_is_status_2(run: Run, args: list[str]) -> None:
    said = run(*args)
    assert said.status == 2, said
    assert "Usage: " in said.err


@pytest.mark.judged_in_python
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
        ([*ADD_CARRIER, "--tps", "NaN"], "'NaN' is not a number of 0 or more."),
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
        assert schema.is_current(tx)
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
        assert not schema.is_current(tx)
    # a newer version's, which leaves all as it was for this one
    set_version("9999", readable_by=newest_version())
    assert run("tier", "list").status == run("migrate").status == 0
    with database.read() as tx:
        assert schema.is_current(tx)
    set_version(newest_version(), readable_by="0010")
    assert run("migrate", "--json").json == {
        "database": "postgresql" if database.postgresql else "sqlite",
        "schema": newest_version(),
    }
    database.close()
