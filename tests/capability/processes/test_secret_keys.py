"""A wrong HELIOGRAPH_SECRET_KEY is refused, and another one takes its place without anybody
noticing.
"""

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import carriers, users
from heliograph.base import clock
from heliograph.base.secrets import SecretKeys, encrypt, key_ids
from heliograph.base.settings import SettingError, Settings
from heliograph.database import secret_key_canary
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.leases import Lease, workers
from heliograph.database.sealed_columns import reseal_some
from heliograph.database.secret_key_canary import secret_canary
from heliograph.otp.api import CANARY
from heliograph.otp.code import Codes
from heliograph.otp.sealed_text import text_sealer
from heliograph.processes.checks import key_findings, sealed_secrets
from heliograph.processes.checks.secret_key import require_secret_key
from heliograph.processes.exclusive import DATABASE_LOCK, lock_data_dir
from heliograph.users import two_step
from heliograph.webhooks import endpoints
from tests.support.capability.commands import SECRET_KEY as OLD
from tests.support.capability.commands import Run, runner
from tests.support.capability.passwords import OtpHouse
from tests.support.capability.webhooks import endpoint
from tests.support.factories import awaited, open_carrier, phones
from tests.support.portal.authenticator import STEP_MS, code_of, given_codes

NEW, THIRD = "n" * 32, "t" * 32
BOTH = {"HELIOGRAPH_SECRET_KEY": NEW, "HELIOGRAPH_SECRET_KEY_OLD": OLD}
WRONG = (
    "heliograph: HELIOGRAPH_SECRET_KEY: found a key that cannot read this database's secrets;"
    " allowed: the key that they were stored with;"
)


@pytest.fixture(autouse=True)
def _no_process_needs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_secrets, "SETTLED_MS", 0)


@pytest.fixture
def otp_house(database_url: str) -> Iterator[OtpHouse]:
    otp_house = OtpHouse(database_url)
    yield otp_house
    otp_house.db.close()


class Killed(BaseException):
    """The command was ended half way."""


def settings(db: Database, key: str, old: str | None = None) -> Settings:
    data_dir = Path("/nowhere") if db.postgresql else Path(db.url.removeprefix("sqlite:///")).parent
    return Settings(data_dir, db.url, key, secret_key_old=old)


def stored(db: Database) -> secret_key_canary.Canary:
    with db.read() as tx:
        found = secret_key_canary.load(tx)
    assert found is not None
    return found


def password(db: Database, key: str) -> str:
    with db.read() as tx:
        return carriers.connection_settings(tx, carriers.carrier_named(tx, "mtn"), key).password


@pytest.mark.parametrize("first", [["migrate"], ["account", "list"]])
def test_a_command_with_another_key_is_refused_in_a_line_and_changes_nothing(
    run: Run, first: list[str]
) -> None:
    assert run(*first).status == 0  # whoever comes first makes its key the database's
    for command in (
        ["account", "list"],
        ["account", "create", "amina", "--country", "GH", "--currency", "GHS"],
        ["migrate"],
        ["secret", "rotate"],
    ):
        said = run(*command, HELIOGRAPH_SECRET_KEY=NEW)
        assert (said.status, said.out, said.err.startswith(WRONG), said.err.count("\n")) == (
            1,
            "",
            True,
            1,
        ), said
        assert OLD not in said.err
        assert NEW not in said.err
    assert run("account", "list", "--json").json == []


def test_of_processes_that_come_first_at_once_with_different_keys_one_is_right(
    db: Database,
) -> None:
    def begin(number: int) -> bool:
        own = Database(db.url)
        try:
            require_secret_key(own, settings(db, f"{number}" * 32))
        except SettingError:
            return False
        finally:
            own.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(begin, range(8))) == [False] * 7 + [True]


def test_a_database_of_the_version_before_takes_the_key_that_reads_what_it_holds(
    db: Database,
) -> None:
    open_carrier(db, "mtn")
    with pytest.raises(
        SettingError, match="found a key that cannot decrypt this database's secrets"
    ):
        require_secret_key(db, settings(db, NEW))
    with db.read() as tx:
        assert secret_key_canary.load(tx) is None
    require_secret_key(db, settings(db, NEW, OLD))  # while another one replaces it
    assert secret_key_canary.is_made_with(stored(db).sealed, OLD)


