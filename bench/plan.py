"""Says what is measured in which order. The cases of a round follow each other, and rounds repeat:
machines drift, ratios of neighbours do not.
"""

import http.client
import itertools
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import psutil
import psycopg

from bench import campaigns, contacts, kannel, limits, otp, ours, webhooks
from bench.databases import Databases, PostgresDatabases
from bench.figures import CARRIER_PROCESSES
from bench.processes import NotMeasured
from bench.reading import Conditions, Reading, errors_text

GROUPS = ("accept", "bulk", "otp", "contacts", "campaigns", "drain", "webhooks", "start")
CASE_FAILS_WITH = (
    NotMeasured,
    OSError,
    subprocess.SubprocessError,
    http.client.HTTPException,
    psycopg.Error,
    sqlite3.Error,
)
# of all cores, by others, before a round: from here on absolute figures say little
BUSY_PERCENT = 15.0


@dataclass(frozen=True, slots=True)
class Case:
    """A case is one measurement that gives one reading or more."""

    group: str
    name: str
    take: Callable[[], list[Reading]]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure is a case that could not be measured."""

    case: str
    why: str


@dataclass(slots=True)
class Results:
    """Keeps all that was seen."""

    readings: list[Reading]
    failures: list[Failure]
    busy_percent: list[float]  # before each round, what others used of the machine


def cases(
    conditions: Conditions, databases: Sequence[Databases], groups: Sequence[str]
) -> list[Case]:
    """Returns one round: for each group the limits first, then Kannel, then ours on each
    database.
    """
    return [case for case in _all_cases(conditions, databases) if case.group in groups]


def _all_cases(conditions: Conditions, databases: Sequence[Databases]) -> Iterator[Case]:
    def of_ours(
        group: str, name: str, take: Callable[[Conditions, Databases], list[Reading]]
    ) -> Iterator[Case]:
        for kind in databases:
            yield Case(group, f"ours: {name} on {kind.kind}", partial(take, conditions, kind))

    postgresql = [each for each in databases if isinstance(each, PostgresDatabases)]
    with_kannel = kannel.installed()
    yield from of_ours("start", "start", ours.start)
    yield Case("accept", "limit: bare uvicorn", partial(limits.uvicorn, conditions))
    if with_kannel:
        yield Case("accept", "Kannel: accept", partial(kannel.accept, conditions))
    yield from of_ours("accept", "accept", ours.accept)
    for each in postgresql:
        two = partial(ours.accept_two, conditions, each)
        yield Case("accept", "ours: accept in two processes", two)
    for kind in databases:
        if isinstance(kind, PostgresDatabases):
            yield Case("bulk", "limit: PostgreSQL", partial(limits.postgresql, conditions, kind))
        else:
            yield Case("bulk", "limit: SQLite", partial(limits.sqlite, conditions))
    yield from of_ours("bulk", "bulk", ours.bulk)
    yield from of_ours("otp", "one-time passwords sent", otp.send)
    yield from of_ours("otp", "one-time passwords verified", otp.verify)
    yield from of_ours("campaigns", "campaigns frozen and expanded", campaigns.expand)
    yield from of_ours("campaigns", "a campaign sent", campaigns.send)
    yield from of_ours("contacts", "contacts imported and searched", contacts.keep)
    yield Case("drain", "limit: SMPP", partial(limits.smpp, conditions))
    if with_kannel:
        yield Case("drain", "Kannel: drain", partial(kannel.drain, conditions))
    yield from of_ours("drain", "drain", ours.drain)
    for each, processes in itertools.product(postgresql, CARRIER_PROCESSES):
        several = partial(ours.drain_in_processes, conditions, each, processes)
        yield Case("drain", f"ours: drain in {processes} carrier processes", several)
    if with_kannel:
        yield Case("drain", "Kannel: receipts", partial(kannel.receipts, conditions))
    yield from of_ours("drain", "accept and deliver", ours.flow)
    yield Case("webhooks", "limit: bare aiohttp", partial(limits.aiohttp, conditions))
    yield from of_ours("webhooks", "webhooks that wait", webhooks.waiting)
    for each in postgresql:
        two = partial(webhooks.waiting_two, conditions, each)
        yield Case("webhooks", "ours: webhooks that wait, two workers", two)
    yield from of_ours("webhooks", "drain, heard and unheard", webhooks.drain)
    yield from of_ours("webhooks", "a first delivery", webhooks.first)


def take_all(round_cases: Sequence[Case], rounds: int, say: Callable[[str], None]) -> Results:
    """Goes through the cases `rounds` times. A case that fails is noted, and the others go on."""
    results = Results([], [], [])
    for number in range(rounds):
        results.busy_percent.append(psutil.cpu_percent(interval=1))
        for case in round_cases:
            began = time.monotonic()
            try:
                taken = case.take()
            except CASE_FAILS_WITH as error:
                results.failures.append(Failure(case.name, str(error)))
                say(f"round {number + 1}  {case.name}: NOT MEASURED: {error}")
                continue
            results.readings += taken
            figures = ", ".join(
                f"{reading.value:,.4g}"
                + (f" ({errors_text(reading.errors)})" if reading.errors else "")
                for reading in taken
            )
            say(f"round {number + 1}  {case.name}: {figures}  [{time.monotonic() - began:.0f} s]")
    return results
