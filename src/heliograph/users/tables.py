"""Defines the tables of users, who are people, and of what lets them in.

Neither a password, a sign-in link, a session nor a browser's secret is stored: only its hash is.
"""

import sqlalchemy as sa

from heliograph.base.clock import DAY_MS
from heliograph.base.short_texts import EMAIL_MAX
from heliograph.database.database import RawId, metadata
from heliograph.database.pruning import PruningRule

PASSKEY_NAME_MAX = 60  # characters, which fit into a line of a phone
LANGUAGE_MAX = 8  # such as `fr`
CHANGE_TEXT_MAX = 400  # characters of what was before, what is after, and why
ENDED_KEPT_MS = DAY_MS  # for so long a form that comes after the session's end has a user
OPERATOR_LOG_KEPT_MS = 400 * DAY_MS  # a year, and as long as it takes to look back on it
SEEN_BY_MAX = 200  # characters of a browser's own name that are kept

users = sa.Table(
    "users",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=False, unique=True),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("signed_in_at_ms", sa.BigInteger, nullable=True, comment="the last time"),
    sa.Column("language", sa.String(LANGUAGE_MAX), nullable=True, comment="if one was chosen"),
)

members = sa.Table(
    "members",
    metadata,
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint("role IN ('owner', 'developer', 'marketer', 'viewer')", name="members_role"),
    sa.Index("members_by_account", "account_id", "user_id"),
)

# who runs the service, and may do what in the console
operators = sa.Table(
    "operators",
    metadata,
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint("role IN ('admin', 'support', 'finance', 'auditor')", name="operators_role"),
)

# What operators changed in the console (operator_log.py). No foreign keys: they would lock the
# account and the user, after what was changed.
operator_log = sa.Table(
    "operator_log",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("user_id", RawId, nullable=False),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=False),
    sa.Column("action", sa.String(32), nullable=False),
    sa.Column("account_id", RawId, nullable=True, comment="null: it is of no account"),
    sa.Column("record", sa.String(64), nullable=True, comment="text id of what was changed"),
    sa.Column("before", sa.String(CHANGE_TEXT_MAX), nullable=True),
    sa.Column("after", sa.String(CHANGE_TEXT_MAX), nullable=True),
    sa.Column("reason", sa.String(CHANGE_TEXT_MAX), nullable=True),
    sa.Index("operator_log_by_account", "account_id", "id"),
    sa.Index("operator_log_by_email", "email", "id"),
)

# operators who look at the portal of an account now (portal_views.py); no foreign keys, as above
portal_views = sa.Table(
    "portal_views",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("session_sha256", sa.LargeBinary(32), nullable=False, unique=True),
    sa.Column("user_id", RawId, nullable=False),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=False),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("account", sa.String(64), nullable=False, comment="its text id, as logs name it"),
    sa.Column("ends_at_ms", sa.BigInteger, nullable=False),
)

