"""Why messages of a campaign have failed is counted over many sends in few statements: a page waits
for it.
"""

import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.messages.reports.failure_reasons import failures_of
from heliograph.messages.tables import messages, sends
from tests.support.capability.campaigns import write_down
from tests.support.console.messages import stored_message

SENDS = 120


def test_the_failures_of_many_small_sends_are_counted_together(db: Database, amina_id: str) -> None:
    group_id = write_down(db, amina_id).group_id
    for _ in range(SENDS):
        stored_message(db, amina_id, group_id=group_id)
    stored_message(db, amina_id)  # of no campaign
    with db.write() as tx:
        failed = {"error_code": "expired", "failed_at_ms": clock.now_ms()}
        tx.execute(messages.update().values(status="failed", **failed))
    asked: list[str] = []
    with db.read() as tx:
        sa.event.listen(tx, "before_cursor_execute", lambda *told: asked.append(told[2]))
        found = failures_of(tx, amina_id, group_id, sandbox=False)
    assert (found.by_code, found.looked_at) == ({"expired": SENDS}, SENDS)
    assert len(asked) == 4, "one for the sends, and one for each fifty of them"


def test_sends_that_were_made_together_are_looked_at_in_one_go(db: Database, amina_id: str) -> None:
    group_id = write_down(db, amina_id).group_id
    stored_message(db, amina_id, group_id=group_id)
    with db.write() as tx:
        send = tx.execute(sends.select()).one()._asdict()
        message = tx.execute(messages.select()).one()._asdict()
        failed = {"status": "failed", "error_code": "expired", "failed_at_ms": clock.now_ms()}
        for place in range(SENDS):  # each follows the one message of the send before
            number = int(message["id"], 16) + 1 + 2 * place
            ids_of = {"id": ids.raw_of_number(number + 1), "send_id": ids.raw_of_number(number)}
            tx.execute(sends.insert().values(send | {"id": ids_of["send_id"]}))
            tx.execute(messages.insert().values(message | failed | ids_of))
    asked: list[str] = []
    with db.read() as tx:
        sa.event.listen(tx, "before_cursor_execute", lambda *told: asked.append(told[2]))
        found = failures_of(tx, amina_id, group_id, sandbox=False)
    assert (found.by_code, found.looked_at) == ({"expired": SENDS}, SENDS + 1)
    assert len(asked) == 2
