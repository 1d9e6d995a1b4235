"""Checks the database for `heliograph doctor`."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import sqlalchemy as sa

from heliograph.base.errors import ServiceError
from heliograph.database import clock_check
from heliograph.database.commits import Unconfirmed
from heliograph.database.database import Database
from heliograph.database.hosts import NOT_TOLD_APART, STANDBY, WRITTEN_TO
from heliograph.database.postgresql.indexes import invalid
from heliograph.database.write_probe import try_to_write
from heliograph.messages.states import IN_DOUBT
from heliograph.messages.tables import inflight

Verdict = Literal["ok", "warning", "failure"]


class CheckResult(NamedTuple):
    """Tells of one thing that was looked at. `remedy` says what to do when it is not ok."""

    check: str
    verdict: Verdict
    found: str
    remedy: str | None = None


def writable(db: Database) -> Iterator[CheckResult]:
    """Finds out whether it stores anything, by storing something that changes nothing, as
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
            "see whether its disk is full, or it is read-only",
        )
    else:
        yield CheckResult("stored", "ok", "what is written is stored and confirmed")


def indexes(tx: sa.Connection) -> Iterator[CheckResult]:
    if broken := invalid(tx):
        yield CheckResult(
            "indexes",
            "failure",
            f"invalid, because building them was interrupted: {', '.join(broken)}",
            "run `heliograph migrate`",
        )


def clock(db: Database) -> CheckResult:
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
    at_commit, synced, whole_pages = tx.execute(
        sa.text("""
                SELECT current_setting('synchronous_commit'), current_setting('fsync'),
                    current_setting('full_page_writes')""")
    ).one()
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
    for name, setting in (("fsync", synced), ("full_page_writes", whole_pages)):
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
        for host, found in db.hosts.told().items():
            is_well = found in (WRITTEN_TO, STANDBY)
            yield CheckResult(
                f"database host {host.shown}",
                "ok" if is_well else "warning",
                found,
                None if is_well else "see docs/failover.md",
            )
        if not db.hosts.may_ask_system:
            yield CheckResult(
                "database hosts",
                "warning",
                NOT_TOLD_APART,
                "GRANT EXECUTE ON FUNCTION pg_control_system() TO its role, on the primary",
            )


def doubts(tx: sa.Connection, now_ms: int) -> Iterator[CheckResult]:
    """Finds messages that a carrier was given and never answered: some settle themselves, and for
    others somebody has to ask the carrier.
    """
    columns = inflight.c
    counted = sa.select(
        sa.func.count(columns.message_id.distinct()), sa.func.min(columns.since_ms)
    ).where(columns.state == IN_DOUBT)
    count, since_ms = tx.execute(counted).one()
    if count:
        found = (
            f"{count} message{'s' if count > 1 else ''}, the oldest for"
            f" {_in_words(now_ms - since_ms)}: given to a carrier that never answered"
        )
        yield CheckResult(
            "in doubt",
            "warning",
            found,
            "heliograph message list --in-doubt; ask the carrier, then heliograph message settle,"
            " or resend",
        )


def _in_words(span_ms: int) -> str:
    minutes = max(span_ms, 0) // 60_000
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 2_880 else f"{minutes // 1_440} days"
