"""Counts the messages that wait for a carrier, and finds where each account's last run ends."""

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.messages.queue.rank import (
    BULK_FROM_US,
    FAIR_SPACING_US,
    HELD_FROM_US,
    AccountEnd,
)
from heliograph.messages.tables import inflight, queue, sends


class CarrierMessages(NamedTuple):
    """Counts the messages of a carrier that it has not answered. `waiting` are in its queue, and
    `held` stand there until a campaign goes on, or a restored copy is released. `unanswered` were
    handed to it: they are in flight, or in doubt.
    """

    waiting: int
    held: int
    unanswered: int

    @property
    def total(self) -> int:
        """Returns how many keep the carrier from being removed."""
        return self.waiting + self.held + self.unanswered


def messages_of_carrier(tx: Connection, carrier_id: int) -> CarrierMessages:
    """Returns how many messages are in its queue, or handed to it and not answered. Draining it
    waits for all of them.
    """
    of_carrier, is_held = queue.c.carrier_id == carrier_id, queue.c.rank_us >= HELD_FROM_US

    def added_up(condition: sa.ColumnElement[bool]) -> "sa.ScalarSelect[int]":
        number = sa.func.coalesce(sa.func.sum(queue.c["count"]), 0)
        return sa.select(number).where(of_carrier, condition).scalar_subquery()

    unanswered = (
        sa.select(sa.func.count(sa.distinct(inflight.c.message_id)))
        .where(inflight.c.carrier_id == carrier_id)
        .scalar_subquery()
    )
    row = tx.execute(
        sa.select(
            added_up(~is_held).label("waiting"),
            added_up(is_held).label("held"),
            unanswered.label("unanswered"),
        )
    ).one()
    return CarrierMessages(int(row.waiting), int(row.held), int(row.unanswered))


def account_ends(db: Database) -> list[AccountEnd]:
    """Returns where each account's last run of bulk in a queue ends, for FairQueue.resume. It takes
    one look at the whole queue.
    """
    columns = queue.c
    end_us = sa.func.max(
        columns.rank_us + columns["count"] * columns.segments * FAIR_SPACING_US
    ).label("end_us")
    query = sa.select(sends.c.account_id, columns.carrier_id, end_us).join(
        sends, sends.c.id == columns.send_id
    )
    query = query.where(columns.rank_us >= BULK_FROM_US, columns.rank_us < HELD_FROM_US).group_by(
        sends.c.account_id, columns.carrier_id
    )
    with db.read() as tx:
        read_one_snapshot(tx)  # ten million sends that wait take ten seconds
        return [
            AccountEnd(row.account_id, row.carrier_id, int(row.end_us)) for row in tx.execute(query)
        ]
