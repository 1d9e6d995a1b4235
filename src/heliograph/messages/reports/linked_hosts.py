"""Finds the hosts that accounts' recent texts link to, and what is suspicious about them.

The newest sends are read when somebody looks, so accepting does nothing for it. One-time passwords
are left out: their texts are secret, and sealed.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import senders
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import first_id_of
from heliograph.messages.tables import sends
from heliograph.senders import LikeName
from heliograph.text.links import HostTrait, hosts_in, trait_of

LINKS_OF_MS: Final = DAY_MS
TEXTS_READ_MAX: Final = 1_000  # reading and judging them takes some 40 ms
SENDS_PASSED_MAX: Final = 20_000  # sends of all kinds, while those with a text are looked for


class LinkedHost(NamedTuple):
    """Says how many recent live sends of an account link to a host, and what is suspicious: the
    host's trait, and names of others that it looks like. `account_id` and `send_id`, the newest of
    them, are raw.
    """

    account_id: str
    host: str
    sends: int
    send_id: str
    trait: HostTrait | None
    like: list[LikeName]

    @property
    def is_suspicious(self) -> bool:
        return self.trait is not None or bool(self.like)


class LinkedHosts(NamedTuple):
    """Holds what was found in the texts that were read, and when the oldest of them was accepted if
    there were more than are read.
    """

    hosts: list[LinkedHost]
    texts: int
    since_ms: int | None


def linked_hosts(tx: Connection, now_ms: int) -> LinkedHosts:
    """Returns what the newest texts of the last day link to. What is suspicious comes first, then
    what most sends link to.
    """
    columns = sends.c
    passed = (
        sa.select(
            columns.id,
            columns.account_id,
            columns.sandbox,
            columns.type,
            columns.text,
            columns.created_at_ms,
        )
        .where(columns.id >= first_id_of(now_ms - LINKS_OF_MS))
        .order_by(columns.id.desc())
        .limit(SENDS_PASSED_MAX)
        .subquery()
    )
    query = (
        sa.select(passed.c.id, passed.c.account_id, passed.c.text, passed.c.created_at_ms)
        .where(passed.c.type != "otp", passed.c.sandbox.is_(False), passed.c.text.is_not(None))
        .order_by(passed.c.id.desc())
        .limit(TEXTS_READ_MAX)
    )
    rows = tx.execute(query).all()
    found = _counted(rows)
    like = senders.like_hosts(tx, {(each.account_id, each.host) for each in found})
    judged = [each._replace(like=like.get((each.account_id, each.host), [])) for each in found]
    return LinkedHosts(
        sorted(judged, key=lambda each: (not each.is_suspicious, -each.sends, each.host)),
        len(rows),
        rows[-1].created_at_ms if len(rows) == TEXTS_READ_MAX else None,
    )


def _counted(rows: Sequence[Any]) -> list[LinkedHost]:
    """Returns the hosts of each account with the numbers of its sends, the newest send first."""
    of_text: dict[str, list[str]] = {}  # many sends have the same text
    found: dict[tuple[str, str], LinkedHost] = {}
    for row in rows:
        if row.text not in of_text:
            of_text[row.text] = hosts_in(row.text)
        for host in of_text[row.text]:
            known = found.get((row.account_id, host))
            found[row.account_id, host] = (
                LinkedHost(row.account_id, host, 1, row.id, trait_of(host), [])
                if known is None
                else known._replace(sends=known.sends + 1)
            )
    return list(found.values())
