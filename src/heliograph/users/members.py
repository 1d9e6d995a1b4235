"""Lets the owners of an account see and change its members. Somebody new is invited by mail, which
proves the address: an owner never gets a link that signs in as somebody else.
"""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base import ids
from heliograph.base.errors import NotFound, Unauthorized
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import invalid_field
from heliograph.users.mails import INVITATION_MS, mail_invitation
from heliograph.users.roles import Role
from heliograph.users.sign_ins import NotSignedIn, begin_session, digest
from heliograph.users.tables import invitations, mails, members, users
from heliograph.users.user import (
    User,
    add,
    fold_email,
    read_email,
    remove_member,
    set_role,
    with_email,
)

INVITATIONS_MAX: Final = 50  # of an account that nobody has accepted
MEMBERS_MAX: Final = 500  # of an account


class SignInFirst(Unauthorized):
    """You have an account on this service already. Sign in, then open the link again."""

    reason = "sign_in_first"


class AccountMember(NamedTuple):
    """Holds a user and his or her role in the account."""

    user: User
    role: Role


class Invitation(NamedTuple):
    """Holds an invitation that nobody has accepted yet. Ids are raw."""

    id: str
    account_id: str
    email: str
    role: Role
    expires_at_ms: int


def of_account(tx: Connection, account_id: str) -> list[AccountMember]:
    """Returns the members of an account, by address."""
    query = (
        sa.select(users, members.c.role)
        .join(members, members.c.user_id == users.c.id)
        .where(members.c.account_id == account_id)
        .order_by(users.c.email)
        .limit(MEMBERS_MAX)
    )
    return [_member(row) for row in tx.execute(query)]


def page(tx: Connection, account_id: str, wanted: PageWanted) -> list[AccountMember]:
    """Returns one page of the members of an account (raw id), the newest user first."""
    user_id = members.c.user_id
    query = (
        sa.select(users, members.c.role)
        .join(members, user_id == users.c.id)
        .where(members.c.account_id == account_id)
        .order_by(user_id.desc())
        .limit(wanted.limit)
    )
    if wanted.before is not None:
        query = query.where(user_id < wanted.before)
    return [_member(row) for row in tx.execute(query)]


def role_of(tx: Connection, account_id: str, user_id: str) -> Role | None:
    """Returns the role of a user in an account (raw ids), or None if there is none."""
    role = sa.select(members.c.role).where(
        members.c.account_id == account_id, members.c.user_id == user_id
    )
    found = tx.execute(role).scalar()
    return None if found is None else Role(found)


def _member(row: Any) -> AccountMember:
    return AccountMember(
        User(row.id, row.email, row.created_at_ms, row.signed_in_at_ms, row.language),
        Role(row.role),
    )


def invitations_of(tx: Connection, account_id: str, *, now_ms: int) -> list[Invitation]:
    """Returns the invitations to an account that are still open, by address."""
    columns = invitations.c
    query = (
        sa.select(
            columns.id, columns.account_id, columns.email, columns.role, columns.expires_at_ms
        )
        .where(columns.account_id == account_id, columns.expires_at_ms > now_ms)
        .order_by(columns.email)
    )
    return [Invitation(**row._asdict())._replace(role=Role(row.role)) for row in tx.execute(query)]


def invite(
    tx: Connection,
    account_id: str,
    email: str,
    role: Role,
    *,
    now_ms: int,
    language: str | None = None,
) -> None:
    """Invites somebody to an account, by mail. Somebody who was invited before gets a new mail.
    `language` is that of whoever invites.

    Raises InvalidRequest for what is not an address, for a member, and for too many.
    """
    accounts.require_open(accounts.lock(tx, account_id))
    address = read_email(email)
    members = of_account(tx, account_id)
    if address in (member.user.email for member in members):
        raise invalid_field("email", "belongs to a member already: change the role in the list")
    open_ones = invitations_of(tx, account_id, now_ms=now_ms)
    before = next((each for each in open_ones if each.email == address), None)
    if before is None and len(open_ones) >= INVITATIONS_MAX:
        raise invalid_field(
            "email", f"cannot be invited: at most {INVITATIONS_MAX} invitations can be open"
        )
    _require_room(tx, account_id)
    _withdraw(tx, account_id, invitations.c.email == address)
    invitation_id = ids.raw_of_number(ids.new_number(now_ms))
    tx.execute(
        invitations.insert().values(
            id=invitation_id,
            account_id=account_id,
            email=address,
            role=role.value,
            expires_at_ms=now_ms + INVITATION_MS,
        )
    )
    mail_invitation(tx, invitation_id, now_ms=now_ms, language=language)


