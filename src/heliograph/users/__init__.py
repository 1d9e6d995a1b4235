"""Keeps users, who are people, their roles in accounts, and what lets them in: passwords, sign-in
links and sessions.
"""

from heliograph.users.password import (
    hashed,
    is_right,
    read_password,
    store_password,
    stored_password,
)
from heliograph.users.password_tries import (
    Guesser,
    TooManyTries,
    count_try,
    forget_tries,
    know_browser,
)
from heliograph.users.roles import RIGHTS, Right, Role
from heliograph.users.sign_in import (
    NotSignedIn,
    Session,
    begin,
    begin_with_password,
    end,
    end_one,
    end_others,
    make_link,
    see,
    session_of,
    sessions_of,
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
    "Guesser",
    "NotSignedIn",
    "Right",
    "Role",
    "Session",
    "TooManyTries",
    "User",
    "add",
    "begin",
    "begin_with_password",
    "count_try",
    "end",
    "end_one",
    "end_others",
    "find",
    "forget_tries",
    "hashed",
    "is_right",
    "know_browser",
    "make_link",
    "memberships",
    "page",
    "read_password",
    "remove_member",
    "see",
    "session_of",
    "sessions_of",
    "set_role",
    "store_password",
    "stored_password",
    "text_id",
]
