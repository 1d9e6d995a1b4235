"""Each process tells of itself with its beat: version, memory, disk, and what its carriers did.

The figures are those of `/metrics`, which are counted anyway. They are read once a beat, and are
stored in the row that the beat writes.
"""

import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from heliograph.base import clock
from heliograph.base.log import Log, survive_faults
from heliograph.monitoring.check_result import CheckResult

if TYPE_CHECKING:
    from heliograph.base.metrics import CarrierTotals

_MEMORY: Final = Path("/proc/self/statm")
WORDS_MAX: Final = 128  # of a host's name and a version: others may have longer ones
FOUND_MAX: Final = 10  # things that are wrong around a process
FOUND_CHARACTERS_MAX: Final = 500  # of each

log = Log(__name__)


class CarrierCounts(msgspec.Struct, frozen=True):
    """Counts what a process and one carrier did since the process began. `answers` are counted by
    outcome, `receipts` by state, and `statuses`, the answers with an error, by command_status.
    """

    submitted: int = 0
    answers: dict[str, int] = {}
    receipts: dict[str, int] = {}
    window_in_use: int = 0
    statuses: dict[str, int] = {}


class ProcessFigures(msgspec.Struct, frozen=True):
    """Holds what a process tells of itself. `carriers` are its counts by carriers' names. `redis`
    is whether Redis answers it, and None if it does not use it. `found` is what is wrong around
    it.
    """

    at_ms: int
    version: str
    host: str
    process_id: int
    memory_octets: int | None = None
    disk_free_octets: int | None = None
    redis: bool | None = None
    carriers: dict[str, CarrierCounts] = {}
    found: list[CheckResult] = []


def written_figures(
    version: str,
    data_dir: Path,
    redis: bool | None,
    *,
    has_carriers: bool,
    found: Sequence[CheckResult] = (),
) -> str | None:
    """Returns what this process tells of itself, as its row holds it. It is None if that fails,
    because no figure may make a beat fail.
    """
    from heliograph.base import metrics

    with survive_faults("figures_not_told", level="warning"):
        figures = ProcessFigures(
            at_ms=clock.now_ms(),
            version=version[:WORDS_MAX],
            host=socket.gethostname()[:WORDS_MAX],
            process_id=os.getpid(),
            memory_octets=_memory_octets(),
            disk_free_octets=_disk_free_octets(data_dir),
            redis=redis,
            carriers=counts_of(metrics.carrier_totals()) if has_carriers else {},
            found=[
                each._replace(found=each.found[:FOUND_CHARACTERS_MAX]) for each in found[:FOUND_MAX]
            ],
        )
        return msgspec.json.encode(figures).decode()
    return None


def read_figures(stored: str | None) -> ProcessFigures | None:
    """Returns what a process told; None if it told nothing, or nothing that this version reads."""
    if stored is None:
        return None
    try:
        return msgspec.json.decode(stored, type=ProcessFigures)
    except msgspec.DecodeError:
        return None


def counts_of(totals: "Mapping[str, CarrierTotals]") -> dict[str, CarrierCounts]:
    """Returns the totals of `/metrics` as a process tells them."""
    return {
        name: CarrierCounts(
            of.submitted,
            dict(of.answers),
            dict(of.receipts),
            of.window_in_use,
            dict(of.statuses),
        )
        for name, of in totals.items()
    }


def _memory_octets() -> int | None:
    try:
        # proc(5): the second figure is the pages that are in memory
        return int(_MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None  # there is no such file but on Linux


def _disk_free_octets(data_dir: Path) -> int | None:
    try:
        return shutil.disk_usage(data_dir).free
    except OSError:
        return None  # an API process may have none
