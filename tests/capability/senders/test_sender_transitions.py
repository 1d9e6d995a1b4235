"""The database changes the state of a sender ID as its table of transitions says, and ignores
whatever else it is told.
"""

from itertools import product

import sqlalchemy as sa

from heliograph import senders
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.senders.register import _move
from heliograph.senders.sender import by_id as sender_by_id
from heliograph.senders.states import SENDER
from heliograph.senders.tables import senders as table
from tests.support.factories import open_account


def test_a_sender_comes_to_the_states_that_its_table_allows_and_to_no_other(db: Database) -> None:
    amina_id = open_account(db, sender=None)
    for place, (was, to) in enumerate(product(SENDER.states, SENDER.states)):
        with db.write() as tx:
            sender = senders.register(
                tx, amina_id, f"AMINA {place}", sandbox=False, now_ms=clock.now_ms()
            )
            tx.execute(sa.update(table).where(table.c.id == sender.id).values(status=was))
            moved = _move(tx, sender.id, to, by="Esi", now_ms=clock.now_ms())
            expected = to if SENDER.allows(was, to) else was
            assert sender_by_id(tx, sender.id).status == expected
            # losing the race is an ordinary result, and leaves no trace
            assert (moved is not None) == SENDER.allows(was, to)
            assert len(senders.history(tx, sender.id)) == 1 + SENDER.allows(was, to)
