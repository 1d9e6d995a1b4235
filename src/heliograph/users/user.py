"""Users are people. One is known by an email address, and is a member of one or more accounts."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import EMAIL_MAX, invalid_field
from heliograph.database.reads import records_of
from heliograph.users.roles import Role
from heliograph.users.tables import (
    invitations,
    mails,
    members,
    sign_in_links,
    user_sessions,
    users,
    waiting_sign_ins,
)

PREFIX: Final = "usr"
# One @, something before it, and a name with a dot behind it: what it leads to shows by mail alone.
# The signs are those that RFC 5321 allows without quotes, but for `=` before `?`, which begins an
# encoded word (RFC 2047) in the header of a mail.
_ATEXT: Final = r"[\w!#$%&'*+/=?^`{|}~-]"
_EMAIL: Final = re.compile(rf"(?!.*=\?){_ATEXT}+(?:\.{_ATEXT}+)*@(?:\w[\w-]*\.)+\w[\w-]*")
LOCAL_PART_MAX: Final = 64  # RFC 5321, 4.5.3.1.1


class User(NamedTuple):
    """Holds a user. `id` is raw; `email` is in lower case; `language` is the one that the user has
    chosen for pages and mail, or None.
    """

    id: str
    email: str
    created_at_ms: int
    signed_in_at_ms: int | None
    language: str | None = None


class Member(NamedTuple):
    """Says which role a user has in an account. Both ids are raw."""

    user_id: str
    account_id: str
    role: Role


def text_id(user: User) -> str:
    """Returns the user's id in text form, `usr_…`."""
    return ids.text_of_raw(PREFIX, user.id)


def fold_email(text: str) -> str:
    """Returns the form in which an email address is stored and compared: in lower case, without
    white space around it.
    """
    return text.strip().lower()


def read_email(text: str) -> str:
    """Returns an email address in the form in which it is stored and compared: in lower case.

    Raises InvalidRequest for any other text.
    """
    email = fold_email(text)
    if (
        len(email) > EMAIL_MAX
        or len(email.partition("@")[0]) > LOCAL_PART_MAX
        or not email.isprintable()
        or _EMAIL.fullmatch(email) is None
    ):
        raise invalid_field(
            "email",
            f"must be an email address such as ama@example.com, not {quote_value(text)}",
        )
    return email


def add(tx: Connection, email: str, *, now_ms: int) -> User:
    """Returns the user with this email address, who is stored if there was none.

    Raises InvalidRequest for what is not an email address.
    """
    address = read_email(email)
    user = with_email(tx, address)
    if user is None:
        made = User(ids.raw_of_number(ids.new_number(now_ms)), address, now_ms, None)
        _insert(tx, made)
        user = with_email(tx, address)
        assert user is not None  # somebody has added it
    return user


def _insert(tx: Connection, user: User) -> None:
    """Stores a user. It does nothing if somebody else stores the same address at this moment."""
    if tx.dialect.name != "postgresql":  # a writer is alone there
        tx.execute(users.insert().values(user._asdict()))
        return
    from sqlalchemy.dialects.postgresql import insert  # not needed on SQLite, and heavy

    tx.execute(insert(users).values(user._asdict()).on_conflict_do_nothing())


def with_email(tx: Connection, email: str) -> User | None:
    """Returns the user with this address, which is as `read_email` gives it, or None."""
    row = tx.execute(sa.select(users).where(users.c.email == email)).first()
    return None if row is None else User(**row._asdict())


def by_id(tx: Connection, user_id: str) -> User:
    """Returns the user with this raw id. Raises NotFound."""
    row = tx.execute(sa.select(users).where(users.c.id == user_id)).first()
    if row is None:
        raise NotFound("There is no user with this id.")
    return User(**row._asdict())


def with_text_id(tx: Connection, user_text_id: str) -> User:
    """Returns the user with this id in text form. Raises NotFound."""
    raw = ids.raw_of_text(PREFIX, user_text_id)
    row = tx.execute(sa.select(users).where(users.c.id == raw)).first() if raw else None
    if row is None or text_id(user := User(**row._asdict())) != user_text_id:
        raise NotFound("There is no such user.")
    return user


def lock(tx: Connection, user_id: str) -> None:
    """Lets one transaction at a time decide about a user (raw id)."""
    tx.execute(sa.select(users.c.id).where(users.c.id == user_id).with_for_update())


def find(tx: Connection, word: str) -> User:
    """Returns the user whom an operator names by an id (`usr_…`) or an email address.

    Raises NotFound.
    """
    raw = ids.raw_of_text(PREFIX, word)
    user = with_email(tx, fold_email(word)) if raw is None else None
    if raw is not None:
        row = tx.execute(sa.select(users).where(users.c.id == raw)).first()
        user = None if row is None else User(**row._asdict())
    if user is None:
        raise NotFound(f"There is no user {quote_value(word)}.")
    return user


