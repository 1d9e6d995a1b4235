"""Chooses which host of a PostgreSQL is written to, if `DATABASE_URL` names several.

One is chosen by asking all of them at once, and kept until a connection to it fails, or an answer
is overdue and it shows no sign of life. If several say that they can be written to, the one with
the highest timeline is meant. PostgreSQL counts the timeline up at every promotion, so an old
primary that nobody has told of its successor has a lower one (PostgreSQL manual, section 26.3.5). A
process that has once seen the successor does not go back to the old one.

A host that is frozen, or whose disk is stuck, still acknowledges what it is sent. It is told from
one that works long at a statement by asking it for something else over a new connection (`probe`).
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import psycopg

from heliograph.base.database_url import Host, parse
from heliograph.base.log import Log

ANSWERS_WITHIN_S: Final = 2.0  # a host that has not said by then what it is counts as silent
# Of a host that was written to, the same is wanted sooner: a ping or a statement has waited for it
# by then for 1 s, and a client waits for 2 s.
CHOSEN_WITHIN_S: Final = 0.8
# so long a statement may take without anybody asking whether its host is there: more than a lock is
# waited for
OVERDUE_AFTER_S: Final = 1.0
# how often the others are asked whether one of them has been promoted: the old primary may not know
# of it
LOOK_S: Final = 5.0
# once one host can be written to, the others have so long to name a higher timeline
OTHERS_WITHIN_S: Final = 0.4

CLUSTERS_UNKNOWN: Final = (
    "our role may not EXECUTE pg_control_system(): a host of another cluster would be taken for one"
    " of these"
)
STANDBY: Final = "is a standby"
WRITTEN_TO: Final = "is written to"

log = Log(__name__)


class HostStatus(NamedTuple):
    """Holds what a host says of itself over a connection to it."""

    read_only: bool
    is_standby: bool
    # which cluster it is: a number that initdb made; None where its role may not ask for it
    system: int | None
    timeline: int  # 0 for a standby, which has none of its own


def status_sql(with_system: bool, *more: str) -> str:
    """Returns the statement whose first four columns `status_of` reads. Without the right to
    EXECUTE pg_control_system(), it fails unless it does without the system.
    """
    system, source = (
        ("system_identifier", " FROM pg_control_system()") if with_system else ("NULL", "")
    )
    columns = (
        "current_setting('transaction_read_only') = 'on'",
        "pg_is_in_recovery()",
        system,
        (
            "CASE WHEN pg_is_in_recovery() THEN '00000000' ELSE"
            " substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END"
        ),
        *more,
    )
    return f"SELECT {', '.join(columns)}{source}"


def status_of(row: Any) -> HostStatus:
    """Returns what the first columns of `status_sql` say, which have no names in a row."""
    columns = dict(zip(HostStatus._fields, row, strict=False))
    return HostStatus(**{**columns, "timeline": int(columns["timeline"], 16)})


class ChosenHost(NamedTuple):
    """Says where a connection was made to, and when. The connection must not be used any more once
    `generation` has passed.
    """

    host: Host
    generation: int
    promotions: int


class NoHost(psycopg.OperationalError, ConnectionError):
    """No host can be written to. The text says of each why. To either driver's users it is a
    connection that was not made.
    """


class _Probe:
    """Describes a host that is being asked whether it is there. It holds what to do for each who
    waits, with the generation of the connection, should the host not be there.
    """

    def __init__(self) -> None:
        self.cuts: list[tuple[int, Callable[[], object]]] = []
        self.over = threading.Event()


class Hosts:
    """Chooses among the hosts that `url` names. Any thread may use it. `ask(hosts, host)` connects
    to a host and returns its status, or raises.
    """

    def __init__(self, url: str, ask: Callable[["Hosts", Host], HostStatus]) -> None:
        self.all, self.wanted = parse(url)
        self._ask_one = ask
        self._guard = threading.Lock()  # of what follows
        self._finding = threading.Lock()
        self._searches = 0
        self._chosen = self.all[0] if len(self.all) == 1 else None
        self._last = self._chosen
        self.may_ask_system = True  # which cluster a host belongs to; until one forbids it
        self._newest: dict[int | None, int] = {}  # the highest timeline that was seen, by cluster
        self._generation = 0
        self._promotions = 0
        self._no_host: NoHost | None = None
        self._looked_s = time.monotonic()
        self._probe: _Probe | None = None
        # monotonic: when a connection that is in use had an answer last
        self.heard_s = float("-inf")

    @property
    def generation(self) -> int:
        """Counts up when a connection has failed: all that were made before are as old as
        it, and are not used again.
        """
        return self._generation

    @property
    def promotions(self) -> int:
        """Counts up when another host, or a newer primary, has taken the place of the one
        before: its locks are of no use.
        """
        return self._promotions

    @property
    def chosen(self) -> Host | None:
        """Returns the host that connections are made to, or None when it has to be found first."""
        return self._chosen

    def ask_others_if_due(self) -> None:
        """Has the others asked, when it is time, in a thread of its own. If one of them was
        promoted, it is chosen in place of the present one.
        """
        if len(self.all) > 1 and time.monotonic() - self._looked_s >= LOOK_S:
            self._looked_s = time.monotonic()
            threading.Thread(target=self._ask_others, daemon=True).start()

    def _ask_others(self) -> None:
        replies = self.ask([host for host in self.all if host != self._chosen])
        with self._guard:
            promoted = {
                host: reply
                for host, reply in replies.items()
                if isinstance(reply, HostStatus) and self._is_promoted(reply)
            }
            if promoted:
                self._choose(promoted)

    def chosen_host(self) -> ChosenHost:
        """Returns where to connect to; finds it first when it is not known. Raises NoHost."""
        with self._guard:
            searches = self._searches
            chosen = self._chosen and ChosenHost(self._chosen, self._generation, self._promotions)
        return chosen or self._find(searches)

    def note_lost_connection(self, generation: int, *, silent: bool = False) -> None:
        """Notes that a connection of that generation was lost, or can be written to no more.
        `silent` says whether it got no answer. A silent host is asked what it is before it is
        connected to again, also if it is the only one: that is found out sooner, and once for all.
        """
        with self._guard:
            if generation == self._generation:
                self._generation += 1
                self._forget_chosen(silent)

    def note_unreachable(self, chosen: ChosenHost, *, silent: bool = False) -> None:
        """Notes that no connection could be made there. The connections that exist stay in
        use until one fails or another host is chosen.
        """
        with self._guard:
            if chosen.host == self._chosen:
                self._forget_chosen(silent)

    def probe(self, generation: int, cut: Callable[[], object] = lambda: None) -> threading.Event:
        """Asks all hosts at once, in threads, because an answer is overdue on a connection of that
        generation. Returns an event that is set when all have been asked. `cut` is called, by any
        thread, if the host does not show itself, or another one has taken its place.
        """
        with self._guard:
            if generation == self._generation:
                probe = self._probe
                if probe is None:
                    probe = self._probe = _Probe()
                    threading.Thread(target=self._run_probe, args=(probe,), daemon=True).start()
                probe.cuts.append((generation, cut))
                return probe.over
        cut()
        over = threading.Event()
        over.set()
        return over

    def _run_probe(self, probe: _Probe) -> None:
        began_s, generation, asked_host = time.monotonic(), self._generation, self._last
        replies = self.ask(
            self.all,
            within_s=CHOSEN_WITHIN_S,
            is_enough=lambda host, reply: host == asked_host or self._is_promoted(reply),
        )
        with self._guard:
            self._probe = None
            promoted = {
                host: reply
                for host, reply in replies.items()
                if isinstance(reply, HostStatus) and self._is_promoted(reply)
            }
            if promoted:
                self._choose(promoted)
            elif (
                asked_host
                and generation == self._generation
                and self.heard_s < began_s
                and not _has_answered(replies.get(asked_host))
            ):
                if self._chosen is not None:
                    log.warning("database_host_silent", host=asked_host.label)
                self._generation += 1
                self._forget_chosen(silent=True)
                self._choose(replies)
            cuts = [cut for generation, cut in probe.cuts if generation != self._generation]
        for cut in cuts:
            with suppress(RuntimeError):  # the event loop that it is to be called in has ended
                cut()
        probe.over.set()

    def require_usable(self, chosen: ChosenHost, status: HostStatus) -> ChosenHost:
        """Returns the chosen host of a connection whose host has this status. Raises NoHost when it
        must not be used.
        """
        with self._guard:
            why = self._objection(status)
            if why is None:
                self._remember_timeline(status)
                return ChosenHost(chosen.host, self._generation, self._promotions)
        log.warning("database_host_refused", host=chosen.host.label, reason=why)
        raise NoHost(f"{chosen.host.label} {why}")

    def note_forbidden_question(self) -> None:
        """Notes that the role may not ask a host which cluster it belongs to. From then on none is
        asked, and all are taken for the same cluster.
        """
        with self._guard:
            was_known, self.may_ask_system = not self.may_ask_system, False
        if not was_known and len(self.all) > 1:
            log.warning("database_clusters_not_told_apart", reason=CLUSTERS_UNKNOWN)

    def ask(
        self,
        hosts: Sequence[Host],
        others_within_s: float = OTHERS_WITHIN_S,
        *,
        within_s: float = ANSWERS_WITHIN_S,
        is_enough: Callable[[Host, HostStatus], bool] | None = None,
    ) -> dict[Host, HostStatus | Exception]:
        """Asks all these at once. Returns what was heard until some time after the first that can
        be written to, or that `is_enough`; a silent one is missing.
        """
        answers: queue.SimpleQueue[tuple[Host, HostStatus | Exception]] = queue.SimpleQueue()
        for host in hosts:
            threading.Thread(
                target=lambda asked: answers.put((asked, self._answer_of(asked))),
                args=(host,),
                daemon=True,
            ).start()
        replies: dict[Host, HostStatus | Exception] = {}
        until_s = time.monotonic() + within_s
        while len(replies) < len(hosts) and (left_s := until_s - time.monotonic()) > 0:
            try:
                host, reply = answers.get(timeout=left_s)
            except queue.Empty:
                break
            replies[host] = reply
            if isinstance(reply, HostStatus) and (
                self._objection(reply) is None if is_enough is None else is_enough(host, reply)
            ):
                until_s = min(until_s, time.monotonic() + others_within_s)
        return replies

    def _forget_chosen(self, silent: bool) -> None:
        if silent or len(self.all) > 1:
            self._chosen = None

    def _remember_timeline(self, status: HostStatus) -> None:
        """Remembers the highest timeline. When it has risen there was a promotion: what is
        connected to the one before is of no use.
        """
        newest = self._newest.get(status.system)
        if newest is not None and status.timeline > newest:
            self._generation += 1
            self._promotions += 1
        self._newest[status.system] = max(status.timeline, newest or 0)

    def _answer_of(self, host: Host) -> HostStatus | Exception:
        try:
            return self._ask_one(self, host)
        except (psycopg.Error, OSError) as error:
            return error

    def _is_promoted(self, status: HostStatus) -> bool:
        return status.timeline > self._newest.get(status.system, status.timeline)

    def _objection(self, status: HostStatus) -> str | None:
        if status.is_standby:
            return None if self.wanted == "any" else STANDBY
        if self.wanted == "read-write" and status.read_only:
            return "is read-only"
        newest = self._newest.get(status.system, 0)
        return (
            f"is a former primary: its timeline is {status.timeline}, and {newest} was seen"
            if status.timeline < newest
            else None
        )

    def _find(self, searches: int) -> ChosenHost:
        """Finds the host, once for all who want to know at the same time: each gets what the one
        before it has found out.
        """
        with self._finding:
            if searches == self._searches:
                replies = self.ask(
                    self.all, within_s=ANSWERS_WITHIN_S if self._last is None else CHOSEN_WITHIN_S
                )
                with self._guard:
                    self._searches += 1
                    self._choose(replies)
            with self._guard:
                if self._chosen is None:
                    raise self._no_host or NoHost("no host can be written to")
                return ChosenHost(self._chosen, self._generation, self._promotions)

    def _choose(self, replies: Mapping[Host, HostStatus | Exception]) -> None:
        usable = [
            (reply.timeline, host)
            for host, reply in replies.items()
            if isinstance(reply, HostStatus) and self._objection(reply) is None
        ]
        if not usable:
            states = [f"{host.label} {self._in_words(replies.get(host))}" for host in self.all]
            self._no_host = NoHost(f"no host can be written to: {'; '.join(states)}")
            return
        newest = max(timeline for timeline, _ in usable)
        self._chosen = next(host for host in self.all if (newest, host) in usable)
        if self._last != self._chosen:
            if self._last is not None:
                log.warning(
                    "database_host_changed",
                    host=self._chosen.label,
                    former=self._last.label,
                    timeline=newest,
                )
            self._generation += 1
            self._promotions += 1
            self._last = self._chosen

    def _in_words(self, reply: HostStatus | Exception | None) -> str:
        if isinstance(reply, HostStatus):
            return self._objection(reply) or "can be written to"
        return (
            "does not answer"
            if reply is None
            else f"does not let us in ({str(reply).strip().splitlines()[-1]})"
        )

    def states_in_words(self) -> dict[Host, str]:
        """Returns what each host is now, for people."""
        replies = self.ask(self.all, ANSWERS_WITHIN_S, within_s=ANSWERS_WITHIN_S)
        return {
            host: WRITTEN_TO if host == self._chosen else self._in_words(replies.get(host))
            for host in self.all
        }


def _has_answered(reply: HostStatus | Exception | None) -> bool:
    """Returns whether PostgreSQL itself has answered, even if only that it lets nobody else in. A
    connection that could not be made is no answer.
    """
    return isinstance(reply, HostStatus) or "FATAL" in str(reply)
