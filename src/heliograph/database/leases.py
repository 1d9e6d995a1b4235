"""A lease tells which processes are alive. Each has a row, with a number that is never given twice,
and shows in it every few seconds that it goes on.

What a process claims from the queue carries its number, and is its own for as long as its row
stands. Another process takes that row away when it sees, by its own monotonic clock, that the beat
has stood still for 30 s. A process that was stopped may not know this yet. So it writes nothing to
the wire once its own last beat is 20 s old.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, NoReturn

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.database.database import Database, metadata

LOOK_S: Final = 1.0  # how often a process looks at all rows
REFRESHED_WITHIN_S: Final = 1.0  # for a refresh to end, before whoever waits for it goes on
BEAT_S: Final = 5.0  # how often it shows itself
# no beat for so long: nothing more goes to the wire, long before others may think so
WRITE_S: Final = 20.0
RETIRE_S: Final = 30.0  # a beat that stood still for so long is a dead process's
# a process that has not looked for so long knows nothing of the others' beats, and begins anew
BLIND_S: Final = 10.0

# what a process runs as
SERVE: Final = "serve"  # everything in one process, which has the database's queue to itself
# all carriers that have no process of their own, and what is everybody's while no scheduler lives
WORKER: Final = "worker"
CARRIER: Final = "carrier"  # one carrier
SCHEDULER: Final = "scheduler"  # no carrier: what is everybody's
API: Final = "api"  # accepts, and sends nothing
CONSOLE: Final = "console"  # shows the operator's console, and does nothing else
SENDING: Final = (SERVE, WORKER, CARRIER, SCHEDULER)  # as opposed to those that accept
DELIVERING: Final = (SERVE, WORKER, SCHEDULER)  # events to webhook endpoints
ANSWERING: Final = (SERVE, API)  # requests
_COMMON: Final = ((SCHEDULER,), (SERVE, WORKER))  # who does what is everybody's, the first first


workers = sa.Table(
    "workers",
    metadata,
    sa.Column(
        "epoch",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        sa.Identity(),
        primary_key=True,
        comment="never given twice",
    ),
    sa.Column(
        "kind",
        sa.String(16),
        nullable=False,
        comment="serve, api, worker, carrier, scheduler or console",
    ),
    sa.Column(
        "carrier_id",
        sa.SmallInteger,
        nullable=True,
        comment="the one that a process of the kind carrier serves",
    ),
    sa.Column("started_at_ms", sa.BigInteger, nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column(
        "waived",
        sa.Text,
        nullable=False,
        server_default="",
        comment="comma-separated ids of carriers that it leaves its part of the rate of",
    ),
    sa.Column(
        "secret_keys",
        sa.Text,
        nullable=True,
        comment="ids of the secret keys that it knows; null: of an earlier version",
    ),
    sa.Column(
        "figures",
        sa.Text,
        nullable=True,
        comment="JSON: what it told of itself with its last beat (monitoring/process_figures.py)",
    ),
    sqlite_autoincrement=True,
)


def common_worker(kinds: Mapping[int, str]) -> int | None:
    """Returns which of the processes (kinds by number) does what is everybody's: the oldest
    scheduler or, while there is none, the oldest of the others that can. It returns None if nobody
    can.
    """
    for each in _COMMON:
        if able := [number for number, kind in kinds.items() if kind in each]:
            return min(able)
    return None


class LeaseLost(Exception):
    """This process showed no sign of life for so long that others took over its work."""


class PeerProcess(NamedTuple):
    """Holds a process's row as it was last seen."""

    kind: str
    carrier_id: int | None
    beat: int
    moved_s: float  # monotonic: when its beat was first seen to be this one
    waived: frozenset[int]  # carriers of whose rate it takes no part now