def page(tx: Connection, *, limit: int, before_id: str | None = None) -> Sequence[User]:
    """Returns users, newest first. With `before_id`, it returns only those that were made before
    this one.
    """
    query = sa.select(users).order_by(users.c.id.desc()).limit(limit)
    if before_id is not None:
        query = query.where(users.c.id < before_id)
    return records_of(User, tx.execute(query))


def choose_language(tx: Connection, user_id: str, language: str) -> None:
    """Stores the language that a user (raw id) wants pages and mail in."""
    tx.execute(users.update().where(users.c.id == user_id).values(language=language))


def set_role(tx: Connection, user_id: str, account_id: str, role: Role, *, now_ms: int) -> None:
    """Gives a user a role in an account, in place of the one that he or she had there.

    If there was one, it ends the user's sessions, which are told why (`end_sessions_by_role`). If
    there was none, each session gets another secret when it is used next, so that nobody who knows
    the present one gains the new rights. Raises NotFound and AccountClosed for the account.
    """
    accounts.keep_open(tx, account_id)
    _withdraw_invitations(tx, user_id, account_id)
    of_member = _is_member(user_id, account_id)
    had = tx.execute(sa.select(members.c.role).where(*of_member)).scalar()
    if had == role.value:
        return
    if had is None:
        values: dict[str, Any] = {"user_id": user_id, "account_id": account_id}
        tx.execute(members.insert().values(**values, role=role.value, created_at_ms=now_ms))
        of_user = user_sessions.c.user_id == user_id
        tx.execute(user_sessions.update().where(of_user).values(is_rotation_due=True))
        return
    tx.execute(members.update().where(*of_member).values(role=role.value))
    end_sessions_by_role(tx, user_id, now_ms=now_ms)


def remove_member(tx: Connection, user_id: str, account_id: str) -> None:
    """Takes a user's role in an account away, and ends the user's sessions. Raises NotFound."""
    removed = tx.execute(members.delete().where(*_is_member(user_id, account_id))).rowcount
    if not removed:
        raise NotFound("This user is no member of the account.")
    _withdraw_invitations(tx, user_id, account_id)
    end_all_sessions(tx, user_id)


def memberships(tx: Connection, user_id: str, *, limit: int | None = None) -> list[Member]:
    """Returns in which accounts a user has which role, the oldest account first: all of them, or at
    most `limit`.
    """
    query = (
        sa.select(members.c.user_id, members.c.account_id, members.c.role)
        .where(members.c.user_id == user_id)
        .order_by(members.c.account_id)
        .limit(limit)
    )
    return [Member(row.user_id, row.account_id, Role(row.role)) for row in tx.execute(query)]


def accounts_of(
    tx: Connection, email: str, *, limit: int, before_id: str | None = None
) -> list[str]:
    """Returns the newest accounts (raw ids) with a member of this address: those made before the
    one with the raw id `before_id`.
    """
    user = with_email(tx, fold_email(email))
    owner_id = members.c.account_id
    query = sa.select(owner_id).where(members.c.user_id == (user and user.id))
    if before_id is not None:
        query = query.where(owner_id < before_id)
    return list(tx.execute(query.order_by(owner_id.desc()).limit(limit)).scalars())


def end_all_sessions(tx: Connection, user_id: str) -> int:
    """Ends all sessions of a user, and takes back the links that could begin new ones. Returns how
    many sessions there were.
    """
    for table in (sign_in_links, waiting_sign_ins):
        tx.execute(table.delete().where(table.c.user_id == user_id))
    return tx.execute(user_sessions.delete().where(user_sessions.c.user_id == user_id)).rowcount


def end_sessions_by_role(tx: Connection, user_id: str, *, now_ms: int) -> None:
    """Ends all sessions of a user as `end_all_sessions` does, because he or she got another role.
    Each that could still be in use stays stored for a day: whoever has its secret is told why it
    opens nothing any more.
    """
    columns = user_sessions.c
    of_user, is_marked = columns.user_id == user_id, columns.is_ended_by_role
    is_over = (columns.expires_at_ms <= now_ms) | columns.is_replaced
    for table in (sign_in_links, waiting_sign_ins):
        tx.execute(table.delete().where(table.c.user_id == user_id))
    tx.execute(user_sessions.delete().where(of_user, is_over, ~is_marked))
    ended = {"is_ended_by_role": True, "is_rotation_due": False, "expires_at_ms": now_ms}
    tx.execute(user_sessions.update().where(of_user, ~is_marked).values(ended))


def _withdraw_invitations(tx: Connection, user_id: str, account_id: str) -> None:
    """Withdraws an invitation that is still open: it gives no role beside the one that was decided
    now.
    """
    email = sa.select(users.c.email).where(users.c.id == user_id).scalar_subquery()
    open_ones = sa.select(invitations.c.id).where(
        invitations.c.account_id == account_id, invitations.c.email == email
    )
    found = tx.execute(open_ones).scalars().all()
    tx.execute(mails.delete().where(mails.c.invitation_id.in_(found)))
    tx.execute(invitations.delete().where(invitations.c.id.in_(found)))


def _is_member(user_id: str, account_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return members.c.user_id == user_id, members.c.account_id == account_id
