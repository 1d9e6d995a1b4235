"""Operators are users who run the service. One has a role in the console, whatever accounts he or
she is a member of. One of them at least is an admin, once there is one: only admins decide who is
an operator, and a console without one would need somebody with a shell.
"""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import invalid_field
from heliograph.users import two_step
from heliograph.users.roles import OperatorRole
from heliograph.users.sign_ins import Session
from heliograph.users.tables import (
    operators,
    passkeys,
    passwords,
    totps,
    user_sessions,
    users,
)
from heliograph.users.user import User, end_all_sessions, end_sessions_by_role, lock


class Operator(NamedTuple):
    """Holds a user and his or her role in the console. `has_app` and `has_passkey` say which second
    steps are set up.
    """

    user: User
    role: OperatorRole
    created_at_ms: int
    has_app: bool
    has_passkey: bool


def page(tx: Connection, wanted: PageWanted) -> list[Operator]:
    """Returns one page of the operators, the newest user first."""
    query = (
        sa.select(users, operators.c.role, operators.c.created_at_ms.label("since_ms"))
        .join(operators, operators.c.user_id == users.c.id)
        .order_by(users.c.id.desc())
        .limit(wanted.limit)
    )
    if wanted.before is not None:
        query = query.where(users.c.id < wanted.before)
    rows = tx.execute(query).all()
    user_ids = [row.id for row in rows]
    app = sa.select(totps.c.user_id).where(
        totps.c.user_id.in_(user_ids), totps.c.confirmed_at_ms.is_not(None)
    )
    passkey = sa.select(passkeys.c.user_id).where(passkeys.c.user_id.in_(user_ids)).distinct()
    with_app, with_passkey = (set(tx.execute(each).scalars()) for each in (app, passkey))
    return [
        Operator(
            User(row.id, row.email, row.created_at_ms, row.signed_in_at_ms, row.language),
            OperatorRole(row.role),
            row.since_ms,
            row.id in with_app,
            row.id in with_passkey,
        )
        for row in rows
    ]


def roles_of(tx: Connection, user_ids: Collection[str]) -> dict[str, OperatorRole]:
    """Returns the roles in the console of those of these users (raw ids) who are operators."""
    query = sa.select(operators.c.user_id, operators.c.role).where(
        operators.c.user_id.in_(user_ids)
    )
    return {row.user_id: OperatorRole(row.role) for row in tx.execute(query)}


def role_of(tx: Connection, user_id: str) -> OperatorRole | None:
    """Returns the role of a user (raw id) in the console, or None for everybody else."""
    found = tx.execute(sa.select(operators.c.role).where(operators.c.user_id == user_id)).scalar()
    return None if found is None else OperatorRole(found)


def set_role(tx: Connection, user_id: str, role: OperatorRole, *, now_ms: int) -> None:
    """Gives a user a role in the console, in place of the one before. Ends the user's sessions: a
    session never has rights that it did not begin with.

    Who becomes an operator signs in anew, by a link: the password, the app and the passkeys of
    before are removed, because whoever gave that user a link may have set them up.

    Raises InvalidRequest for the last admin.
    """
    lock(tx, user_id)  # nobody makes a sign-in link meanwhile, as for somebody who is no operator
    had = role_of(tx, user_id)
    if had == role:
        return
    if had is OperatorRole.ADMIN:
        _require_another_admin(tx, user_id)
    if had is None:
        row = {"user_id": user_id, "role": role.value, "created_at_ms": now_ms}
        tx.execute(operators.insert().values(row))
        for table in (passwords, passkeys):
            tx.execute(table.delete().where(table.c.user_id == user_id))
        two_step.turn_off(tx, user_id)
    else:
        is_user = operators.c.user_id == user_id
        tx.execute(operators.update().where(is_user).values(role=role.value))
    end_sessions_by_role(tx, user_id, now_ms=now_ms)


def remove(tx: Connection, user_id: str) -> None:
    """Takes a user's role in the console away, and ends the user's sessions. Raises NotFound, and
    InvalidRequest for the last admin.
    """
    lock(tx, user_id)  # nobody makes an admin of the user meanwhile
    if role_of(tx, user_id) is OperatorRole.ADMIN:
        _require_another_admin(tx, user_id)
    if not tx.execute(operators.delete().where(operators.c.user_id == user_id)).rowcount:
        raise NotFound("This user is no operator.")
    end_all_sessions(tx, user_id)


def _require_another_admin(tx: Connection, user_id: str) -> None:
    """Raises InvalidRequest unless somebody else is an admin, too. Admins who remove each other at
    once wait for each other.
    """
    is_admin = operators.c.role == OperatorRole.ADMIN.value
    admins = sa.select(operators.c.user_id).where(is_admin).order_by(operators.c.user_id)
    if set(tx.execute(admins.with_for_update()).scalars()) <= {user_id}:
        raise invalid_field(
            "role", "must stay admin: the console has one admin at least. Make another one first"
        )


def has_second_step(tx: Connection, user_id: str) -> bool:
    """Returns whether a user (raw id) has an authenticator app or a passkey."""
    passkey = sa.select(passkeys.c.id).where(passkeys.c.user_id == user_id).limit(1)
    return two_step.is_on(tx, user_id) or tx.execute(passkey).first() is not None


def has_weak_session(tx: Connection, session: Session) -> bool:
    """Returns whether a session was opened with less than its user has: an operator with an app or
    a passkey, by a password or a link alone.
    """
    user_id = session.user.id
    return (
        not session.is_two_step
        and role_of(tx, user_id) is not None
        and has_second_step(tx, user_id)
    )


def note_second_step(tx: Connection, session: Session) -> None:
    """Notes that the user of a session has just shown, in it, to have the app or the passkey."""
    is_session = user_sessions.c.sha256 == bytes.fromhex(session.id)
    tx.execute(user_sessions.update().where(is_session).values(is_two_step=True))
