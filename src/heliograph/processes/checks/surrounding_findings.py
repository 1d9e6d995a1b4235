"""Checks what is around a process, for `heliograph doctor` and for the process itself: its files,
its settings, and what no row of its database says.
"""

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from heliograph.base.private_files import ENTRIES_MAX, find_public_files
from heliograph.base.settings import Settings
from heliograph.database import restored_copy
from heliograph.database.database import Database
from heliograph.database.sessions import sqlite_path
from heliograph.messages.sweeps import restored
from heliograph.monitoring import CheckResult
from heliograph.processes.checks import database_findings, key_findings

FILES_SHOWN_MAX: Final = 20


def examine_surroundings(db: Database, settings: Settings) -> list[CheckResult]:
    """Returns what is wrong around a process that runs, in its files, its settings, and its
    database: the console reads all else that `examine` finds from the database's rows. Raises
    Unavailable.
    """
    with db.read() as tx:
        found = [
            files(settings),
            *public_address(settings),
            *of_database(tx, db, settings),
            *key_findings.of_key(tx, settings),
        ]
    return [each for each in found if each.verdict != "ok"]


def files(settings: Settings) -> CheckResult:
    """Finds out whether other users of the machine may read the service's files."""
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


def public_address(settings: Settings) -> Iterator[CheckResult]:
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


def of_database(tx: sa.Connection, db: Database, settings: Settings) -> Iterator[CheckResult]:
    """Looks at what no row of the database says, and what is quickly looked at."""
    yield from _restored(db, settings, tx)
    yield from database_findings.hosts(db)
    if db.postgresql:
        yield database_findings.clock(db)
        yield from database_findings.indexes(tx)
        yield from database_findings.durability(tx, settings.synchronous_commit)


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
