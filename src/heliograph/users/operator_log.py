"""Keeps the operators' own log: which change an operator made in the console, when and why. An
entry is written in the transaction of its change.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.accounts.tables import accounts as account_rows
from heliograph.base import ids
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import shorten
from heliograph.users.tables import CHANGE_TEXT_MAX, operator_log
from heliograph.users.user import User


class OperatorEntry(NamedTuple):
    """Tells of one change. `action` is the kind of record and what was done to it, such as
    `sender.approve`. `account_id` is raw. `record` is the text id of what was changed. The rest is
    for people; it holds no secret, no text of a message and no phone number.
    """

    action: str
    account_id: str | None
    record: str | None
    before: str | None
    after: str | None
    reason: str | None


class StoredOperatorEntry(NamedTuple):
    """Holds an entry as it is stored. `id` is raw; `account` is the account's id in text form, and
    `account_name` its name now.
    """

    id: str
    email: str
    entry: OperatorEntry
    account: str | None
    account_name: str | None

    @property
    def at_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))


class LoggedChange(NamedTuple):
    """Holds the raw ids of the entries about one change: that of the operators' log, and that of
    the account's audit log, or None if the change is of no account.
    """

    id: str
    told_id: str | None


def log_operator(tx: Connection, user: User, entry: OperatorEntry, *, now_ms: int) -> str:
    """Stores that a user has made a change in the console. Returns the raw id of the entry."""
    entry_id = ids.raw_of_number(ids.new_number(now_ms))
    tx.execute(
        operator_log.insert().values(
            entry._asdict()
            | _texts(before=entry.before, after=entry.after, reason=entry.reason)
            | {"id": entry_id, "user_id": user.id, "email": user.email}
        )
    )
    return entry_id


def log_for_account(
    tx: Connection, user: User, entry: OperatorEntry, told: str | None = None, *, now_ms: int
) -> LoggedChange:
    """Stores an entry in the operators' log and, if it is of an account, in the account's audit
    log, which names no operator, no reason and nothing of before. The account is told what is
    after, or `told` in its place.
    """
    entry_id = log_operator(tx, user, entry, now_ms=now_ms)
    if entry.account_id is None:
        return LoggedChange(entry_id, None)
    told_id = audit_log.write(
        tx,
        entry.account_id,
        audit_log.Author(audit_log.AuthorKind.OPERATOR, user.id, audit_log.OPERATOR_NAME),
        audit_log.AuditEntry(entry.action, entry.record, told or entry.after),
        now_ms=now_ms,
    )
    return LoggedChange(entry_id, told_id)


def log_progress(
    tx: Connection, logged: LoggedChange, *, before: str, after: str, told: str
) -> None:
    """Says in both entries of a change that goes on in another transaction what was changed so
    far, so that one decision has one entry, also if it is broken off.
    """
    it = operator_log.c.id == logged.id
    tx.execute(operator_log.update().where(it).values(_texts(before=before, after=after)))
    if logged.told_id is not None:
        audit_log.write_detail(tx, logged.told_id, told)


def _texts(**texts: str | None) -> dict[str, str | None]:
    """Returns the texts as long as a row holds them."""
    return {
        name: None if text is None else shorten(text, CHANGE_TEXT_MAX - 1)
        for name, text in texts.items()
    }


def operator_entries(
    tx: Connection,
    page: PageWanted,
    *,
    account_id: str | None = None,
    email: str | None = None,
) -> Sequence[StoredOperatorEntry]:
    """Returns one page of the entries, newest first: those about an account (raw id), and of the
    user with this address, where they are given.
    """
    columns = operator_log.c
    query = (
        sa.select(operator_log, account_rows.c.name, account_rows.c.parent_id)
        .outerjoin(account_rows, account_rows.c.id == columns.account_id)
        .order_by(columns.id.desc())
        .limit(page.limit)
    )
    if page.before is not None:
        query = query.where(columns.id < page.before)
    if account_id is not None:
        query = query.where(columns.account_id == account_id)
    if email is not None:
        query = query.where(columns.email == email)
    return [
        StoredOperatorEntry(
            row.id,
            row.email,
            OperatorEntry(**{name: getattr(row, name) for name in OperatorEntry._fields}),
            row.account_id
            and accounts.text_of_id(row.account_id, is_customer=row.parent_id is not None),
            row.name,
        )
        for row in tx.execute(query)
    ]
