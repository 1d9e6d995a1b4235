"""Lets people sign up. Until the link in the mail was opened, there is one row, and nothing
else.

Whether the address is a user's is looked at when the mail is sent. So asking does the same work for
both, and neither the answer nor its time tells.
"""

import secrets
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.users.mails import AGAIN_MS, MAIL_MS, TRIES_MAX, may_have_link
from heliograph.users.sign_ins import LINK_OCTETS, NotSignedIn, digest, make_link
from heliograph.users.tables import sign_ups
from heliograph.users.user import with_email

SIGN_UP_MS: Final = DAY_MS


class SignUp(NamedTuple):
    """Says who wants an account. `email` is as `read_email` returns it."""

    email: str
    company: str
    country_code: str
    currency: str


class DueSignUp(NamedTuple):
    """Says what is to be mailed. `link` opens the account, or signs a user in; it is None for a
    user who has enough links. `language` is the one that the user has chosen, or else that of the
    form.
    """

    id: str
    email: str
    link: str | None
    is_user: bool
    language: str | None


def ask(tx: Connection, wanted: SignUp, *, now_ms: int, language: str | None = None) -> None:
    """Has a link mailed that makes the account. It replaces what the same address asked before.
    `language` is that of the form.
    """
    tx.execute(sign_ups.delete().where(sign_ups.c.email == wanted.email))
    tx.execute(
        sign_ups.insert().values(
            **wanted._asdict(),
            id=ids.raw_of_number(ids.new_number(now_ms)),
            tries=0,
            due_at_ms=now_ms,
            expires_at_ms=now_ms + SIGN_UP_MS,
            language=language,
        )
    )


def any_due(tx: Connection, *, now_ms: int) -> bool:
    """Returns whether any mail is to be sent now. It is asked every second, by index."""
    return tx.execute(sa.select(sign_ups.c.id).where(_is_due(now_ms)).limit(1)).first() is not None


def take_due(tx: Connection, *, now_ms: int) -> DueSignUp | None:
    """Returns a mail that is to be sent now, with a new link, or None. It comes again, later each
    time, unless `record_sent` says that it was sent.
    """
    columns = sign_ups.c
    row = tx.execute(
        sa.select(columns.id, columns.email, columns.tries, columns.language)
        .where(_is_due(now_ms))
        .order_by(columns.due_at_ms, columns.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).first()
    if row is None:
        return None
    is_last = row.tries + 1 >= TRIES_MAX
    values: dict[str, Any] = {
        "tries": row.tries + 1,
        "due_at_ms": None if is_last else now_ms + (AGAIN_MS << row.tries),
    }
    user, link = with_email(tx, row.email), None
    if user is None:
        link = secrets.token_urlsafe(LINK_OCTETS)
        values["sha256"] = digest(link)
    elif may_have_link(tx, user.id, now_ms=now_ms):
        link = make_link(tx, user.id, now_ms=now_ms)
    tx.execute(sign_ups.update().where(columns.id == row.id).values(values))
    language = (user and user.language) or row.language
    return DueSignUp(row.id, row.email, link, user is not None, language)


def record_sent(tx: Connection, mail: DueSignUp) -> None:
    """Says that a mail was sent, or need not be. What a user has asked for is forgotten."""
    is_mail = sign_ups.c.id == mail.id
    if mail.is_user:
        tx.execute(sign_ups.delete().where(is_mail))
    else:
        tx.execute(sign_ups.update().where(is_mail).values(due_at_ms=None))


def with_link(tx: Connection, link: str, *, now_ms: int) -> SignUp:
    """Returns what the link is for. Raises NotSignedIn for one that is not valid."""
    row = tx.execute(sa.select(*_SAID).where(_has(link, now_ms))).first()
    if row is None:
        raise NotSignedIn()
    return SignUp(**row._asdict())


def use(tx: Connection, link: str, *, now_ms: int) -> SignUp:
    """Uses a link up, and returns what it is for. Raises NotSignedIn for one that is not valid."""
    used = sign_ups.delete().where(_has(link, now_ms)).returning(*_SAID)
    row = tx.execute(used).first()
    if row is None:
        raise NotSignedIn()
    return SignUp(**row._asdict())


_SAID: Final = (
    sign_ups.c.email,
    sign_ups.c.company,
    sign_ups.c.country_code,
    sign_ups.c.currency,
)


def _has(link: str, now_ms: int) -> sa.ColumnElement[bool]:
    return sa.and_(sign_ups.c.sha256 == digest(link), sign_ups.c.expires_at_ms > now_ms)


def _is_due(now_ms: int) -> sa.ColumnElement[bool]:
    columns = sign_ups.c
    # what could not be mailed for an hour is not mailed any more
    is_new = columns.expires_at_ms > now_ms + SIGN_UP_MS - MAIL_MS
    return sa.and_(columns.due_at_ms <= now_ms, is_new)