class Lease:
    """Registers this process among the processes of the database, and sees which others are alive.
    Its methods wait for each other; `peers`, `refreshed_s` and `may_write` can be used by any
    thread at any time. `secret_keys` is what secrets.key_ids returns for the keys that it knows.
    """

    def __init__(
        self, db: Database, kind: str, carrier_id: int | None = None, *, secret_keys: str = ""
    ) -> None:
        self._db = db
        self.kind = kind
        self.carrier_id = carrier_id
        self._secret_keys = secret_keys
        self._beaten_s = float("-inf")
        self._one_at_a_time = threading.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshing_number = 0
        self.number = 0
        # epochs of registrations whose end is not known: each may be a row of ours
        self._tried: set[int] = set()
        # by number, itself among them; a new dictionary at each refresh
        self.peers: dict[int, PeerProcess] = {}
        self.refreshed_s = float("-inf")  # monotonic
        # carriers of whose rate this process is to take no part: the next refresh tells the others
        self.waived: frozenset[int] = frozenset()
        self._stored_waived: frozenset[int] = frozenset()
        # what this process tells of itself with each beat, as JSON
        self.figures: Callable[[], str | None] = lambda: None

    def begin(self, instead_of: Collection[str] = ()) -> None:
        """Registers this process, with a new number if it had one; all others of the kinds that it
        stands in for are retired. Raises Unavailable.
        """
        with self._one_at_a_time:
            self._begin(instead_of)

    def _begin(self, instead_of: Collection[str]) -> None:
        began_s = clock.monotonic_s()
        with self._db.write() as tx:
            tx.execute(
                workers.delete().where(
                    workers.c.kind.in_(instead_of)
                    | workers.c.epoch.in_({self.number, *self._tried})
                )
            )
            row = {
                "kind": self.kind,
                "carrier_id": self.carrier_id,
                "started_at_ms": clock.now_ms(),
                "secret_keys": self._secret_keys,
                "figures": self.figures(),
            }
            number = int(
                tx.execute(workers.insert().values(row).returning(workers.c.epoch)).scalar_one()
            )
            self._tried.add(number)
        self.number, self._tried = number, set()
        self._stored_waived = frozenset()  # a new row waives nothing
        self._beaten_s = began_s
        self._read()

    def refresh(self) -> None:
        """Shows itself when it is time, sees who else does, and retires who does not.

        Raises LeaseLost when this process's own row is gone, Unavailable when the database is."""
        with self._one_at_a_time:
            self._refresh()

    async def refresh_in_thread(self) -> None:
        """Calls `refresh`, in a thread. When that takes long, it raises Unavailable, and the next
        call waits for the same refresh: a database that fell silent must hold up neither its
        callers nor one thread after another.
        """
        if self._refreshing is None:
            self._refreshing, self._refreshing_number = (
                asyncio.create_task(asyncio.to_thread(self.refresh)),
                self.number,
            )
        done, _ = await asyncio.wait({self._refreshing}, timeout=REFRESHED_WITHIN_S)
        if not done:
            raise Unavailable("The database does not answer.")
        looking, self._refreshing = self._refreshing, None
        error = looking.exception()
        # else it was about what this process was before it began anew
        if error is not None and self._refreshing_number == self.number:
            raise error

    def _refresh(self) -> None:
        if (
            clock.monotonic_s() - self._beaten_s >= BEAT_S - LOOK_S / 2
            or self.waived != self._stored_waived
        ):
            self._beat()
        self._read()
        now_s = clock.monotonic_s()
        for number, peer in self.peers.items():
            if (
                number != self.number
                and now_s - peer.moved_s >= RETIRE_S
                and self._must_have_beat(peer)
            ):
                self._retire(number, peer)

    def _must_have_beat(self, peer: PeerProcess) -> bool:
        """Returns whether a peer must show signs of life. Beside a server that has a SQLite file
        there are only commands, which show themselves to each other; the server itself shows
        none.
        """
        return self._db.postgresql or peer.kind == self.kind

    def end(self) -> None:
        """Says that this process is gone, at once. Raises Unavailable."""
        with self._one_at_a_time, self._db.write() as tx:
            tx.execute(workers.delete().where(workers.c.epoch == self.number))

    def may_write(self) -> bool:
        """Returns whether nobody can have taken over what this process holds. It is asked
        immediately before bytes leave. A SQLite file has one process only.
        """
        return not self._db.postgresql or clock.monotonic_s() - self._beaten_s < WRITE_S

    def permit(self) -> Callable[[], bool]:
        """Returns what whoever works under the present number asks before it claims, binds or
        writes: `may_write`, until this process begins anew. What is left of a former number may do
        none of these any more, however long it lives.
        """
        number = self.number
        return lambda: self.number == number and self.may_write()

    def count(self, *kinds: str) -> int:
        """Returns how many live processes of these kinds there were at the last look."""
        return sum(peer.kind in kinds for peer in self.peers.values())

    def beat(self) -> None:
        """Shows at once that this process lives. Raises LeaseLost, Unavailable."""
        with self._one_at_a_time:
            self._beat()

    def _beat(self) -> None:
        # a commit that takes long, or a process that is stopped meanwhile, must not count as a late
        # beat
        began_s = clock.monotonic_s()
        waived = self.waived
        with self._db.write() as tx:
            beaten = tx.execute(
                workers.update()
                .where(workers.c.epoch == self.number)
                .values(
                    beat=workers.c.beat + 1,
                    waived=",".join(map(str, sorted(waived))),
                    figures=self.figures(),
                )
            )
        if not beaten.rowcount:
            self._note_retired()
        self._beaten_s, self._stored_waived = began_s, waived

    def _read(self) -> None:
        began_s = clock.monotonic_s()
        with self._db.read() as tx:
            rows = tx.execute(
                sa.select(
                    workers.c.epoch,
                    workers.c.kind,
                    workers.c.carrier_id,
                    workers.c.beat,
                    workers.c.waived,
                )
            ).all()
        now_s = clock.monotonic_s()
        known = self.peers if now_s - self.refreshed_s < BLIND_S else {}
        peers = {}
        for row in rows:
            before = known.get(row.epoch)
            peers[row.epoch] = (
                before
                if before is not None and before.beat == row.beat
                else PeerProcess(
                    row.kind,
                    row.carrier_id,
                    row.beat,
                    now_s,
                    frozenset(map(int, row.waived.split(","))) if row.waived else frozenset(),
                )
            )
        self.peers, self.refreshed_s = peers, began_s
        if self.number not in peers:
            self._note_retired()

    def _note_retired(self) -> NoReturn:
        """Forbids this process to write anything from now on, until it begins anew."""
        self._beaten_s = float("-inf")
        raise LeaseLost

    def _retire(self, number: int, peer: PeerProcess) -> None:
        """Retires a process, unless it has shown itself after all."""
        with self._db.write() as tx:
            tx.execute(
                workers.delete().where(workers.c.epoch == number, workers.c.beat == peer.beat)
            )
        self.peers = {other: row for other, row in self.peers.items() if other != number}
