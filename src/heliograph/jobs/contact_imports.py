"""Imports of contacts that the portal has stored are done step by step, those of several accounts
in turns.

One process does it for all. It knows nothing that is not in the database: when it ends, the next
one goes on behind the last row.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.contacts.stored_import import ImportRun, running_imports
from heliograph.database.database import Database

LOOK_S: Final = 1.0  # a person waits for it

log = Log(__name__)


async def keep_importing(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""
    imports = Imports(db)

    async def import_all() -> None:
        while is_ours() and await asyncio.to_thread(imports.round):
            pass

    await repeat(import_all, wait=LOOK_S, fault="contact_imports_not_looked_at")


class Imports:
    """Does the imports that are running, in one process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._runs: dict[str, ImportRun] = {}  # by the id of the import

    def round(self) -> bool:
        """Does one step of each import, and returns whether all of them could be done, and there
        were any.
        """
        with self._db.read() as tx:
            running = running_imports(tx)
        self._runs = {
            each.id: self._runs.get(each.id) or ImportRun(self._db, each.id) for each in running
        }
        done = 0
        for each in running:
            with survive_faults("contact_import_not_continued", contact_import=each.text_id):
                self._runs[each.id].step()
                done += 1
        return 0 < done == len(running)
