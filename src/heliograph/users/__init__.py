"""Keeps users, who are people, their roles in accounts, and what lets them in: passwords, sign-in
links and sessions.
"""

from heliograph.users.operator_log import (
    OperatorEntry,
    StoredOperatorEntry,
    log_for_account,
    operator_entries,
)
from heliograph.users.roles import (
    OPERATOR_RIGHTS,
    RIGHTS,
    OperatorRight,
    OperatorRole,
    Right,
    Role,
)
from heliograph.users.tables import KEPT
from heliograph.users.user import (
    User,
    accounts_of,
    add,
    by_id,
    choose_language,
    disable,
    find,
    fold_email,
    memberships,
    page,
    read_email,
    remove_member,
    set_role,
    text_id,
)

__all__ = [
    "KEPT",
    "OPERATOR_RIGHTS",
    "RIGHTS",
    "OperatorEntry",
    "OperatorRight",
    "OperatorRole",
    "Right",
    "Role",
    "StoredOperatorEntry",
    "User",
    "accounts_of",
    "add",
    "by_id",
    "choose_language",
    "disable",
    "find",
    "fold_email",
    "log_for_account",
    "mails",
    "members",
    "memberships",
    "operator_entries",
    "operators",
    "page",
    "passkeys",
    "password_tries",
    "passwords",
    "portal_views",
    "read_email",
    "remove_member",
    "set_role",
    "sign_ins",
    "sign_ups",
    "text_id",
    "two_step",
]
