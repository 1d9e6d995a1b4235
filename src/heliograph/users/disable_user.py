"""Takes everything away that a user may do."""

from sqlalchemy.engine import Connection

from heliograph.users import operators
from heliograph.users.user import end_all_sessions, memberships, remove_member


def disable(tx: Connection, user_id: str) -> None:
    """Takes all roles of a user away, the one in the console too, and ends the user's sessions and
    links. Raises InvalidRequest for the last admin of the console.
    """
    if operators.role_of(tx, user_id) is not None:
        operators.remove(tx, user_id)
    for member in memberships(tx, user_id):
        remove_member(tx, user_id, member.account_id)
    end_all_sessions(tx, user_id)  # also of a user who had no role
