"""All processes of one database go by the database's clock: it is compared at the start of each,
and every minute (`processes/clock_watch.py`).

Validity, retries and the order of the ledger are by stored times, which several machines write and
read. A machine whose clock is an hour ahead would end in one look what is valid for less. So a
process whose clock is more than 2 s from the database's does not start; what is less is corrected
(`clock.follow_database_clock`). A running process that finds them more than 5 s apart claims
nothing and lets nothing expire until they agree again: one of the two was set, and nobody can know
which. SQLite has no clock of its own; there the machine's is the only one.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.database.database import Database

# apart: what time servers keep apart is a hundred times less, and what is valid for a minute bears
# this
START_MS_MAX: Final = 2_000
QUESTIONS_MAX: Final = 5  # one that is answered at once says most
ANSWERED_MS: Final = 5.0  # at once

_CLOCK: Final = sa.text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")


class ClockApart(Unavailable):
    """This machine's clock and the database's are too far apart."""


class ClockDifference(NamedTuple):
    """Says how far the database's clock is ahead of this process's. `within_us` is the greatest
    error of that: half of the time that the answer took.
    """

    ahead_us: int
    within_us: int

    @property
    def apart_ms(self) -> int:
        """Returns how far the clocks are apart at least, in milliseconds: a slow answer says
        nothing against a clock.
        """
        return max(0, abs(self.ahead_us) - self.within_us) // 1_000

    @property
    def to_correct_us(self) -> int:
        """Returns by how much this process's clock is to be corrected, in microseconds. It is
        nothing while the clocks may agree: to correct what is less than the error would set the
        clocks of one machine's processes apart, and the order of the ledger goes by them.
        """
        return 0 if abs(self.ahead_us) <= self.within_us else self.ahead_us

    def in_words(self) -> str:
        return (
            f"{abs(self.ahead_us) / 1e6:.1f} s {'behind' if self.ahead_us > 0 else 'ahead of'} the"
            " database's"
        )


def measure(db: Database) -> ClockDifference | None:
    """Asks the database for the time, a few times if need be; the best answer counts. It returns
    None on SQLite. Raises Unavailable.
    """
    if not db.postgresql:
        return None
    best: ClockDifference | None = None
    with db.read() as tx:
        for _ in range(QUESTIONS_MAX):
            asked_us = clock.process_us()
            database_us = int(tx.execute(_CLOCK).scalar_one())
            answered_us = clock.process_us()
            measured = ClockDifference(
                database_us - (asked_us + answered_us) // 2, (answered_us - asked_us) // 2
            )
            best = measured if best is None or measured.within_us < best.within_us else best
            if best.within_us < ANSWERED_MS * 1_000 / 2:
                break
    return best


def begin(db: Database) -> None:
    """Compares before anything is written, and goes by the database's clock from then on. Raises
    ClockApart, Unavailable.
    """
    measured = measure(db)
    if measured is None:
        return
    if measured.apart_ms > START_MS_MAX:
        raise ClockApart(
            f"The clock of this machine is {measured.in_words()}; it may be {START_MS_MAX // 1_000}"
            " s apart at most. Synchronise both with NTP."
        )
    clock.follow_database_clock(measured.to_correct_us)
