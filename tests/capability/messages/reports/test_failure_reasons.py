"""Why messages of a campaign have failed is counted over many sends in few statements: a page waits
for it.
"""

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.messages.reports.failure_reasons import failures_of
from heliograph.messages.tables import messages
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
