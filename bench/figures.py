"""Lists all figures: what each is called, what it stands beside, and what it should reach."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.reading import Reading

DATABASES: Final = ("postgresql", "sqlite")


@dataclass(frozen=True, slots=True)
class Aim:
    """An aim says what a figure should reach: a value of its own unit, or a share of the highest of
    other figures of the same run.
    """

    at_least: float | None = None
    at_most: float | None = None
    times: float = 1.0
    of: tuple[str, ...] = ()

    def text(self) -> str:
        """Returns a text such as `>= 0.7 x Kannel`."""
        if self.of:
            return f">= {self.times:g} x Kannel"
        return f">= {self.at_least:,g}" if self.at_least is not None else f"< {self.at_most:,g}"

    def met(self, value: float, medians: dict[str, float]) -> bool | None:
        """Returns whether the aim is met; None when what it is compared with was not measured."""
        if self.of:
            others = [medians[name] for name in self.of if name in medians]
            return value >= self.times * max(others) if others else None
        return (
            value >= self.at_least
            if self.at_least is not None
            else self.at_most is not None and value < self.at_most
        )


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure is one line of the tables."""

    name: str
    title: str
    unit: str
    beside: tuple[str, ...] = ()  # the limits, or Kannel's figures, that its ratios are shown to
    aims: tuple[Aim, ...] = ()
    highest: bool = False  # the highest reading stands for all; else their median

    def of(self, readings: Sequence[Reading]) -> float:
        """Returns what the readings of this figure come to."""
        values = [reading.value for reading in readings]
        return max(values) if self.highest else statistics.median(values)


LIMITS: Final = (
    Figure("limit.uvicorn", "bare uvicorn, fixed answer, 64 connections", "requests/s"),
    Figure("limit.json", "bare uvicorn, JSON decoded and encoded, 64 connections", "requests/s"),
    Figure("limit.unnest", "PostgreSQL, rows by unnest, 10,000 a commit", "rows/s"),
    Figure(
        "limit.postgresql_commits",
        "PostgreSQL, smallest transaction, one after another",
        "commits/s",
    ),
    Figure("limit.sqlite_rows", "SQLite, rows by executemany, 10,000 a commit", "rows/s"),
    Figure("limit.sqlite_commits", "SQLite, smallest transaction, one after another", "commits/s"),
    Figure("limit.smpp", "SMPP load client, one bind, window 100", "submit_sm/s"),
    Figure("limit.smpp_receipts", "SMPP load client, one bind, window 100, receipts", "receipts/s"),
    Figure(
        "limit.aiohttp", "bare aiohttp, one signed POST again and again, 64 side by side", "POSTs/s"
    ),
    Figure(
        "kannel.accept_queue", "Kannel, disk queue: accepted while its SMSC is away", "messages/s"
    ),
    Figure("kannel.accept", "Kannel, disk queue: accepted while its SMSC takes them", "messages/s"),
    Figure(
        "kannel.drain",
        "Kannel, disk queue: a full queue let go, receipts and callbacks",
        "messages/s",
    ),
    Figure(
        "kannel.receipts",
        "Kannel, disk queue: accept and deliver at once, receipts and callbacks",
        "messages/s",
    ),
)

CARRIER_PROCESSES: Final = (1, 2)
_KANNEL_RECEIPTS: Final = ("kannel.drain", "kannel.receipts")


_LIMITS_OF: Final = {  # of each database: its rows, its commits
    "postgresql": ("limit.unnest", "limit.postgresql_commits"),
    "sqlite": ("limit.sqlite_rows", "limit.sqlite_commits"),
}


def _of_database(kind: str) -> tuple[Figure, ...]:
    return (
        *_accepted(kind),
        *_campaigns(kind),
        *_contacts(kind),
        *_sent(kind),
        *_webhooks(kind),
        *_at_rest(kind),
    )


def _on(kind: str, postgresql: tuple[Aim, ...], sqlite: tuple[Aim, ...] = ()) -> tuple[Aim, ...]:
    """Returns the aims of a database."""
    return postgresql if kind == "postgresql" else sqlite


def _accepted(kind: str) -> Iterator[Figure]:
    rows, commits = _LIMITS_OF[kind]
    beside = ("limit.json", commits, "kannel.accept_queue")
    # like with like: its SMSC away beside our carrier away
    accept_aim = Aim(times=0.7, of=("kannel.accept_queue",))
    otp_aims = _on(kind, (Aim(at_least=2_000),))
    yield Figure(
        f"ours.accept.{kind}",
        "one-recipient sends, 64 connections",
        "messages/s",
        beside,
        _on(kind, (accept_aim,), (Aim(at_least=3_500),)),
    )
    if kind == "postgresql":
        yield Figure(
            f"ours.accept_two.{kind}",
            "one-recipient sends, 64 connections, two API processes",
            "messages/s",
            beside,
        )
    yield Figure(
        f"ours.bulk.{kind}",
        "10,000-recipient sends, 4 connections",
        "recipients/s",
        (rows,),
        _on(kind, (Aim(at_least=100_000),), (Aim(at_least=50_000),)),
    )
    yield Figure(
        f"ours.otp_send.{kind}",
        "one-time passwords sent, 64 connections",
        "messages/s",
        beside,
        otp_aims,
    )
    yield Figure(
        f"ours.otp_verify.{kind}",
        "right codes verified, 64 connections",
        "codes/s",
        beside,
        otp_aims,
    )


