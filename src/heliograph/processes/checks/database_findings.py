"""Checks the database for `heliograph doctor`."""

from collections.abc import Iterator

import sqlalchemy as sa

from heliograph.base.errors import ServiceError
from heliograph.database import clock_check
from heliograph.database.commits import Unconfirmed
from heliograph.database.database import Database
from heliograph.database.postgresql.hosts import CLUSTERS_UNKNOWN, STANDBY, WRITTEN_TO
from heliograph.database.postgresql.indexes import find_invalid
from heliograph.database.write_probe import try_to_write
from heliograph.monitoring import CheckResult


def writable(db: Database) -> Iterator[CheckResult]:
    """Finds out whether the database stores anything, by storing something that changes nothing, as
    `/readyz` does.
    """
    try:
        try_to_write(db)
    except Unconfirmed:
        yield CheckResult(
            "stored",
            "failure",
            "the database does not confirm what it stores: no synchronous standby answers, and"
            " nothing is accepted",
            "bring the standby back, or take it out of synchronous_standby_names:"
            " docs/operations.md, A synchronous standby",
        )
    except (ServiceError, OSError) as error:
        yield CheckResult(
            "stored",
            "failure",
            f"nothing can be stored: {error}",
            "check whether its disk is full, or whether it is read-only",
        )
    else:
        yield CheckResult("stored", "ok", "what is written is stored and confirmed")


def indexes(tx: sa.Connection) -> Iterator[CheckResult]:
    """Yields a failure if building an index was interrupted, and else nothing."""
    if broken := find_invalid(tx):
        yield CheckResult(
            "indexes",
            "failure",
            f"invalid, because building them was interrupted: {', '.join(broken)}",
            "run `heliograph migrate`",
        )


def clock(db: Database) -> CheckResult:
    """Compares the clock of this machine with the database's."""
    measured = clock_check.measure(db)
    assert measured is not None  # PostgreSQL has a clock
    found = f"{measured.in_words()}, measured within {measured.within_us / 1e6:.3f} s"
    if measured.apart_ms <= clock_check.START_MS_MAX:
        return CheckResult("clock", "ok", found)
    return CheckResult(
        "clock",
        "failure",
        found,
        "synchronise both with NTP: no process starts on this machine until they agree",
    )


def durability(tx: sa.Connection, wanted: str) -> Iterator[CheckResult]:
    """Finds out whether accepted means stored: what a session of ours has, and what the server
    does with its disk.
    """
    settings = tx.execute(
        sa.text("""
                SELECT current_setting('synchronous_commit') AS synchronous_commit,
                    current_setting('fsync') AS fsync,
                    current_setting('full_page_writes') AS full_page_writes""")
    ).one()
    at_commit = settings.synchronous_commit
    if at_commit != wanted:
        yield CheckResult(
            "synchronous_commit",
            "failure",
            f"{at_commit} in our sessions, which ask for {wanted}",
            "a pooler between this service and the server, such as PgBouncer, must pass on the"
            " settings that a connection starts with",
        )
    else:
        yield CheckResult(
            "synchronous_commit", "ok", f"{at_commit} in our sessions, whatever the server has"
        )
    for name, setting in (
        ("fsync", settings.fsync),
        ("full_page_writes", settings.full_page_writes),
    ):
        if setting == "on":
            yield CheckResult(name, "ok", "on")
        else:
            yield CheckResult(
                name,
                "failure",
                f"{setting}: what was accepted is lost when the server's machine stops",
                f"ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf()",
            )


def hosts(db: Database) -> Iterator[CheckResult]:
    """Tells of the hosts, where there are several. A standby is as it should be."""
    if db.hosts is not None and len(db.hosts.all) > 1:
        for host, found in db.hosts.states_in_words().items():
            is_well = found in (WRITTEN_TO, STANDBY)
            yield CheckResult(
                f"database host {host.label}",
                "ok" if is_well else "warning",
                found,
                None if is_well else "see docs/failover.md",
            )
        if not db.hosts.may_ask_system:
            yield CheckResult(
                "database hosts",
                "warning",
                CLUSTERS_UNKNOWN,
                "GRANT EXECUTE ON FUNCTION pg_control_system() TO its role, on the primary",
            )
