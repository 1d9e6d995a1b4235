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
from heliograph.base.settings import Settings
from heliograph.carriers import Carrier, carrier_states, connection_settings, routing
from heliograph.database import schema
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.database.outage import error_in_words
from heliograph.monitoring import CheckResult, carrier_checks, work_checks
from heliograph.processes.checks import (
    database_findings,
    sealed_secrets,
    service_findings,
    surrounding_findings,
)

__all__ = ["CheckResult", "examine"]

DISK_BYTES_MIN: Final = 1 << 30
REDIS_TIMEOUT_S: Final = 2


def examine(settings: Settings) -> Iterator[CheckResult]:
    """Looks at everything, one thing after the other; never changes anything, though it
    tries to.
    """
    yield CheckResult("settings", "ok", f"data directory {settings.data_dir}")
    yield _disk(settings)
    yield surrounding_findings.files(settings)
    yield from _redis(settings)
    yield from surrounding_findings.public_address(settings)
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
        yield from service_findings.database(tx)
        yield from surrounding_findings.of_database(tx, db, settings)
        yield from database_findings.writable(db)
        kinds = Counter(tx.execute(sa.select(workers.c.kind)).scalars())
        if db.postgresql:
            yield work_checks.processes(kinds)
        now_ms, carriers = clock.now_ms(), carrier_states.served_carriers(tx)
        yield from service_findings.each_process(tx, carriers, now_ms)
        yield from sealed_secrets.findings(tx, settings)
        yield from _carriers(tx, carriers, settings)
        yield from service_findings.queues(tx, now_ms)
        yield from work_checks.doubts(tx, now_ms)
        yield from work_checks.webhooks(tx, kinds, now_ms)
        yield from work_checks.one_time_passwords(tx, now_ms)


def _carriers(
    tx: sa.Connection, carriers: list[Carrier], settings: Settings
) -> Iterator[CheckResult]:
    yield from carrier_checks.binds(
        carriers,
        carrier_states.partly_bound(tx),
        lambda carrier: connection_settings(tx, carrier, settings.secret_keys),
    )
    yield from carrier_checks.routes(
        {carrier.id: carrier for carrier in carriers}, routing.all_routes(tx)
    )
