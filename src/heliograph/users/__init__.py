"""Keeps users, who are people, their roles in accounts, and what lets them in: sign-in links and
sessions.
"""

from heliograph.users.roles import RIGHTS, Right, Role
from heliograph.users.sign_in import (
    NotSignedIn,
    Session,
    begin,
    end,
    make_link,
    see,
    session_of,
)
from heliograph.users.tables import KEPT
from heliograph.users.user import (
    User,
    add,
    find,
    memberships,
    page,
    remove_member,
    set_role,
    text_id,
)

__all__ = [
    "KEPT",
    "RIGHTS",
    "NotSignedIn",
    "Right",
    "Role",
    "Session",
    "User",
    "add",
    "begin",
    "end",
    "find",
    "make_link",
    "memberships",
    "page",
    "remove_member",
    "see",
    "session_of",
    "set_role",
    "text_id",
]