sign_in_links = sa.Table(
    "sign_in_links",
    metadata,
    sa.Column("sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Index("sign_in_links_by_user", "user_id"),
    sa.Index("sign_in_links_by_age", "expires_at_ms"),
)

user_sessions = sa.Table(
    "user_sessions",
    metadata,
    sa.Column("sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), nullable=False),
    sa.Column("began_at_ms", sa.BigInteger, nullable=False, comment="the sign-in"),
    sa.Column("seen_at_ms", sa.BigInteger, nullable=False, comment="to the minute"),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False, comment="unless it is used before"),
    sa.Column("seen_by", sa.String(SEEN_BY_MAX), nullable=False, comment="User-Agent, shortened"),
    sa.Column(
        "is_two_step",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="a passkey or a code has opened it",
    ),
    sa.Column(
        "is_rotation_due",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="its user has got a further role: it gets another secret when it is used next",
    ),
    sa.Column(
        "is_replaced",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="the same session has another row, with another secret",
    ),
    sa.Column(
        "is_ended_by_role",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="its user has got another role; it opens nothing, and says why it has ended",
    ),
    sa.Index("user_sessions_by_user", "user_id"),
    sa.Index("user_sessions_by_age", "expires_at_ms"),
)

passwords = sa.Table(
    "passwords",
    metadata,
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("argon2", sa.String(128), nullable=False, comment="with its salt and parameters"),
    sa.Column("set_at_ms", sa.BigInteger, nullable=False),
)

known_browsers = sa.Table(
    "known_browsers",
    metadata,
    sa.Column("sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Index("known_browsers_by_user", "user_id"),
    sa.Index("known_browsers_by_age", "expires_at_ms"),
)

# of a user, an address or a browser, of which only a hash is kept
password_tries = sa.Table(
    "password_tries",
    metadata,
    sa.Column("sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("until_ms", sa.BigInteger, nullable=False),
    sa.Index("password_tries_by_age", "until_ms"),
)

# the secret of an authenticator app (RFC 6238); it counts once a code of it has been given
totps = sa.Table(
    "totps",
    metadata,
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("secret", sa.Text, nullable=False, comment="encrypted"),
    sa.Column("made_at_ms", sa.BigInteger, nullable=False),
    sa.Column("confirmed_at_ms", sa.BigInteger, nullable=True),
    sa.Column("last_step", sa.BigInteger, nullable=False, comment="whose code was used last"),
)

recovery_codes = sa.Table(
    "recovery_codes",
    metadata,
    sa.Column("sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), nullable=False),
    sa.Index("recovery_codes_by_user", "user_id"),
)

# somebody whose password or link was right, and whose code is still asked for
waiting_sign_ins = sa.Table(
    "waiting_sign_ins",
    metadata,
    sa.Column("sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Index("waiting_sign_ins_by_user", "user_id"),
    sa.Index("waiting_sign_ins_by_age", "expires_at_ms"),
)

passkeys = sa.Table(
    "passkeys",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), nullable=False),
    sa.Column("name", sa.String(PASSKEY_NAME_MAX), nullable=False),
    sa.Column("credential_id", sa.LargeBinary(1023), nullable=False, unique=True),
    sa.Column("credential", sa.LargeBinary, nullable=False, comment="with its public key"),
    sa.Column("signatures", sa.BigInteger, nullable=False, comment="as the passkey counts them"),
    sa.Column("made_at_ms", sa.BigInteger, nullable=False),
    sa.Column("used_at_ms", sa.BigInteger, nullable=True, comment="the last time"),
    sa.Index("passkeys_by_user", "user_id"),
)

# a challenge that a passkey has answered, so that the answer does not count again
used_challenges = sa.Table(
    "used_challenges",
    metadata,
    sa.Column("sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Index("used_challenges_by_age", "expires_at_ms"),
)

# somebody who wants an account, until the link in the mail is opened: nothing else is stored
# before. It is stored for an address that is a user's, too, and mailed as a row of `mails` is.
sign_ups = sa.Table(
    "sign_ups",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=False, unique=True),
    sa.Column("company", sa.String(128), nullable=False),
    sa.Column("country_code", sa.String(2), nullable=False),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("sha256", sa.LargeBinary(32), nullable=True, comment="of its link, once mailed"),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger, nullable=True, comment="null: it was mailed"),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Column("language", sa.String(LANGUAGE_MAX), nullable=True, comment="of the form"),
    sa.Index("sign_ups_by_link", "sha256"),
    sa.Index("sign_ups_by_due", "due_at_ms"),
    sa.Index("sign_ups_by_age", "expires_at_ms"),
)

invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("sha256", sa.LargeBinary(32), nullable=True, comment="of its link, once mailed"),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("account_id", "email", name="invitations_once"),
    sa.Index("invitations_by_link", "sha256"),
    sa.Index("invitations_by_age", "expires_at_ms"),
)

# an address that a sign-in link was asked for. Whether it is a user's, the mailer looks later.
link_requests = sa.Table(
    "link_requests",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Column("language", sa.String(LANGUAGE_MAX), nullable=True, comment="of who asked for it"),
    sa.Index("link_requests_by_age", "expires_at_ms"),
)

# what is to be mailed: a sign-in link to a user, or an invitation. The link is made when it is
# mailed, so no row holds one.
mails = sa.Table(
    "mails",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column("user_id", RawId, sa.ForeignKey("users.id"), nullable=True),
    sa.Column("invitation_id", RawId, sa.ForeignKey("invitations.id"), nullable=True),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger, nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Column("language", sa.String(LANGUAGE_MAX), nullable=True, comment="of who asked for it"),
    sa.CheckConstraint("(user_id IS NULL) <> (invitation_id IS NULL)", name="mails_kind"),
    sa.Index("mails_by_due", "due_at_ms"),
    sa.Index("mails_by_age", "expires_at_ms"),
    sa.Index("mails_by_user", "user_id"),
    sa.Index("mails_by_invitation", "invitation_id"),
)

KEPT = (
    # first: mails tell of invitations
    PruningRule(mails.name, "expires_at_ms", 0),
    PruningRule(link_requests.name, "expires_at_ms", 0),
    PruningRule(invitations.name, "expires_at_ms", DAY_MS),
    PruningRule(sign_in_links.name, "expires_at_ms", 0),
    PruningRule(user_sessions.name, "expires_at_ms", ENDED_KEPT_MS),
    PruningRule(known_browsers.name, "expires_at_ms", 0),
    PruningRule(password_tries.name, "until_ms", 0),
    PruningRule(waiting_sign_ins.name, "expires_at_ms", 0),
    PruningRule(sign_ups.name, "expires_at_ms", 0),
    PruningRule(used_challenges.name, "expires_at_ms", 0),
    PruningRule(operator_log.name, "id", OPERATOR_LOG_KEPT_MS, is_counts=True),
)
