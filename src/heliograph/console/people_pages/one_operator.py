"""Changes the role that somebody has in the console, and takes it away, as the commands do."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import users
from heliograph.base.errors import FieldError
from heliograph.console.navigation import OPERATORS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.people_pages.named_user import user_named
from heliograph.console.people_pages.one_member import CHANGES
from heliograph.console.people_pages.operator_list import ROLES, give_console_role
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import OperatorRole, operators, sign_ins


def show_operator(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows a user's role in the console, and the forms that change it and take it away. Raises
    NotFound.
    """
    user = user_named(tx, request)
    role, typed = operators.role_of(tx, user.id), body_of(request)
    return page(
        "operator.html",
        request,
        visit,
        status=400 if errors else 200,
        user=user,
        text_id=users.text_id(user),
        role=role,
        sessions=len(sign_ins.sessions_of(tx, user, now_ms=request.now_ms)),
        roles=ROLES,
        typed=typed,
        filled=typed if typed.get("do") == "role" else {"role": role and role.value},
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives a user a role in the console, or takes it away. One that the user does not have was
    taken away already. Raises NotFound, and InvalidRequest, also for the last admin.
    """
    body, reason = body_of(request), reason_of(request)
    wanted = choice_of("do", body.get("do", ""), CHANGES)
    user = user_named(tx, request)
    if wanted == "role":
        role = OperatorRole(choice_of("role", body.get("role", ""), ROLES))
        give_console_role(tx, request, visit, user, role, reason)
        return redirect(OPERATORS, DoneNotice.SAVED)
    users.lock(tx, user.id)  # nobody else changes it between the two
    had = operators.role_of(tx, user.id)
    if had is None:
        return redirect(OPERATORS, DoneNotice.REMOVED_ALREADY)
    operators.remove(tx, user.id)
    visit.audit(
        tx,
        None,
        "operator.remove",
        users.text_id(user),
        before=f"{user.email} {had.value}",
        reason=reason,
    )
    return redirect(OPERATORS, DoneNotice.REMOVED)
