"""An operator may look at the portal of an account as its owner sees it, for half an hour at most.
Each look is a row for as long as it lasts. Its beginning and its end stand in the operators' log
and in the account's audit log.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.reads import records_of
from heliograph.users.operator_log import OperatorEntry, log_for_account
from heliograph.users.sign_ins import Session
from heliograph.users.tables import portal_views, user_sessions
from heliograph.users.user import User

VIEW_MS: Final = 30 * 60_000  # enough to answer a call, and short enough to be forgotten
ENDED_AT_ONCE: Final = 100  # in one transaction

BEGUN: Final = "account.see"
ENDED: Final = "account.see_end"


class PortalView(NamedTuple):
    """Says who looks at which account's portal, and until when. The ids are raw."""

    id: str
    user_id: str
    email: str
    account_id: str
    account: str  # its id in text form
    ends_at_ms: int


def begin_view(
    tx: Connection, session: Session, account_id: str, account: str, reason: str, *, now_ms: int
) -> PortalView:
    """Lets a session look at the portal of an account, given by its raw id and its id in text form.
    A look that the session has begun before ends.
    """
    end_view(tx, session, now_ms=now_ms)
    user = session.user
    view = PortalView(
        ids.raw_of_number(ids.new_number(now_ms)),
        user.id,
        user.email,
        account_id,
        account,
        now_ms + VIEW_MS,
    )
    tx.execute(portal_views.insert().values(view._asdict() | {"session_sha256": _session(session)}))
    _log(tx, view, BEGUN, reason, now_ms)
    return view


def view_of(tx: Connection, session: Session, account_id: str, *, now_ms: int) -> PortalView | None:
    """Returns the look of a session at the portal of an account (raw id), if it lasts."""
    columns = portal_views.c
    query = sa.select(*_COLUMNS).where(
        columns.session_sha256 == _session(session),
        columns.account_id == account_id,
        columns.ends_at_ms > now_ms,
    )
    row = tx.execute(query).first()
    return None if row is None else PortalView(**row._asdict())


def end_view(tx: Connection, session: Session, *, now_ms: int) -> None:
    """Ends the look of a session. It does nothing if there is none."""
    _end(tx, portal_views.c.session_sha256 == _session(session), now_ms)


def end_overdue_views(tx: Connection, *, now_ms: int) -> int:
    """Ends the looks whose time is over, or whose session is, and returns how many did."""
    columns = portal_views.c
    lives = sa.exists().where(
        user_sessions.c.sha256 == columns.session_sha256, user_sessions.c.expires_at_ms > now_ms
    )
    over = sa.select(columns.id).where((columns.ends_at_ms <= now_ms) | ~lives)
    return _end(tx, columns.id.in_(over.limit(ENDED_AT_ONCE)), now_ms)


_COLUMNS: Final = tuple(portal_views.c[name] for name in PortalView._fields)


def _end(tx: Connection, which: sa.ColumnElement[bool], now_ms: int) -> int:
    """Ends looks. Whoever deletes the row writes that it has ended, so it is written once."""
    ended = records_of(
        PortalView, tx.execute(portal_views.delete().where(which).returning(*_COLUMNS))
    )
    for view in ended:
        _log(tx, view, ENDED, None, min(now_ms, view.ends_at_ms))
    return len(ended)


def _log(tx: Connection, view: PortalView, action: str, reason: str | None, at_ms: int) -> None:
    user = User(view.user_id, view.email, 0, None)
    entry = OperatorEntry(action, view.account_id, view.account, None, None, reason)
    log_for_account(tx, user, entry, now_ms=at_ms)


def _session(session: Session) -> bytes:
    """Returns what a row names a session by."""
    return bytes.fromhex(session.id)
