"""Names what each process does, in the words of the page *Now*."""

from collections.abc import Mapping, Sequence
from typing import Final

from heliograph.database.leases import (
    API,
    CARRIER,
    CONSOLE,
    SCHEDULER,
    SERVE,
    WORKER,
    common_worker,
)
from heliograph.monitoring import RegisteredProcess

COMMON_WORK: Final = "the common work"
_OF_KIND: Final = {
    SERVE: "requests, all carriers",
    API: "requests",
    WORKER: "carriers that have no process of their own",
    SCHEDULER: "",
    CONSOLE: "the console",
}


def works_of(processes: Sequence[RegisteredProcess], carriers: Mapping[int, str]) -> dict[int, str]:
    """Returns by number what each process does. `carriers` are the names of all of them."""
    common = common_worker({process.number: process.kind for process in processes})
    return {
        process.number: _work_of(process, carriers, does_common=process.number == common)
        for process in processes
    }


def _work_of(process: RegisteredProcess, carriers: Mapping[int, str], *, does_common: bool) -> str:
    if process.kind == CARRIER:
        return carriers.get(process.carrier_id or 0, "a carrier that was removed")
    own = _OF_KIND.get(process.kind, "")
    if does_common:
        return f"{own}, {COMMON_WORK}" if own else COMMON_WORK
    return own or f"stands by for {COMMON_WORK}"
