"""Only one process at a time writes down a campaign's audience.

The campaign's row holds the id of whoever does, renewed in each of its transactions. So each sees
whether it is still the one. An id that is old belongs to a process that was killed, for ids tell
when they were made.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock, ids
from heliograph.campaigns.states import STARTABLE, WrongState
from heliograph.campaigns.tables import campaigns
from heliograph.database.database import Database

T = TypeVar("T")

# a transaction takes 0.2 s: whoever showed nothing for so long was killed
SILENT_MS: Final = 30_000
# People in one transaction: others wait for it no longer than for a large send. On SQLite nobody
# else writes meanwhile.
PEOPLE_PER_TRANSACTION: Final = 20_000
PEOPLE_PER_TRANSACTION_SQLITE: Final = 5_000
# Between two transactions of a command on SQLite: a server that waits for its turn looks again
# every 0.1 s at the latest.
PAUSE_SQLITE_S: Final = 0.1


class AudienceTaken(WrongState):
    """Somebody else has just launched this campaign, or canceled it."""


class AudienceLock:
    """Holds the right to write down one campaign's audience, from `take` until it is given back, or
    somebody else has it.
    """

    def __init__(self, db: Database, campaign_id: str) -> None:
        self.db = db
        self.campaign_id = campaign_id
        self._mine: str | None = None
        self.size = PEOPLE_PER_TRANSACTION if db.postgresql else PEOPLE_PER_TRANSACTION_SQLITE

    def take(self, work: Callable[[Connection], T]) -> T:
        """Takes the campaign in one transaction. The process that had it loses it: its next
        transaction is rolled back. `work` says whether the campaign may be taken.
        """
        return self._transact(work, since=None)

    def step(self, work: Callable[[Connection], T]) -> T:
        """Runs one transaction of the freezing. Raises AudienceTaken, and then nothing is
        stored.
        """
        assert self._mine is not None
        found = self._transact(work, since=self._mine)
        if not self.db.postgresql:
            time.sleep(PAUSE_SQLITE_S)
        return found

    def finish(self, work: Callable[[Connection], T]) -> T:
        """Runs the last transaction, which gives the campaign back. Raises AudienceTaken."""
        assert self._mine is not None

        def effect(tx: Connection) -> T:
            self._renew(tx, self._mine, None)
            return work(tx)

        return self.db.transact(effect)

    def _transact(self, work: Callable[[Connection], T], since: str | None) -> T:
        following = ids.raw_of_number(ids.new_number())

        def effect(tx: Connection) -> T:
            if since is not None:
                self._renew(tx, since, following)
                return work(tx)
            found = work(tx)
            tx.execute(
                sa.update(campaigns)
                .where(campaigns.c.id == self.campaign_id, campaigns.c.status.in_(STARTABLE))
                .values(freezing=following)
            )
            return found

        found = self.db.transact(effect)
        self._mine = following
        return found

    def _renew(self, tx: Connection, mine: str | None, following: str | None) -> None:
        """Renews the mark, and locks the row too."""
        if (
            tx.execute(
                sa.update(campaigns)
                .where(
                    campaigns.c.id == self.campaign_id,
                    campaigns.c.freezing == mine,
                    campaigns.c.status.in_(STARTABLE),
                )
                .values(freezing=following)
            ).rowcount
            == 0
        ):
            raise AudienceTaken()


def take_from_dead_processes(tx: Connection, account_id: str) -> None:
    """Takes the campaigns of this account from processes that have been silent for long. Should
    one live after all, its next transaction is rolled back.
    """
    held = tx.execute(
        sa.select(campaigns.c.id, campaigns.c.freezing).where(
            campaigns.c.account_id == account_id, campaigns.c.freezing.is_not(None)
        )
    )
    for campaign_id, freezing in held.all():
        if not is_taken(freezing):
            tx.execute(
                sa.update(campaigns)
                .where(campaigns.c.id == campaign_id, campaigns.c.freezing == freezing)
                .values(freezing=None)
            )


def is_taken(freezing: str | None) -> bool:
    """Returns whether somebody is at work, as far as can be seen. `freezing` is the column."""
    return freezing is not None and ids.made_at_ms(int(freezing, 16)) > clock.now_ms() - SILENT_MS
