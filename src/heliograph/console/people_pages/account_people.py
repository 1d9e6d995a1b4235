"""Shows the people of an account, and adds somebody, as the command does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
from heliograph.accounts import Account
from heliograph.base.errors import FieldError
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.people_pages.named_user import require_right_on_sign_in
from heliograph.console.people_pages.sign_in_links import (
    DoneForm,
    done_with_link,
    give_link,
)
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.users import Role, User, members

MEMBER_ROLES: Final = tuple(role.value for role in Role)


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the members of an account, newest first, who is invited, and the form that adds
    somebody. Raises NotFound, InvalidRequest.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    found = members.page(tx, account.id, with_one_more_row(wanted))
    displayed = list_page(request, wanted, found, lambda member: member.user.id)
    return page(
        "account_people.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        people=[(users.text_id(member.user), member) for member in displayed.rows],
        older=displayed.older,
        invitations=members.invitations_of(tx, account.id, now_ms=request.now_ms),
        may_change=visit.may_change_accounts and account.closed_at_ms is None,
        sends_mail=request.service.sends_mail,
        roles=MEMBER_ROLES,
        typed={"role": Role.VIEWER.value, **body_of(request)},
        errors={error.field: error.message for error in errors},
    )


def add(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives somebody a role in the account, and a link that signs in. Raises NotFound,
    AccountClosed, InvalidRequest.
    """
    body, reason = body_of(request), reason_of(request)
    role = Role(choice_of("role", body.get("role", ""), MEMBER_ROLES))
    account = accounts.with_text_id(tx, request.path["account"])
    path = f"{ACCOUNTS}/{accounts.text_id(account)}/people"

    def effect(tx: Connection) -> DoneForm:
        user = give_role(tx, request, visit, account, body.get("email", ""), role, reason=reason)
        return DoneForm(path, user, give_link(tx, request, visit, user, reason))

    return done_with_link(tx, request, visit, effect)


def give_role(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    account: Account,
    email: str,
    role: Role,
    *,
    reason: str,
) -> User:
    """Gives whoever has this address a role in an account, in place of the one before, and returns
    the user. Raises AccountClosed, InvalidRequest; and Forbidden for an operator, who would have to
    sign in again, from somebody who may not decide about operators.
    """
    accounts.require_open(accounts.lock(tx, account.id))  # nobody else changes it between the two
    user = users.add(tx, email, now_ms=request.now_ms)
    require_right_on_sign_in(tx, visit, user)
    had = members.role_of(tx, account.id, user.id)
    users.set_role(tx, user.id, account.id, role, now_ms=request.now_ms)
    if had is not role:
        visit.audit(
            tx,
            account.id,
            "member.add" if had is None else "member.role",
            users.text_id(user),
            before=None if had is None else f"{user.email} {had.value}",
            after=f"{user.email} {role.value}",
            reason=reason,
        )
    return user
