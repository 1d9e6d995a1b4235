"""The message that a text answers is found among the newest thousand to its phone, however many it
was sent, on both sides of the turn of a month.
"""

from datetime import UTC, datetime
from typing import Final

import pytest
import sqlalchemy as sa

from heliograph import senders
from heliograph.base import clock
from heliograph.base.clock import HOUR_MS
from heliograph.database.hot import run_in
from heliograph.database.partitions import month_of
from heliograph.inbound import add_number
from heliograph.inbound.receive.record import record
from tests.support.capability.inbox import Inbox, written
from tests.support.capability.sent_messages import store_sent
from tests.support.wire.handset_texts import PHONE, SHORT_CODE

SHARED: Final = "4568"
SENT: Final = 1_500
_READ: Final = """SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
    FROM pg_stat_xact_user_tables WHERE relname LIKE 'messages_%'"""


def in_the_next_month(day: int) -> int:
    """Returns the time, in ms, at which a day of it begins. Its partition is there already."""
    month = month_of(clock.now_ms()) + 1
    return int(datetime(month // 12, month % 12 + 1, day, tzinfo=UTC).timestamp() * 1_000)


@pytest.mark.parametrize("number", [SHORT_CODE, SHARED])
@pytest.mark.parametrize("day", [1, 16])
def test_a_text_answers_the_newest_of_a_flood(inbox: Inbox, number: str, day: int) -> None:
    now_ms = in_the_next_month(day)
    with inbox.db.write() as tx:
        add_number(tx, SHARED, "carrier", None, now_ms=now_ms)
        senders.register(tx, inbox.amina_id, SHARED, sandbox=False, now_ms=now_ms)
        for place in range(SENT):
            store_sent(tx, inbox.amina_id, "NAME", PHONE, at_ms=now_ms - 200 * HOUR_MS + place)
        newest = store_sent(tx, inbox.amina_id, number, PHONE, at_ms=now_ms - HOUR_MS)
        for place in range(10):
            store_sent(tx, inbox.amina_id, "NAME", PHONE, at_ms=now_ms + place)
    with inbox.db.write() as tx:
        before = tx.execute(sa.text(_READ)).scalar_one() if inbox.db.postgresql else 0
        arrived = written("yes", 1, to=number)
        run_in(tx, lambda hot: record(hot, inbox.carrier_id, [arrived], now_ms))
        if inbox.db.postgresql:
            read = tx.execute(sa.text(_READ)).scalar_one() - before
            assert read < 1_100, "more than a thousand in a month, and the sends' messages"
    assert inbox.told()[0]["in_reply_to"] == newest
    inbox.db.close()
