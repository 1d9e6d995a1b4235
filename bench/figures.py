"""All figures: what each is called, what it stands beside, and what it should reach."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.reading import Reading

DATABASES: Final = ("postgresql", "sqlite")


@dataclass(frozen=True, slots=True)
class Aim:
    """What a figure should reach: a value of its own unit, or a share of the highest of
    other figures of the same run.
    """

    at_least: float | None = None
    at_most: float | None = None
    times: float = 1.0
    of: tuple[str, ...] = ()

    def text(self) -> str:
        """Such as `>= 0.7 x Kannel`."""
        if self.of:
            return f">= {self.times:g} x Kannel"
        return f">= {self.at_least:,g}" if self.at_least is not None else f"< {self.at_most:,g}"

    def met(self, value: float, medians: dict[str, float]) -> bool | None:
        """None when what it is compared with was not measured."""
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
    """One line of the tables."""

    name: str
    title: str
    unit: str
    beside: tuple[str, ...] = ()  # the limits, or Kannel's figures, that its ratios are shown to
    aims: tuple[Aim, ...] = ()
    highest: bool = False  # the highest reading stands for all; else their median

    def of(self, readings: Sequence[Reading]) -> float:
        """What the readings of this figure come to."""
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


def _of_database(kind: str) -> tuple[Figure, ...]:
    rows, commits = (
        ("limit.unnest", "limit.postgresql_commits")
        if kind == "postgresql"
        else ("limit.sqlite_rows", "limit.sqlite_commits")
    )
    on_postgresql = kind == "postgresql"
    # like with like: its SMSC away beside our carrier away, and there beside there (where ours asks
    # for receipts too, and Kannel does not)
    accept_aims = (
        Aim(times=0.7, of=("kannel.accept_queue",)) if on_postgresql else Aim(at_least=3_500),
    )
    flow_aims = (Aim(times=0.7, of=("kannel.accept",)),) if on_postgresql else ()
    bulk_aims = (Aim(at_least=100_000 if on_postgresql else 50_000),)
    drain_aims = (
        (Aim(at_least=5_000), Aim(times=2, of=_KANNEL_RECEIPTS))
        if on_postgresql
        else (Aim(at_least=3_000),)
    )
    beside_accept, beside_drain = (
        ("limit.json", commits, "kannel.accept_queue"),
        ("limit.smpp_receipts", "kannel.drain"),
    )
    two = (
        Figure(
            f"ours.accept_two.{kind}",
            "one-recipient sends, 64 connections, two API processes",
            "messages/s",
            beside_accept,
        ),
    )
    carriers = [
        Figure(
            f"ours.drain_{count}.{kind}",
            f"the same by heliograph carrier run, {count} of them",
            "messages/s",
            beside_drain,
        )
        for count in CARRIER_PROCESSES
    ]
    hooks_aims = (Aim(at_least=3_000),) if on_postgresql else ()
    otp_aims = (Aim(at_least=2_000),) if on_postgresql else ()
    frozen_aims, expanded_aims = (
        ((Aim(at_most=15),), (Aim(at_least=20_000),)) if on_postgresql else ((), ())
    )
    import_aims, search_aims = (
        ((Aim(at_least=5_000),), (Aim(at_most=50),)) if on_postgresql else ((), ())
    )
    two_workers = (
        Figure(
            f"ours.webhooks_two.{kind}",
            "the same for ten endpoints, by two heliograph worker",
            "deliveries/s",
            ("limit.aiohttp",),
        ),
    )
    return (
        Figure(
            f"ours.accept.{kind}",
            "one-recipient sends, 64 connections",
            "messages/s",
            beside_accept,
            accept_aims,
        ),
        *(two if on_postgresql else ()),
        Figure(
            f"ours.bulk.{kind}",
            "10,000-recipient sends, 4 connections",
            "recipients/s",
            (rows,),
            bulk_aims,
        ),
        Figure(
            f"ours.otp_send.{kind}",
            "one-time passwords sent, 64 connections",
            "messages/s",
            beside_accept,
            otp_aims,
        ),
        Figure(
            f"ours.otp_verify.{kind}",
            "right codes verified, 64 connections",
            "codes/s",
            beside_accept,
            otp_aims,
        ),
        Figure(
            f"ours.campaign_frozen_plain.{kind}",
            "campaign launch, 200,000 contacts for each second of a load run",
            "s",
            (),
            frozen_aims,
        ),
        Figure(f"ours.campaign_frozen_own.{kind}", "the same, each with a text of its own", "s"),
        Figure(
            f"ours.campaign_plain.{kind}",
            "their messages made, charged and queued",
            "messages/s",
            (rows,),
            expanded_aims,
        ),
        Figure(
            f"ours.campaign_own.{kind}",
            "the same, each with a text of its own",
            "messages/s",
            (rows,),
            expanded_aims,
        ),
        Figure(f"ours.campaign_memory.{kind}", "what a process grows by that", "MiB", highest=True),
        Figure(
            f"ours.campaign_first_of_command.{kind}",
            "from the start of the command to the first submit_sm, by serve: with freezing",
            "s",
        ),
        Figure(
            f"ours.campaign_first.{kind}",
            "from started_at, when all are frozen, to the first submit_sm, by serve",
            "s",
            aims=(Aim(at_most=2),),
        ),
        Figure(
            f"ours.campaign_sent.{kind}",
            "a campaign by serve, launched -> delivered",
            "messages/s",
            ("limit.smpp_receipts",),
        ),
        Figure(
            f"ours.contacts_import.{kind}",
            "contacts imported from a file, 100,000",
            "contacts/s",
            aims=import_aims,
        ),
        Figure(
            f"ours.contacts_search.{kind}",
            "searches among them, the slowest needle's median",
            "ms",
            aims=search_aims,
        ),
        Figure(
            f"ours.drain.{kind}",
            "queued -> sent -> delivered, a full queue let go",
            "messages/s",
            beside_drain,
            drain_aims,
        ),
        *(carriers if on_postgresql else ()),
        Figure(
            f"ours.flow_accept.{kind}",
            "accept and deliver at once: accepted",
            "messages/s",
            ("kannel.accept",),
            flow_aims,
        ),
        Figure(
            f"ours.flow.{kind}",
            "accept and deliver at once: delivered",
            "messages/s",
            ("kannel.receipts",),
        ),
        Figure(
            f"ours.webhooks_1.{kind}",
            "webhooks that wait, delivered and recorded: one endpoint",
            "deliveries/s",
            ("limit.aiohttp",),
            hooks_aims,
        ),
        Figure(
            f"ours.webhooks_10.{kind}",
            "the same for ten endpoints",
            "deliveries/s",
            ("limit.aiohttp",),
            hooks_aims,
        ),
        *(two_workers if on_postgresql else ()),
        Figure(
            f"ours.unheard.{kind}",
            "a full queue of one account's let go, no endpoint",
            "messages/s",
        ),
        Figure(
            f"ours.heard.{kind}",
            "the same with an endpoint that hears of sent and delivered",
            "messages/s",
        ),
        Figure(
            f"ours.heard_share.{kind}",
            "what an endpoint leaves of that speed",
            "of 1",
            aims=(Aim(at_least=0.6),),
        ),
        Figure(
            f"ours.heard_posts.{kind}",
            "POSTs while those are sent, and after",
            "POSTs/s",
            ("limit.aiohttp",),
        ),
        Figure(
            f"ours.first_post.{kind}", "idle, from sent to the POST that tells of it, median", "ms"
        ),
        Figure(
            f"ours.cold.{kind}",
            "one-recipient sends in the first second after a start, all keys new",
            "messages/s",
        ),
        Figure(f"ours.idle_p50.{kind}", "one send on an idle server, median", "ms"),
        Figure(f"ours.idle_p99.{kind}", "one send on an idle server, 99th percentile", "ms"),
        Figure(f"ours.start.{kind}", "serve, from start to ready", "s", aims=(Aim(at_most=1.5),)),
        Figure(
            f"ours.memory_at_rest.{kind}",
            "memory, just started",
            "MiB",
            aims=(Aim(at_most=150),),
            highest=True,
        ),
        Figure(
            f"ours.memory.{kind}",
            "memory, the most in any case",
            "MiB",
            aims=(Aim(at_most=150),),
            highest=True,
        ),
    )


OURS: Final = {kind: _of_database(kind) for kind in DATABASES}


def medians(readings: Sequence[Reading]) -> dict[str, float]:
    """What each measured figure comes to."""
    found = {}
    for figure in (*LIMITS, *(figure for kind in DATABASES for figure in OURS[kind])):
        of_it = [reading for reading in readings if reading.figure == figure.name]
        if of_it:
            found[figure.name] = figure.of(of_it)
    return found
