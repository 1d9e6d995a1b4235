"""Lists the processes that have sessions in the database. Each session carries the name of its
process.
"""

import os
import re
import socket
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database import sessions
from heliograph.database.schema import newest_version

NAME_MAX: Final = 63  # octets of an application_name: PostgreSQL cuts off the rest

_NAME: Final = re.compile(r"heliograph ([a-z-]+) ([0-9]{4}) ([0-9]+)@(.*)", re.DOTALL)
_OTHERS: Final = sa.text("""
    SELECT application_name, count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND application_name LIKE 'heliograph%' AND application_name <> :own
    GROUP BY application_name ORDER BY application_name""")


class Process(NamedTuple):
    """Describes a process with sessions in the database. `kind` is what it runs as, or None for a
    command and for a process of an earlier version. `schema` is the newest one that it knows.
    """

    kind: str | None
    schema: str | None
    where: str | None

    def __str__(self) -> str:
        if self.kind is None:
            return "heliograph (a command, or a process of an earlier version)"
        return f"heliograph {self.kind} (process {self.where}, schema {self.schema})"


def set_process_kind(kind: str) -> None:
    """Names the sessions that this process opens from now on."""
    host = socket.gethostname()
    name = f"heliograph {kind} {newest_version()} {os.getpid()}@{host}"
    sessions.set_session_name(name.encode()[:NAME_MAX].decode("utf-8", "ignore"))


def other_processes(tx: Connection) -> list[Process]:
    """Returns the processes beside this one that have sessions in the database (of PostgreSQL), as
    far as this role may see them.
    """
    found = []
    for name, _ in tx.execute(_OTHERS, {"own": sessions.session_name()}):
        parts = _NAME.fullmatch(name)
        found.append(
            Process(parts[1], parts[2], f"{parts[3]} on {parts[4]}")
            if parts
            else Process(None, None, None)
        )
    return found
