"""Handles commits that PostgreSQL has not confirmed. Whoever waits for one is told so in time,
nobody cancels it, and the service asks what became of it.

With `synchronous_standby_names` a COMMIT waits until a standby has it. It is on the primary's disk
by then, and hidden from everybody else. To cancel that wait would not undo it but show it,
unreplicated: a fail-over would lose what others have seen. So it goes on waiting, with its locks,
and its session is remembered here. While there is one, no other change is begun: it would wait too,
and sessions would pile up.

A commit of another process is noticed by its locks: whoever does not get one in time asks whether
some session waits for a standby. If one does, it holds up this process too. Else each change that
waits its turn here would wait for a lock anew, and be answered later each time.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, Protocol

import sqlalchemy as sa

from heliograph.base.errors import Unavailable
from heliograph.base.log import Log

# then whoever waits is answered 503: within 2 s of its request, also on a busy machine
CONFIRMED_WITHIN_S: Final = 1.2
LOOK_S: Final = 0.25  # how often PostgreSQL is asked what became of them
# looks at which PostgreSQL says that it has answered, and no answer has come
ANSWER_LOST_AFTER: Final = 2

NOT_CONFIRMED: Final = (
    "The database does not confirm what it stores. What became of this is not known yet; repeat it"
    " with the same Idempotency-Key."
)

_BACKEND: Final = (
    "SELECT pid, CAST(extract(epoch FROM backend_start) * 1000000 AS bigint) FROM pg_stat_activity"
)
# through a pooler, the number that a driver knows is the pooler's own
WHO_AM_I: Final = f"{_BACKEND} WHERE pid = pg_backend_pid()"
# A session that waits for its client has nothing left to do: its transaction is over, or its COMMIT
# has never come.
_STILL_AT_IT: Final = f"{_BACKEND} WHERE pid = ANY(%s) AND wait_event IS DISTINCT FROM 'ClientRead'"
# Who waits for a lock gives up after 1 s: what held it up has waited for nearly as long.
WAITS_FOR_STANDBY: Final = """
    SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event = 'SyncRep'
        AND state_change < clock_timestamp() - interval '500 milliseconds')"""

log = Log(__name__)


class Backend(NamedTuple):
    """Identifies a session of PostgreSQL. It has the start beside the process's number, because
    numbers are used again.
    """

    pid: int
    started_at_us: int


class Unconfirmed(Unavailable):
    """The database does not confirm what it stores."""

    def __init__(self) -> None:
        super().__init__(NOT_CONFIRMED)


class NotConfirmedInTime(Exception):
    """A thread's COMMIT was not answered in time. It is an error of the driver's as well."""


class _Waiting:
    """Holds an unconfirmed commit, and who waits for it."""

    def __init__(self, cut: Callable[[], object] | None) -> None:
        self._cut = cut
        self._answers = 0  # how often PostgreSQL said that it has answered

    def is_answered(self) -> bool:
        """Counts that PostgreSQL says it has answered, and returns whether the commit is over.
        Where nobody waits for the answer, it is. Else the answer may still be on its way. After
        `ANSWER_LOST_AFTER` times it counts as lost, and its connection is cut.
        """
        self._answers += 1
        if self._cut is None:
            return True
        if self._answers >= ANSWER_LOST_AFTER:
            self._cut()
        return self._answers >= ANSWER_LOST_AFTER


class CommitProbe(Protocol):
    """Describes what `Commits` asks through: a connection to the same database."""

    def execute(self, query: Any, params: Any = None) -> Any:
        """Returns a cursor over the rows."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class Commits:
    """Keeps the unconfirmed commits of one process. `connect` opens a connection to ask through,
    which raises `lost` when it cannot be used. It may be used by any thread.
    """

    def __init__(self, connect: Callable[[], CommitProbe], lost: type[Exception] = OSError) -> None:
        self.within_s = CONFIRMED_WITHIN_S
        self._connect = connect
        self._lost = lost
        self._guard = threading.Lock()
        self._unconfirmed: dict[Backend, _Waiting] = {}
        self._others_wait = False  # a commit of another process holds locks that are wanted here
        self._looking = False
        self._listeners: list[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = []
        self.confirmed_s = float("-inf")  # monotonic: when one was confirmed last, of the hot paths

    def check(self) -> None:
        """Raises Unconfirmed while nothing may be changed."""
        if self._is_unconfirmed():
            raise Unconfirmed

    def on_unconfirmed(self, tell: Callable[[], None]) -> None:
        """Calls `tell` in the running event loop, from now on, whenever a first commit is found
        unconfirmed.
        """
        self._listeners.append((asyncio.get_running_loop(), tell))

    def add(self, backend: Backend, cut: Callable[[], object] | None = None) -> None:
        """Notes that a session has had its COMMIT for `within_s`. `cut` closes the connection on
        which somebody still waits for the answer; it is called when PostgreSQL has given one that
        did not arrive.
        """
        with self._guard:
            was_unconfirmed = self._is_unconfirmed()
            self._unconfirmed[backend] = _Waiting(cut)
        self._report_unconfirmed(was_unconfirmed)

    def note_others_wait(self) -> None:
        """Notes that a lock was not got because a commit of another process is not confirmed."""
        with self._guard:
            was_unconfirmed = self._is_unconfirmed()
            self._others_wait = True
        self._report_unconfirmed(was_unconfirmed)

    def note_ended(self, backend: Backend) -> None:
        """Notes that a session's COMMIT was answered, or that its connection is gone."""
        with self._guard:
            was_last = (
                self._unconfirmed.pop(backend, None) is not None and not self._is_unconfirmed()
            )
        if was_last:
            log.info("commits_confirmed_again")

    def _is_unconfirmed(self) -> bool:
        return bool(self._unconfirmed) or self._others_wait

    def _report_unconfirmed(self, was_unconfirmed: bool) -> None:
        with self._guard:
            is_looked_after, self._looking = self._looking, True
        if not was_unconfirmed:
            log.warning("commits_unconfirmed")
            for loop, tell in self._listeners:
                with suppress(RuntimeError):  # that loop has ended
                    loop.call_soon_threadsafe(tell)
        if not is_looked_after:
            threading.Thread(target=self._watch_unconfirmed, name="commits", daemon=True).start()

    def _watch_unconfirmed(self) -> None:
        """Asks PostgreSQL until none is left. It runs in a thread of its own, because the event
        loop and the other threads may be what waits.
        """
        session: CommitProbe | None = None
        pause = threading.Event()
        while not pause.wait(LOOK_S):
            with self._guard:
                waiting = dict(self._unconfirmed)
                if not self._is_unconfirmed():
                    self._looking = False
                    break
            try:
                session = session or self._connect()
                still_at_it = _still_running(session, waiting)
                others_wait = self._others_wait and waits_for_standby(session)
            except self._lost:  # nothing is known of them, and nothing could be stored either
                self._close(session)
                session = None
                continue
            for backend in waiting.keys() - still_at_it:
                if waiting[backend].is_answered():
                    self.note_ended(backend)
            if not others_wait:
                self._note_others_ended()
        self._close(session)

    def _close(self, session: CommitProbe | None) -> None:
        if session is not None:
            with suppress(self._lost):
                session.close()

    def _note_others_ended(self) -> None:
        with self._guard:
            was_last, self._others_wait = self._others_wait and not self._unconfirmed, False
        if was_last:
            log.info("commits_confirmed_again")


def _still_running(session: CommitProbe, backends: Collection[Backend]) -> set[Backend]:
    rows = session.execute(_STILL_AT_IT, ([backend.pid for backend in backends],)).fetchall()
    return {Backend(*row) for row in rows}


def waits_for_standby(session: CommitProbe) -> bool:
    """Tells whether a commit of any session has waited for a standby for longer than one should."""
    (waits,) = session.execute(WAITS_FOR_STANDBY).fetchone()
    return bool(waits)


@contextmanager
def unconfirmed_on_timeout() -> Iterator[None]:
    """Turns a COMMIT that was not answered in time into Unconfirmed. It stands around
    `unavailable_on_outage()`, which takes the database for unreachable then. Raises Unconfirmed.
    """
    try:
        yield
    except Unavailable as error:
        if isinstance(getattr(error.__cause__, "orig", None), NotConfirmedInTime):
            raise Unconfirmed from error.__cause__
        raise


def refuse_if_unconfirmed(tx: sa.Connection) -> None:
    """Raises Unconfirmed when a lock was not got in time while some session's commit waits for a
    standby, perhaps another process's: another try would only wait as long again.
    """
    if tx.dialect.name == "postgresql":
        session: Any = tx.connection.driver_connection
        if tx.exec_driver_sql(WAITS_FOR_STANDBY).scalar_one():
            session.commits.note_others_wait()
            raise Unconfirmed
