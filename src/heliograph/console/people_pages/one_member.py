"""Changes the role that somebody has in an account, and takes it away, as the commands do."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
from heliograph.base.errors import FieldError, NotFound
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.people_pages.account_people import MEMBER_ROLES, give_role
from heliograph.console.people_pages.named_user import require_right_on_sign_in, user_named
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import Role, members, sign_ins

CHANGES: Final = ("role", "remove")


def show_member(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows somebody's role in an account, and the forms that change it and take it away. Raises
    NotFound.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    user = user_named(tx, request)
    role = members.role_of(tx, account.id, user.id)
    if role is None:
        raise NotFound("This user is no member of the account.")
    typed = body_of(request)
    return page(
        "account_person.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        path=f"{ACCOUNTS}/{accounts.text_id(account)}/people",
        user=user,
        text_id=users.text_id(user),
        role=role,
        sessions=len(sign_ins.sessions_of(tx, user, now_ms=request.now_ms)),
        may_change=visit.may_change_accounts,
        is_open=account.closed_at_ms is None,
        roles=MEMBER_ROLES,
        typed=typed,
        filled=typed if typed.get("do") == "role" else {"role": role.value},
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives a member another role, or removes the member. One who is no member any more was removed
    already. Raises NotFound, AccountClosed, InvalidRequest.
    """
    body, reason = body_of(request), reason_of(request)
    wanted = choice_of("do", body.get("do", ""), CHANGES)
    account = accounts.with_text_id(tx, request.path["account"])
    path = f"{ACCOUNTS}/{accounts.text_id(account)}/people"
    user = user_named(tx, request)
    accounts.lock(tx, account.id)  # nobody else changes the role between the two
    had = members.role_of(tx, account.id, user.id)
    if had is None:
        if wanted == "remove":
            return redirect(path, DoneNotice.REMOVED_ALREADY)
        raise NotFound("This user is no member of the account.")
    if wanted == "role":
        role = Role(choice_of("role", body.get("role", ""), MEMBER_ROLES))
        give_role(tx, request, visit, account, user.email, role, reason=reason)
        return redirect(path, DoneNotice.SAVED)
    require_right_on_sign_in(tx, visit, user)
    users.remove_member(tx, user.id, account.id)
    visit.audit(
        tx,
        account.id,
        "member.remove",
        users.text_id(user),
        before=f"{user.email} {had.value}",
        reason=reason,
        told=user.email,
    )
    return redirect(path, DoneNotice.REMOVED)
