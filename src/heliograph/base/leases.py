"""Which processes are alive: each has a row, with an epoch that is never given twice, and shows in it every few seconds that it goes on.

What a process claims from the queue carries its epoch, and is its own for as long as its row stands. Whoever sees, by its own monotonic
clock, that a process's beat has stood still for 30 s takes that row away.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.db import Database, metadata

LOOK_S: Final = 1.0  # how often a process looks at all rows
BEAT_S: Final = 5.0  # how often it shows itself
RETIRE_S: Final = 30.0  # a beat that stood still for so long is a dead process's
BLIND_S: Final = 10.0  # who has not looked for so long knows nothing of the others' beats, and begins anew

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("epoch", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(), primary_key=True, comment="never given twice"),
    sa.Column("kind", sa.String(16), nullable=False, comment="serve, worker or api"),
    sa.Column("started_at_ms", sa.BigInteger, nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)


class Retired(Exception):
    """Another process uses this database: it took over while this one had no connection to it, or did not show itself."""

    def __str__(self) -> str:
        return str(self.__doc__)


class Peer(NamedTuple):
    """A process's row as it was last seen."""

    kind: str
    beat: int
    moved_s: float  # monotonic: when its beat was first seen to be this one


class Lease:
    """This process among its peers. Used by one thread at a time."""

    def __init__(self, db: Database, kind: str) -> None:
        self._db = db
        self._kind = kind
        self._peers: dict[int, Peer] = {}
        self._looked_s = self._beaten_s = float("-inf")
        self.epoch = 0

    def begin(self, instead_of: Collection[str] = ()) -> None:
        """Registers this process; all others of the kinds that it stands in for are retired. Raises Unavailable."""
        began_s = clock.monotonic_s()
        with self._db.write() as tx:
            tx.execute(workers.delete().where(workers.c.kind.in_(instead_of)))
            row = {"kind": self._kind, "started_at_ms": clock.now_ms()}
            self.epoch = int(tx.execute(workers.insert().values(row).returning(workers.c.epoch)).scalar_one())
        self._beaten_s = began_s
        self._read()

    def look(self) -> None:
        """Shows itself when it is time, sees who else does, and retires who does not, of its own kind: who sends is known to live by its lock.

        Raises Retired when this process's own row is gone, Unavailable when the database is."""
        if clock.monotonic_s() - self._beaten_s >= BEAT_S - LOOK_S / 2:
            self._beat()
        self._read()
        now_s = clock.monotonic_s()
        for epoch, peer in list(self._peers.items()):
            if peer.kind == self._kind and epoch != self.epoch and now_s - peer.moved_s >= RETIRE_S:
                self._retire(epoch, peer)

    def end(self) -> None:
        """Says that this process is gone, at once. Raises Unavailable."""
        with self._db.write() as tx:
            tx.execute(workers.delete().where(workers.c.epoch == self.epoch))

    def count(self, kind: str) -> int:
        """How many live processes are of a kind, as it was last seen."""
        return sum(peer.kind == kind for peer in self._peers.values())

    def _beat(self) -> None:
        began_s = clock.monotonic_s()  # a commit that takes long, or a process that is stopped meanwhile, must not count as a late beat
        with self._db.write() as tx:
            beaten = tx.execute(workers.update().where(workers.c.epoch == self.epoch).values(beat=workers.c.beat + 1))
        if not beaten.rowcount:
            raise Retired
        self._beaten_s = began_s

    def _read(self) -> None:
        with self._db.read() as tx:
            rows = tx.execute(sa.select(workers.c.epoch, workers.c.kind, workers.c.beat)).all()
        now_s = clock.monotonic_s()
        known = self._peers if now_s - self._looked_s < BLIND_S else {}
        self._looked_s = now_s
        self._peers = {}
        for epoch, kind, beat in rows:
            before = known.get(epoch)
            self._peers[epoch] = before if before is not None and before.beat == beat else Peer(kind, beat, now_s)
        if self.epoch not in self._peers:
            raise Retired

    def _retire(self, epoch: int, peer: Peer) -> None:
        """Unless it has shown itself after all."""
        with self._db.write() as tx:
            tx.execute(workers.delete().where(workers.c.epoch == epoch, workers.c.beat == peer.beat))
        del self._peers[epoch]


def is_alive(tx: Connection, epoch: int) -> bool:
    """Whether a process's row stands."""
    return tx.execute(sa.select(workers.c.epoch).where(workers.c.epoch == epoch)).one_or_none() is not None
