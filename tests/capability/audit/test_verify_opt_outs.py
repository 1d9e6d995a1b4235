"""The proof of the events of opt-outs finds nothing where opt-outs were told, and finds each that
was not.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress as suppressing
from functools import partial

import sqlalchemy as sa

from heliograph.audit.events import verify_events
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.database.database import Database
from heliograph.opt_outs import OptOutOwner, OptOutSource, lift, suppress
from heliograph.opt_outs.suppression import scope_of_sender
from heliograph.webhooks.tables import KEPT_MS, webhook_endpoints, webhook_events, webhook_queue
from tests.support.capability.webhooks import endpoint
from tests.support.factories import phones

Changed = Callable[[sa.Connection], object]


def found(db: Database, change: Changed | None = None) -> list[str]:
    """Returns what is wrong after a change, which is then taken back."""
    said: list[str] = []
    with suppressing(ZeroDivisionError), db.write() as tx:
        if change is not None:
            change(tx)
        said += [what for _, what in verify_events(tx, clock.now_ms())]
        raise ZeroDivisionError
    return said


def test_an_opt_out_that_was_not_told_is_found(db: Database, amina_id: str) -> None:
    endpoint(db, amina_id, kinds=["contact.opted_out"], age_ms=HOUR_MS)
    owner, api = OptOutOwner(amina_id, False), OptOutSource.API
    first, second, third = phones(3)

    def opts_out(*out: str, sender: str = "") -> None:
        with db.write() as tx:
            scope, now_ms = scope_of_sender(sender), clock.now_ms()
            suppress(tx, owner, out, source=api, now_ms=now_ms, scope=scope)

    opts_out(first, second)
    opts_out(second, sender="SALES")
    opts_out(third)
    with db.write() as tx:
        lift(tx, owner, [third], by=api, now_ms=clock.now_ms())
    assert found(db) == []
    events, waits = webhook_events.c, webhook_queue.c

    def lost(tx: sa.Connection, but: int = 0, more: Sequence[sa.ColumnElement[bool]] = ()) -> None:
        """Takes away the events of which this holds, all but the first few."""
        query = sa.select(events.id).where(*more).order_by(events.id)
        gone = [row.id for row in tx.execute(query)][but:]
        tx.execute(webhook_queue.delete().where(waits.event_id.in_(gone)))
        tx.execute(webhook_events.delete().where(events.id.in_(gone)))

    of_sales, of_third = events.body.contains('"sales"'), events.body.contains(third)
    for but, more, missing in ((0, [], 3), (0, [of_sales], 1), (0, [of_third], 0), (1, [], 2)):
        said = found(db, partial(lost, but=but, more=more))
        assert len(said) == missing, said
        assert all(each.startswith("there is no event contact.opted_out of sup_") for each in said)
    erased = sa.func.replace(events.body, first, "[a number that was erased]")
    assert found(db, lambda tx: tx.execute(webhook_events.update().values(body=erased))) == []
    other = webhook_events.update().values(body=sa.func.replace(events.body, first, third))
    assert len(found(db, lambda tx: tx.execute(other))) == 1

    def nobody_heard(tx: sa.Connection, **asked: object) -> None:
        lost(tx)
        tx.execute(webhook_endpoints.update().values(asked))

    assert found(db, partial(nobody_heard, kinds="message.sent")) == []
    assert found(db, partial(nobody_heard, created_at_ms=clock.now_ms())) == []
    clock.move(by_ms=KEPT_MS + DAY_MS)
    assert found(db, lost) == [], "events are kept for so long"
