"""Limits how many links, sessions and known browsers a user has: the oldest are deleted first."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection


def make_room(
    tx: Connection, table: sa.Table, user_id: str, newest_by: sa.Column[int], most: int
) -> None:
    """Deletes the oldest of a user's rows, so that with one more there are at most `most`."""
    of_user = table.c.user_id == user_id
    older = sa.select(table.c.sha256).where(of_user).order_by(newest_by.desc()).offset(most - 1)
    surplus = [row.sha256 for row in tx.execute(older)]
    tx.execute(table.delete().where(of_user, table.c.sha256.in_(surplus)))
