"""Measures what a page costs: how long it takes, and how much of the processor."""

import statistics
import time
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

import sqlalchemy as sa

from tests.support.portal.visitor import Visitor

AIM_MS: Final = 100
COLUMNS: Final = "     p95   median      cpu    octets  page"  # times are in ms
ASKED: Final = 30  # times, each page
# a campaign to more contacts than a page prices is refused as a conflict
SHOWN: Final = (HTTPStatus.OK, HTTPStatus.SEE_OTHER, HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT)


class Measured(NamedTuple):
    """Tells how long a page took, and how many octets it has."""

    path: str
    p95_ms: float
    median_ms: float
    octets: int


class PageCost(NamedTuple):
    """Tells what a page took, and its processor time."""

    measured: Measured
    cpu_ms: float

    @property
    def line(self) -> str:
        page = self.measured
        times = f"{page.p95_ms:8.1f} {page.median_ms:8.1f} {self.cpu_ms:8.1f}"
        return f"{times} {page.octets:9,}  {page.path}"


def cost_of(visitor: Visitor, plain: sa.Engine, path: str, name: str) -> PageCost:
    """Asks for a page ASKED times. `name` is what it is called in the report, and `plain` leads to
    the database that it reads.
    """
    began_s = used_s(plain)
    measured = asked_often(visitor, path, name)
    return PageCost(measured, (used_s(plain) - began_s) * 1_000 / ASKED)


def asked_often(visitor: Visitor, path: str, name: str) -> Measured:
    """Asks for a page ASKED times. `name` is what it is called in the report."""
    took_ms = []
    for _ in range(ASKED):
        began_s = time.perf_counter()
        page = visitor.get(path)
        took_ms.append((time.perf_counter() - began_s) * 1_000)
        assert page.status_code in SHOWN, f"{path}: {page.status_code}"
    return Measured(
        name if page.status_code == HTTPStatus.OK else f"{name} ({page.status_code})",
        statistics.quantiles(took_ms, n=20)[-1],
        statistics.median(took_ms),
        len(page.content),
    )


def used_s(plain: sa.Engine) -> float:
    """Returns the processor time of this process, and of the database's processes that serve it
    as far as they are on this machine.
    """
    if plain.dialect.name == "sqlite":
        return time.process_time()
    asked = sa.text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
    with plain.connect() as connection:
        pids = connection.execute(asked).scalars().all()
    files = [Path(f"/proc/{pid}/schedstat") for pid in pids]
    used_ns = [int(each.read_text().split()[0]) for each in files if each.exists()]
    return time.process_time() + sum(used_ns) / 1e9