@awaited
async def test_all_that_is_sealed_is_sealed_anew_though_it_was_broken_off_half_way(
    otp_house: OtpHouse, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_carrier(otp_house.db, "mtn")
    made, secret = endpoint(otp_house.db, otp_house.amina_id)
    with otp_house.db.write() as tx:
        _, second = endpoints.rotate(tx, endpoints.text_id(made.id), OLD, now_ms=clock.now_ms())
    sent = [await otp_house.sent(phone) for phone in phones(3)]
    require_secret_key(otp_house.db, settings(otp_house.db, OLD))
    with otp_house.db.write() as tx:
        # of the house's own worker
        tx.execute(sa.update(workers).values(secret_keys=key_ids(SecretKeys(OLD, NEW))))
    monkeypatch.setattr("heliograph.database.sealed_columns.ROWS_AT_ONCE", 1)
    whole, batches = reseal_some, iter(range(4))

    def breaks_off(*given: Any, **named: Any) -> object:
        if next(batches, None) is None:
            raise Killed
        return whole(*given, **named)

    monkeypatch.setattr(sealed_secrets, "reseal_some", breaks_off)
    with pytest.raises(Killed):
        await asyncio.to_thread(
            sealed_secrets.rotate, otp_house.db, settings(otp_house.db, NEW, OLD)
        )
    monkeypatch.setattr(sealed_secrets, "reseal_some", whole)
    assert password(otp_house.db, NEW) == "secret"  # the first batches are done

    with pytest.raises(
        SettingError,
        match="HELIOGRAPH_SECRET_KEY_OLD: found nothing; allowed: the former key, until",
    ):
        require_secret_key(otp_house.db, settings(otp_house.db, NEW))
    with pytest.raises(SettingError, match="HELIOGRAPH_SECRET_KEY: found a key that cannot"):
        require_secret_key(otp_house.db, settings(otp_house.db, OLD))
    rotated = await asyncio.to_thread(run, "secret", "rotate", "--json", **BOTH)
    assert rotated.json["resealed"] == {
        "carrier_passwords": 0,
        "webhook_secrets": 0,
        "former_webhook_secrets": 1,
        "otp_texts": 3,
        "authenticator_secrets": 0,
        "alert_webhook_secrets": 0,
    }
    assert (rotated.json["unreadable"], rotated.err) == ({}, "")
    require_secret_key(otp_house.db, settings(otp_house.db, NEW))

    with otp_house.db.read() as tx:
        assert endpoints.secrets_of(tx, made.id, NEW, clock.now_ms()) == (second, secret)
        texts = tx.scalars(sa.text("SELECT text FROM sends WHERE type = 'otp' ORDER BY id")).all()
    assert [text_sealer(NEW).unseal(text) for text in texts] == [
        f"{each.code} is your code" for each in sent
    ]
    # a process with both keys: a code from before is right for as long as any
    otp_house.verifier._codes = Codes(SecretKeys(NEW, OLD))
    assert await otp_house.give(sent[0].code, phones(1)[0]) == "verified"
    again = await asyncio.to_thread(run, "secret", "rotate", "--json", HELIOGRAPH_SECRET_KEY=NEW)
    assert again.json["resealed"]["otp_texts"] == 0


def test_an_authenticator_app_is_right_after_its_secret_was_sealed_anew(
    db: Database, run: Run
) -> None:
    now_ms = clock.now_ms()
    with db.write() as tx:
        user = users.add(tx, "ama@example.com", now_ms=now_ms)
        secret, _ = given_codes(tx, user.id, now_ms)
    require_secret_key(db, settings(db, OLD))
    rotated = run("secret", "rotate", "--json", **BOTH)
    assert rotated.json["resealed"]["authenticator_secrets"] == 1
    code = code_of(secret, now_ms + STEP_MS)
    with db.write() as tx:
        assert not two_step.use(tx, OLD, user.id, code, now_ms=now_ms)
        assert two_step.use(tx, NEW, user.id, code, now_ms=now_ms)


def test_nothing_is_replaced_while_a_process_runs_that_does_not_know_the_new_key(
    db: Database, run: Run, tmp_path: Path
) -> None:
    run("migrate")
    before, knows_both, old_only = (
        stored(db),
        Lease(db, "api", secret_keys=key_ids(SecretKeys(OLD, NEW))),
        Lease(db, "worker", secret_keys=key_ids(OLD)),
    )
    knows_both.begin()
    old_only.begin()
    with ExitStack() as running:
        if db.postgresql:
            held = running.enter_context(db.engine.connect())
            # as the worker has it
            held.execute(sa.text(f"SELECT pg_advisory_lock_shared({DATABASE_LOCK})"))
        else:
            running.enter_context(lock_data_dir(tmp_path / "data"))
        _refused_until_known(db, run, old_only, before)


def _refused_until_known(
    db: Database, run: Run, old_only: Lease, before: secret_key_canary.Canary
) -> None:
    refused = run("secret", "rotate", **BOTH)
    assert (refused.status, refused.err) == (
        1,
        (
            "heliograph: Some running processes do not know this HELIOGRAPH_SECRET_KEY: 1 worker."
            " Restart each of them with both keys first. A process that has just died is counted"
            " for 45 s more.\n"
        ),
    )
    with db.write() as tx:
        # one of the version before
        tx.execute(sa.text("UPDATE workers SET secret_keys = NULL WHERE kind = 'worker'"))
    assert run("secret", "rotate", **BOTH).status == 1
    assert stored(db) == before
    old_only.end()
    assert run("secret", "rotate", **BOTH).status == 0


def test_what_is_added_meanwhile_is_sealed_with_the_key_in_use(db: Database, run: Run) -> None:
    run("migrate")
    added = ["--host", "127.0.0.1", "--port", "9", "--system-id", "amina", "--password-file", "-"]
    # before the rotation: processes may have the old one only
    assert run("carrier", "add", "mtn", *added, stdin="first", **BOTH).status == 0
    assert password(db, OLD) == "first"
    run("secret", "rotate", **BOTH)
    assert password(db, NEW) == "first"
    assert run("carrier", "set", "mtn", "--password-file", "-", stdin="second", **BOTH).status == 0
    assert password(db, NEW) == "second"


@awaited
async def test_a_process_seals_codes_with_the_key_in_use_as_soon_as_it_reads_the_configuration(
    db: Database,
) -> None:
    require_secret_key(db, settings(db, OLD))
    cache = ConfigCache(db)
    before = await cache.get(CANARY, 1)
    assert before is not None
    assert secret_key_canary.in_use(before, SecretKeys(NEW, OLD)) == SecretKeys(OLD, NEW)
    await asyncio.to_thread(sealed_secrets.rotate, db, settings(db, NEW, OLD))
    await cache.refresh()
    after = await cache.get(CANARY, 1)
    assert after is not None
    assert secret_key_canary.in_use(after, SecretKeys(NEW, OLD)) == SecretKeys(NEW, OLD)
    await cache.close()


def test_a_copy_from_before_the_rotation_has_the_key_of_then(
    sqlite_url: str, tmp_path: Path
) -> None:
    run, copied = runner(sqlite_url, tmp_path), {"DATABASE_URL": f"sqlite:///{tmp_path}/copy.db"}
    run(
        "carrier",
        "add",
        "mtn",
        "--host",
        "127.0.0.1",
        "--port",
        "9",
        "--system-id",
        "amina",
        "--password-file",
        "-",
        stdin="secret",
    )
    with (
        closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as there,
        closing(sqlite3.connect(tmp_path / "copy.db")) as copy,
    ):
        there.backup(copy)
    assert run("secret", "rotate", **BOTH).status == 0
    assert run("restore-check", HELIOGRAPH_SECRET_KEY=NEW, **copied).err.startswith(WRONG)
    assert run("restore-check", **copied).status == 0
    assert (
        run("secret", "rotate", "--json", **BOTH, **copied).json["resealed"]["carrier_passwords"]
        == 1
    )
    assert run("restore-check", HELIOGRAPH_SECRET_KEY=NEW, **copied).status == 0


def test_a_lost_key_is_given_up_and_what_it_sealed_is_counted(db: Database, run: Run) -> None:
    run("migrate")
    # killed: it has left its row, and nobody runs
    Lease(db, "serve", secret_keys=key_ids(OLD)).begin()
    open_carrier(db, "mtn")
    assert run("carrier", "list", HELIOGRAPH_SECRET_KEY=NEW).err.startswith(WRONG)
    given_up = run("secret", "rotate", "--lost", "--json", HELIOGRAPH_SECRET_KEY=NEW)
    assert given_up.json["unreadable"] == {"carrier_passwords": 1}
    assert given_up.err.startswith(
        "heliograph: some secrets cannot be read with either key: set those carriers' passwords"
    )
    found = _findings(db, NEW)
    assert found["sealed secrets"] == (
        "failure",
        "1 carrier passwords cannot be read with this key",
    )
    assert (
        run(
            "carrier",
            "set",
            "mtn",
            "--password-file",
            "-",
            stdin="again",
            HELIOGRAPH_SECRET_KEY=NEW,
        ).status
        == 0
    )
    assert _findings(db, NEW)["sealed secrets"][0] == "ok"


def _findings(db: Database, key: str, old: str | None = None) -> dict[str, tuple[str, str]]:
    there = Settings(Path(os.sep), db.url, key, secret_key_old=old)
    with db.read() as tx:
        return {
            finding.check: (finding.verdict, finding.found)
            for finding in sealed_secrets.findings(tx, there)
        }


def test_doctor_tells_of_the_key(db: Database, run: Run) -> None:
    assert _findings(db, OLD)["secret key"][0] == "ok"
    run("migrate")
    assert _findings(db, OLD)["secret key"] == ("ok", "fits the database")
    assert _findings(db, NEW)["secret key"][0] == "failure"
    assert _findings(db, NEW, OLD)["secret key"] == (
        "warning",
        "HELIOGRAPH_SECRET_KEY is not in use yet",
    )
    with db.write() as tx:
        secret_key_canary.replace(
            tx, NEW, former=encrypt(OLD, "canary", "x"), now_ms=clock.now_ms()
        )
    assert _findings(db, NEW, OLD)["secret key"][0] == "failure"  # the one before is another one
    with db.write() as tx:
        tx.execute(sa.delete(secret_canary))
    run("migrate")
    run("secret", "rotate", **BOTH)
    assert _findings(db, NEW, OLD)["secret key"][1].startswith(
        "fits the database; the old key is needed until "
    )
    clock.move(key_findings.STILL_VALID_MS)
    assert _findings(db, NEW, OLD)["secret key"][0] == "warning"