def withdraw(tx: Connection, account_id: str, email: str) -> bool:
    """Takes an invitation back: its link leads nowhere. Returns False if there is none.

    Raises InvalidRequest for somebody who is a member by now.
    """
    accounts.lock(tx, account_id)  # nobody accepts it meanwhile
    address = fold_email(email)
    if _withdraw(tx, account_id, invitations.c.email == address):
        return True
    if address in (member.user.email for member in of_account(tx, account_id)):
        raise invalid_field(
            "invitation", "was accepted meanwhile: remove the member in the list instead"
        )
    return False


def invitation_with(tx: Connection, link: str, *, now_ms: int) -> Invitation:
    """Returns the invitation whose link this is. Raises NotSignedIn for one that is not valid."""
    columns = invitations.c
    row = tx.execute(
        sa.select(
            columns.id, columns.account_id, columns.email, columns.role, columns.expires_at_ms
        ).where(columns.sha256 == digest(link), columns.expires_at_ms > now_ms)
    ).first()
    if row is None:
        raise NotSignedIn()
    return Invitation(**row._asdict())._replace(role=Role(row.role))


def accept(
    tx: Connection, link: str, *, by: str | None, seen_by: str, now_ms: int
) -> tuple[Invitation, str | None]:
    """Makes a member of whoever has the link. Returns the invitation, and the secret of a session
    for somebody who was no user yet: the link proves that the address is theirs, and there is
    nothing else that it could open. `by` is the raw id of the user who is signed in. `seen_by` is
    the browser's User-Agent.

    Raises NotSignedIn for a link that is not valid, SignInFirst for somebody who is a user already
    and not signed in as that user, InvalidRequest if the account is full, and AccountClosed.
    """
    invitation = invitation_with(tx, link, now_ms=now_ms)
    accounts.require_open(accounts.lock(tx, invitation.account_id))
    invitation = invitation_with(tx, link, now_ms=now_ms)  # nobody else has used it meanwhile
    existing = with_email(tx, invitation.email)
    if existing is not None and existing.id != by:
        raise SignInFirst()
    _require_room(tx, invitation.account_id)
    user = add(tx, invitation.email, now_ms=now_ms)
    set_role(tx, user.id, invitation.account_id, invitation.role, now_ms=now_ms)
    _withdraw(tx, invitation.account_id, invitations.c.id == invitation.id)
    audit_log.write(
        tx,
        invitation.account_id,
        audit_log.Author(audit_log.AuthorKind.USER, user.id, user.email),
        audit_log.AuditEntry("member.join", detail=invitation.role.value),
        now_ms=now_ms,
    )
    if existing is not None:
        return invitation, None
    return invitation, begin_session(tx, user.id, seen_by=seen_by, now_ms=now_ms)


def change_role(tx: Connection, account_id: str, user_id: str, role: Role, *, now_ms: int) -> None:
    """Gives a member another role. Raises NotFound for somebody who is not a member, and
    InvalidRequest for the last owner.
    """
    had = _locked_role(tx, account_id, user_id)
    if had is Role.OWNER and role is not Role.OWNER:
        _require_another_owner(tx, account_id, user_id)
    set_role(tx, user_id, account_id, role, now_ms=now_ms)


def remove(tx: Connection, account_id: str, user_id: str) -> None:
    """Takes a member out of the account. Raises NotFound for somebody who is not a member, and
    InvalidRequest for the last owner.
    """
    if _locked_role(tx, account_id, user_id) is Role.OWNER:
        _require_another_owner(tx, account_id, user_id)
    remove_member(tx, user_id, account_id)


def _locked_role(tx: Connection, account_id: str, user_id: str) -> Role:
    """Returns a member's role; two changes at once wait for each other. Raises NotFound."""
    accounts.lock(tx, account_id)
    role = role_of(tx, account_id, user_id)
    if role is None:
        raise NotFound("This user is no member of the account.")
    return role


def _require_another_owner(tx: Connection, account_id: str, user_id: str) -> None:
    others = sa.select(members.c.user_id).where(
        members.c.account_id == account_id,
        members.c.role == Role.OWNER.value,
        members.c.user_id != user_id,
    )
    if tx.execute(others.limit(1)).first() is None:
        raise invalid_field("role", "must stay owner: an account has one owner at least")


def _require_room(tx: Connection, account_id: str) -> None:
    counted = sa.select(sa.func.count()).where(members.c.account_id == account_id)
    if tx.execute(counted).scalar_one() >= MEMBERS_MAX:
        raise invalid_field(
            "email", f"cannot be added: an account has at most {MEMBERS_MAX} members"
        )


def _withdraw(tx: Connection, account_id: str, which: sa.ColumnElement[bool]) -> bool:
    """Takes invitations back. Returns whether there were any."""
    selected = sa.and_(invitations.c.account_id == account_id, which)
    found = tx.execute(sa.select(invitations.c.id).where(selected)).scalars().all()
    tx.execute(mails.delete().where(mails.c.invitation_id.in_(found)))
    tx.execute(invitations.delete().where(invitations.c.id.in_(found)))
    return bool(found)
