"""Keeps mail that is to be sent. A row says to whom and what for; the link in it is made when it is
sent, so that none is stored.
"""

import secrets
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.base.short_texts import EMAIL_MAX
from heliograph.users.sign_ins import LINK_OCTETS, LINKS_MAX, digest, make_link
from heliograph.users.tables import (
    invitations,
    link_requests,
    mails,
    sign_in_links,
    users,
)

MAIL_MS: Final = 3_600_000  # what could not be sent in this time is not sent any more
INVITATION_MS: Final = 7 * DAY_MS
# after the first failure, and twice as long after each further one; longer than a mail takes to be
# sent, for until then no other process takes it
AGAIN_MS: Final = 60_000
TRIES_MAX: Final = 6
# Links of a user that are valid, or on their way: with so many, one more is not mailed. So whoever
# asks for links makes none invalid that somebody has.
MAILED_LINKS_MAX: Final = LINKS_MAX // 2


class DueMail(NamedTuple):
    """Says what is to be mailed to whom. `link` is the secret of the link in it. `account_id` is
    raw, of the account that invites; it is None for a link that signs in. `language` is the one
    that the receiver has chosen, or else that of whoever asked for the mail.
    """

    id: str
    email: str
    link: str
    account_id: str | None
    language: str | None


def mail_link(tx: Connection, email: str, *, now_ms: int, language: str | None = None) -> None:
    """Has a sign-in link mailed to this email address, if it is a user's. Whether it is, is looked
    at later (`judge_link_request`): so asking does the same work for all addresses, and its time
    tells nothing. `language` is that of the page.
    """
    if len(email) <= EMAIL_MAX:  # nobody has a longer one
        tx.execute(
            link_requests.insert().values(
                id=ids.raw_of_number(ids.new_number(now_ms)),
                email=email,
                expires_at_ms=now_ms + MAIL_MS,
                language=language,
            )
        )


def mail_link_to_user(tx: Connection, user_id: str, *, now_ms: int) -> bool:
    """Has a sign-in link mailed to a user (raw id). Returns False if so many are valid or on their
    way that it is not mailed.
    """
    if not may_have_link(tx, user_id, now_ms=now_ms):
        return False
    _queue(tx, now_ms, now_ms + MAIL_MS, user_id=user_id)
    return True


def any_link_request(tx: Connection) -> bool:
    """Returns whether links were asked for. It is asked every second."""
    return tx.execute(sa.select(link_requests.c.id).limit(1)).first() is not None


def judge_link_request(tx: Connection, *, now_ms: int) -> bool:
    """Handles the oldest request for a link. The link is mailed if the address is a user's, and if
    not too many were mailed to it already. Returns whether there was a request.
    """
    columns = link_requests.c
    first = (
        sa.select(columns.id, columns.email, columns.language)
        .order_by(columns.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = tx.execute(first).first()
    if row is None:
        return False
    tx.execute(link_requests.delete().where(columns.id == row.id))
    user_id = tx.execute(sa.select(users.c.id).where(users.c.email == row.email)).scalar()
    if user_id is not None and may_have_link(tx, user_id, now_ms=now_ms):
        _queue(tx, now_ms, now_ms + MAIL_MS, user_id=user_id, language=row.language)
    return True


def may_have_link(tx: Connection, user_id: str, *, now_ms: int) -> bool:
    """Returns whether one more link may be mailed to a user (raw id)."""
    waiting = sa.select(sa.func.count()).where(mails.c.user_id == user_id)
    valid = sa.select(sa.func.count()).where(
        sign_in_links.c.user_id == user_id, sign_in_links.c.expires_at_ms > now_ms
    )
    count = tx.execute(waiting).scalar_one() + tx.execute(valid).scalar_one()
    return count < MAILED_LINKS_MAX


def mail_invitation(
    tx: Connection, invitation_id: str, *, now_ms: int, language: str | None = None
) -> None:
    """Has the link of an invitation mailed, anew if it was before."""
    tx.execute(mails.delete().where(mails.c.invitation_id == invitation_id))
    _queue(tx, now_ms, now_ms + MAIL_MS, invitation_id=invitation_id, language=language)


def any_mail_due(tx: Connection, *, now_ms: int) -> bool:
    """Returns whether any mail is to be sent now. It is asked every second, by index."""
    due = sa.select(mails.c.id).where(mails.c.due_at_ms <= now_ms, mails.c.expires_at_ms > now_ms)
    return tx.execute(due.limit(1)).first() is not None


def take_due(tx: Connection, *, now_ms: int) -> DueMail | None:
    """Returns a mail that is to be sent now, with a new link, or None. Nobody else gets it for a
    while, and it comes again unless `record_sent` says that it was.
    """
    columns = mails.c
    due = (
        sa.select(
            columns.id, columns.user_id, columns.invitation_id, columns.tries, columns.language
        )
        .where(columns.due_at_ms <= now_ms, columns.expires_at_ms > now_ms)
        .order_by(columns.due_at_ms, columns.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = tx.execute(due).first()
    if row is None:
        return None
    if row.tries + 1 >= TRIES_MAX:  # the last one
        tx.execute(mails.delete().where(columns.id == row.id))
    else:
        tx.execute(
            mails.update()
            .where(columns.id == row.id)
            .values(tries=row.tries + 1, due_at_ms=now_ms + (AGAIN_MS << row.tries))
        )
    return _to_user(tx, row, now_ms) if row.user_id is not None else _invitation_mail(tx, row)


def record_sent(tx: Connection, mail: DueMail) -> None:
    """Says that a mail was sent."""
    tx.execute(mails.delete().where(mails.c.id == mail.id))


def _queue(tx: Connection, now_ms: int, expires_at_ms: int, **of: Any) -> None:
    tx.execute(
        mails.insert().values(
            id=ids.raw_of_number(ids.new_number(now_ms)),
            tries=0,
            due_at_ms=now_ms,
            expires_at_ms=expires_at_ms,
            **of,
        )
    )


def _to_user(tx: Connection, row: Any, now_ms: int) -> DueMail:
    wanted = sa.select(users.c.email, users.c.language).where(users.c.id == row.user_id)
    user = tx.execute(wanted).one()
    link = make_link(tx, row.user_id, now_ms=now_ms)
    return DueMail(row.id, user.email, link, None, user.language or row.language)


def _invitation_mail(tx: Connection, row: Any) -> DueMail:
    secret = secrets.token_urlsafe(LINK_OCTETS)
    invited = tx.execute(
        invitations.update()
        .where(invitations.c.id == row.invitation_id)
        .values(sha256=digest(secret))
        .returning(invitations.c.email, invitations.c.account_id)
    ).one()
    chosen = tx.execute(sa.select(users.c.language).where(users.c.email == invited.email)).scalar()
    return DueMail(row.id, invited.email, secret, invited.account_id, chosen or row.language)