def _campaigns(kind: str) -> Iterator[Figure]:
    rows, _ = _LIMITS_OF[kind]
    expanded_aims = _on(kind, (Aim(at_least=20_000),))
    yield Figure(
        f"ours.campaign_frozen_plain.{kind}",
        "campaign launch, 200,000 contacts for each second of a load run",
        "s",
        (),
        _on(kind, (Aim(at_most=15),)),
    )
    yield Figure(f"ours.campaign_frozen_own.{kind}", "the same, each with a text of its own", "s")
    yield Figure(
        f"ours.campaign_plain.{kind}",
        "their messages made, charged and queued",
        "messages/s",
        (rows,),
        expanded_aims,
    )
    yield Figure(
        f"ours.campaign_own.{kind}",
        "the same, each with a text of its own",
        "messages/s",
        (rows,),
        expanded_aims,
    )
    yield Figure(
        f"ours.campaign_memory.{kind}", "what a process grows by that", "MiB", highest=True
    )
    yield Figure(
        f"ours.campaign_first_of_command.{kind}",
        "from the start of the command to the first submit_sm, by serve: with freezing",
        "s",
    )
    yield Figure(
        f"ours.campaign_first.{kind}",
        "from started_at, when all are frozen, to the first submit_sm, by serve",
        "s",
        aims=(Aim(at_most=2),),
    )
    yield Figure(
        f"ours.campaign_sent.{kind}",
        "a campaign by serve, launched -> delivered",
        "messages/s",
        ("limit.smpp_receipts",),
    )


def _contacts(kind: str) -> Iterator[Figure]:
    yield Figure(
        f"ours.contacts_import.{kind}",
        "contacts imported from a file, 100,000",
        "contacts/s",
        aims=_on(kind, (Aim(at_least=5_000),)),
    )
    yield Figure(
        f"ours.contacts_search.{kind}",
        "searches among them, the slowest needle's median",
        "ms",
        aims=_on(kind, (Aim(at_most=50),)),
    )


def _sent(kind: str) -> Iterator[Figure]:
    beside = ("limit.smpp_receipts", "kannel.drain")
    drain_aims = (Aim(at_least=5_000), Aim(times=2, of=_KANNEL_RECEIPTS))
    yield Figure(
        f"ours.drain.{kind}",
        "queued -> sent -> delivered, a full queue let go",
        "messages/s",
        beside,
        _on(kind, drain_aims, (Aim(at_least=3_000),)),
    )
    for count in CARRIER_PROCESSES if kind == "postgresql" else ():
        yield Figure(
            f"ours.drain_{count}.{kind}",
            f"the same by heliograph carrier run, {count} of them",
            "messages/s",
            beside,
        )
    # like with like: its SMSC there beside ours there (where ours asks for receipts too, and Kannel
    # does not)
    yield Figure(
        f"ours.flow_accept.{kind}",
        "accept and deliver at once: accepted",
        "messages/s",
        ("kannel.accept",),
        _on(kind, (Aim(times=0.7, of=("kannel.accept",)),)),
    )
    yield Figure(
        f"ours.flow.{kind}",
        "accept and deliver at once: delivered",
        "messages/s",
        ("kannel.receipts",),
    )


def _webhooks(kind: str) -> Iterator[Figure]:
    aims = _on(kind, (Aim(at_least=3_000),))
    yield Figure(
        f"ours.webhooks_1.{kind}",
        "webhooks that wait, delivered and recorded: one endpoint",
        "deliveries/s",
        ("limit.aiohttp",),
        aims,
    )
    yield Figure(
        f"ours.webhooks_10.{kind}",
        "the same for ten endpoints",
        "deliveries/s",
        ("limit.aiohttp",),
        aims,
    )
    if kind == "postgresql":
        yield Figure(
            f"ours.webhooks_two.{kind}",
            "the same for ten endpoints, by two heliograph worker",
            "deliveries/s",
            ("limit.aiohttp",),
        )
    yield Figure(
        f"ours.unheard.{kind}", "a full queue of one account's let go, no endpoint", "messages/s"
    )
    yield Figure(
        f"ours.heard.{kind}",
        "the same with an endpoint that hears of sent and delivered",
        "messages/s",
    )
    yield Figure(
        f"ours.heard_share.{kind}",
        "what an endpoint leaves of that speed",
        "of 1",
        aims=(Aim(at_least=0.6),),
    )
    yield Figure(
        f"ours.heard_posts.{kind}",
        "POSTs while those are sent, and after",
        "POSTs/s",
        ("limit.aiohttp",),
    )
    yield Figure(
        f"ours.first_post.{kind}", "idle, from sent to the POST that tells of it, median", "ms"
    )


def _at_rest(kind: str) -> Iterator[Figure]:
    yield Figure(
        f"ours.cold.{kind}",
        "one-recipient sends in the first second after a start, all keys new",
        "messages/s",
    )
    yield Figure(f"ours.idle_p50.{kind}", "one send on an idle server, median", "ms")
    yield Figure(f"ours.idle_p99.{kind}", "one send on an idle server, 99th percentile", "ms")
    yield Figure(f"ours.start.{kind}", "serve, from start to ready", "s", aims=(Aim(at_most=1.5),))
    yield Figure(
        f"ours.memory_at_rest.{kind}",
        "memory, just started",
        "MiB",
        aims=(Aim(at_most=150),),
        highest=True,
    )
    yield Figure(
        f"ours.memory.{kind}",
        "memory, the most in any case",
        "MiB",
        aims=(Aim(at_most=150),),
        highest=True,
    )


OURS: Final = {kind: _of_database(kind) for kind in DATABASES}


def medians(readings: Sequence[Reading]) -> dict[str, float]:
    """Returns what each measured figure comes to."""
    found = {}
    for figure in (*LIMITS, *(figure for kind in DATABASES for figure in OURS[kind])):
        of_it = [reading for reading in readings if reading.figure == figure.name]
        if of_it:
            found[figure.name] = figure.of(of_it)
    return found
