"""`heliograph doctor` tells what is wrong with this installation, or soon will be, and what to
do about it.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa
from redis import Redis
from redis.exceptions import RedisError

from heliograph.base import clock
from heliograph.base.errors import ServiceError
from heliograph.base.private_files import ENTRIES_MAX, find_public_files
from heliograph.base.settings import Settings
from heliograph.carriers import carrier_states, connection_settings, routing
from heliograph.database import restored_copy, schema
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.database.outage import error_in_words
from heliograph.database.sessions import sqlite_path
from heliograph.messages.sweeps import restored
from heliograph.monitoring import CheckResult, carrier_checks, work_checks
from heliograph.processes.checks import database_findings, sealed_secrets

__all__ = ["CheckResult", "examine"]

DISK_BYTES_MIN: Final = 1 << 30
REDIS_TIMEOUT_S: Final = 2
FILES_SHOWN_MAX: Final = 20


def examine(settings: Settings) -> Iterator[CheckResult]:
    """Looks at everything, one thing after the other; never changes anything, though it
    tries to.
    """
    yield CheckResult("settings", "ok", f"data directory {settings.data_dir}")
    yield _disk(settings)
    yield _files(settings)
    yield from _redis(settings)
    yield from _check_public_address(settings)
    db = Database(settings.database_url, settings.synchronous_commit)
    try:
        yield from _database(db, settings)
    except ServiceError as error:
        yield CheckResult(
            "database",
            "failure",
            error_in_words(error),
            "check DATABASE_URL, and that the database runs",
        )
    finally:
        db.close()


def examine_surroundings(db: Database, settings: Settings) -> list[CheckResult]:
    """Returns what is wrong around a process that runs, in its files, its settings, and its
    database: the console reads all else that `examine` finds from the database's rows. Raises
    Unavailable.
    """
    with db.read() as tx:
        found = [
            _files(settings),
            *_check_public_address(settings),
            *_surroundings(tx, db, settings),
            *sealed_secrets.findings_of_key(tx, settings),
        ]
    return [each for each in found if each.verdict != "ok"]


def _disk(settings: Settings) -> CheckResult:
    # on PostgreSQL it may be yet to be made
    existing_folder = next(
        place for place in (settings.data_dir, *settings.data_dir.parents) if place.exists()
    )
    free = shutil.disk_usage(existing_folder).free
    found = f"{free / (1 << 30):.1f} GiB free for the data directory"
    return (
        CheckResult("disk", "ok", found)
        if free >= DISK_BYTES_MIN
        else CheckResult("disk", "warning", found, "make room: without it nothing is accepted")
    )


def _files(settings: Settings) -> CheckResult:
    database = (
        None if settings.database_url.startswith("postgres") else sqlite_path(settings.database_url)
    )
    open_files, is_all = find_public_files(settings.data_dir, database)
    only = (
        ""
        if is_all
        else (
            f"; the data directory holds more than {ENTRIES_MAX} files and folders, of which only"
            " the service's own were looked at"
        )
    )
    if not open_files:
        found = "no other user may read the data directory or the database"
        return CheckResult(
            "files",
            "ok" if is_all else "warning",
            found + only,
            None if is_all else "keep other things in another directory",
        )
    named = ", ".join(map(str, open_files[:FILES_SHOWN_MAX]))
    more = (
        f" and {len(open_files) - FILES_SHOWN_MAX} more"
        if len(open_files) > FILES_SHOWN_MAX
        else ""
    )
    return CheckResult(
        "files",
        "warning",
        f"other users may read {named}{more}{only}",
        "any other command makes its user's own files private (mode 0600, folders 0700); check"
        " that copies elsewhere are private, too",
    )


def _redis(settings: Settings) -> Iterator[CheckResult]:
    if settings.redis_url is None:
        yield CheckResult("redis", "ok", "not used: one process counts its rate limits by itself")
        return
    try:
        with Redis.from_url(
            settings.redis_url,
            socket_timeout=REDIS_TIMEOUT_S,
            socket_connect_timeout=REDIS_TIMEOUT_S,
        ) as redis:
            redis.ping()
        yield CheckResult("redis", "ok", "answers")
    except (RedisError, OSError) as error:
        yield CheckResult(
            "redis",
            "warning",
            f"does not answer ({type(error).__name__})",
            "check REDIS_URL; until then each process counts rate limits alone",
        )


def _check_public_address(settings: Settings) -> Iterator[CheckResult]:
    """Finds out whether links that are shown lead to the address that clients use."""
    if settings.trusted_proxies and settings.base_url is None:
        yield CheckResult(
            "base url",
            "warning",
            "HELIOGRAPH_TRUSTED_PROXIES names a proxy, and HELIOGRAPH_BASE_URL is not set",
            "set HELIOGRAPH_BASE_URL to the public address, such as https://sms.example.com: links"
            " are made with it",
        )
    elif settings.trusted_proxies and str(settings.base_url).startswith("http://"):
        yield CheckResult(
            "base url",
            "warning",
            f"HELIOGRAPH_BASE_URL is {settings.base_url}, without TLS, though a proxy stands in"
            " front",
            "let the proxy speak https, and set HELIOGRAPH_BASE_URL to its https address: else"
            " others on the network can read keys and codes",
        )
    elif str(settings.base_url).startswith("https://") and not settings.trusted_proxies:
        yield CheckResult(
            "base url",
            "warning",
            f"HELIOGRAPH_BASE_URL is {settings.base_url}, which needs a proxy in front, but no"
            " proxy is trusted",
            "set HELIOGRAPH_TRUSTED_PROXIES to its address: until then all clients count as one, by"
            " the proxy's address",
        )


def _database(db: Database, settings: Settings) -> Iterator[CheckResult]:
    with db.read() as tx:
        kind = "postgresql" if db.postgresql else "sqlite"
        if not schema.is_current(tx):
            yield CheckResult(
                "database",
                "failure",
                f"{kind}, without this version's schema",
                "run `heliograph migrate`",
            )
            return
        yield CheckResult("database", "ok", f"{kind}, schema up to date")
        yield from _surroundings(tx, db, settings)
        yield from database_findings.writable(db)
        kinds = Counter(tx.execute(sa.select(workers.c.kind)).scalars())
        if db.postgresql:
            yield work_checks.processes(kinds)
        yield from sealed_secrets.findings(tx, settings)
        yield from _carriers(tx, settings)
        now_ms = clock.now_ms()
        yield from work_checks.doubts(tx, now_ms)
        yield from work_checks.webhooks(tx, kinds, now_ms)
        yield from work_checks.one_time_passwords(tx, now_ms)


def _surroundings(tx: sa.Connection, db: Database, settings: Settings) -> Iterator[CheckResult]:
    """Looks at what no row of the database says, and what is quickly looked at."""
    yield from _restored(db, settings, tx)
    yield from database_findings.hosts(db)
    if db.postgresql:
        yield database_findings.clock(db)
        yield from database_findings.indexes(tx)
        yield from database_findings.durability(tx, settings.synchronous_commit)


def _carriers(tx: sa.Connection, settings: Settings) -> Iterator[CheckResult]:
    carriers = carrier_states.served_carriers(tx)
    yield from carrier_checks.binds(
        carriers,
        carrier_states.unbound_links(tx),
        lambda carrier: connection_settings(tx, carrier, settings.secret_keys),
    )
    yield from carrier_checks.routes(
        {carrier.id: carrier for carrier in carriers}, routing.all_routes(tx)
    )


def _restored(db: Database, settings: Settings, tx: sa.Connection) -> Iterator[CheckResult]:
    """Finds out whether the database is a restored copy, and what was kept of one."""
    if restored_copy.is_served_elsewhere(db, settings.data_dir):
        yield CheckResult(
            "restored copy",
            "failure",
            "the database was last used in another place; no process that sends or answers starts"
            " with it",
            "run `heliograph restore-check --since T`, where T is the time of the backup",
        )
    if waiting := sum(each.messages for each in restored.kept_messages(tx)):
        yield CheckResult(
            "restored copy",
            "warning",
            f"{waiting} of its messages are kept back until you decide",
            "run `heliograph restore-check`, then `heliograph restore-check send` or `cancel`",
        )
