"""Operators are users who run the service. One has a role in the console, whatever accounts he or
she is a member of.
"""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.users import two_step
from heliograph.users.roles import OperatorRole
from heliograph.users.sign_ins import Session
from heliograph.users.tables import operators, passkeys, user_sessions
from heliograph.users.user import end_all_sessions


def role_of(tx: Connection, user_id: str) -> OperatorRole | None:
    """Returns the role of a user (raw id) in the console, or None for everybody else."""
    found = tx.execute(sa.select(operators.c.role).where(operators.c.user_id == user_id)).scalar()
    return None if found is None else OperatorRole(found)


def set_role(tx: Connection, user_id: str, role: OperatorRole, *, now_ms: int) -> None:
    """Gives a user a role in the console, in place of the one before. Ends the user's sessions: a
    session never has rights that it did not begin with.
    """
    had = role_of(tx, user_id)
    if had == role:
        return
    if had is None:
        row = {"user_id": user_id, "role": role.value, "created_at_ms": now_ms}
        tx.execute(operators.insert().values(row))
    else:
        is_user = operators.c.user_id == user_id
        tx.execute(operators.update().where(is_user).values(role=role.value))
    end_all_sessions(tx, user_id)


def remove(tx: Connection, user_id: str) -> None:
    """Takes a user's role in the console away, and ends the user's sessions. Raises NotFound."""
    if not tx.execute(operators.delete().where(operators.c.user_id == user_id)).rowcount:
        raise NotFound("This user is no operator.")
    end_all_sessions(tx, user_id)


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
