"""Keeps users, who are people, their roles in accounts, and what lets them in: passwords, sign-in
links and sessions.
"""

from heliograph.users.disable_user import disable
from heliograph.users.operator_log import (
    OperatorEntry,
    StoredOperatorEntry,
    log_for_account,
    log_operator,
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
    find,
    fold_email,
    lock,
    memberships,
    page,
    read_email,
    remove_member,
    set_role,
    text_id,
    with_text_id,
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
    "lock",
    "log_for_account",
    "log_operator",
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
    "with_text_id",
]
