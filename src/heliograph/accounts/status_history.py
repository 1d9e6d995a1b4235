"""Records who suspended, resumed or closed an account, when and why."""

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import account_history
from heliograph.base import ids
from heliograph.base.short_texts import BY_MAX, REASON_MAX, one_line


class StatusChange(NamedTuple):
    """Holds one change of an account's status by the operator."""

    status: str
    reason: str | None
    by: str
    at_ms: int


def record(tx: Connection, account_id: str, change: StatusChange) -> None:
    """Keeps a change of an account's status for good. Raises InvalidRequest for a reason or a name
    that is not one printable line.
    """
    reason = None if change.reason is None else one_line("reason", change.reason, most=REASON_MAX)
    tx.execute(
        account_history.insert().values(
            id=ids.raw_of_number(ids.new_number(change.at_ms)),
            account_id=account_id,
            status=change.status,
            reason=reason,
            by=one_line("by", change.by, most=BY_MAX),
            at_ms=change.at_ms,
        )
    )


def last(tx: Connection, account_id: str) -> StatusChange | None:
    """Returns the newest change of status. None means that the status has been as it is since
    the account was created, or since before changes were kept.
    """
    columns = [account_history.c[name] for name in StatusChange._fields]
    query = (
        sa.select(*columns)
        .where(account_history.c.account_id == account_id)
        .order_by(account_history.c.id.desc())
        .limit(1)
    )
    row = tx.execute(query).one_or_none()
    return None if row is None else StatusChange(**row._asdict())
