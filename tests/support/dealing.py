"""Says in which order tests are dealt to the processes that run them beside each other.

Two thirds of the time of `tests/crash` and `tests/faults` is waiting, and what a page does in a
browser takes both processors. So at each moment of a run some tests should wait while others work:
each folder is dealt evenly over the whole run. A file is dealt whole, for what it has made for all
of its tests is made once. Tests that wait are dealt one by one, the longest first.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# of pytest, for whoever wants its tests dealt so
ARGUMENTS: Final = ("--dist", "loadscope", "--no-loadscope-reorder")
WAITING: Final = ("crash", "faults")
WHOLE: Final = (
    "tests/faults/database/test_patroni.py",
)  # its tests share what takes long to start
# files that have something made once in a process, the rows of the audit, are dealt together
TOGETHER: Final = "tests/capability/audit/test_audit"
VERY_FIRST: Final = "tests/crash/test_install_documented.py"  # takes two minutes
# by what their names begin with: the longest of each folder, which begin before its others
LONGEST: Final = (
    VERY_FIRST,
    "tests/faults/test_wrong_clock.py",
    "tests/faults/test_held_up.py",
    "tests/faults/test_clock.py",
    "tests/faults/test_upgrade.py",
    "tests/faults/database/test_failover.py",
    "tests/faults/database/test_restore.py",
    "tests/browser/portal/test_portal_for_everybody.py",
)
# after this part of a run no test begins that mostly waits: whoever has none left would be idle
WAITING_UNTIL: Final = 0.9


def unit_of(test: str) -> str:
    """Returns what is dealt with a test (its id): some files, its file, or the test alone."""
    if test.startswith(TOGETHER):
        return TOGETHER
    file = test.partition("::")[0]
    return test if folder_of(test) in WAITING and file not in WHOLE else file


def folder_of(test: str) -> str:
    """Returns the folder below tests/."""
    return test.removeprefix("tests/").partition("/")[0]


def dealt(tests: Iterable[str]) -> list[str]:
    """Returns these ids in the order in which they are dealt."""
    units: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        units[unit_of(test)].append(test)
    folders: dict[str, list[str]] = defaultdict(list)
    for unit in units:
        folders[folder_of(unit)].append(unit)
    places: dict[str, float] = {}
    for folder, members in folders.items():
        members.sort(key=_rank)
        total, done = sum(len(units[unit]) for unit in members), 0
        for unit in members:
            places[unit] = done / total * (WAITING_UNTIL if folder in WAITING else 1)
            done += len(units[unit])
    order = sorted(units, key=lambda unit: (not unit.startswith(VERY_FIRST), places[unit]))
    return [test for unit in order for test in units[unit]]


def _rank(unit: str) -> int:
    """Returns the place of a unit among the longest, or the one after all of those."""
    return next((k for k, name in enumerate(LONGEST) if unit.startswith(name)), len(LONGEST))


class Dealing(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Deals units in the order of collection. A process has one test waiting behind the one that it
    runs, for that one may take minutes. It begins a test once it knows the next, or that there is
    none. A process that takes the place of one that died is dealt two tests, too.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        while not node.shutting_down and (
            not self.workqueue or self._pending_of(self.assigned_work[node]) <= 1
        ):
            super()._reschedule(node)
