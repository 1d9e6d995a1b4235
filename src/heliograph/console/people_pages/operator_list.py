"""Shows who runs the service, and gives somebody a role in the console, as the command does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import users
from heliograph.base.errors import FieldError
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.console.navigation import OPERATORS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.people_pages.sign_in_links import DoneForm, done_with_link, give_link
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.users import OperatorRole, User, operators

ROLES: Final = tuple(role.value for role in OperatorRole)


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the operators, newest first, and the form that adds one. Raises InvalidRequest."""
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    found = operators.page(tx, with_one_more_row(wanted))
    displayed = list_page(request, wanted, found, lambda operator: operator.user.id)
    return page(
        "operators.html",
        request,
        visit,
        status=400 if errors else 200,
        operators=[(users.text_id(operator.user), operator) for operator in displayed.rows],
        older=displayed.older,
        sends_mail=request.service.sends_mail,
        roles=ROLES,
        typed={"role": OperatorRole.AUDITOR.value, **body_of(request)},
        errors={error.field: error.message for error in errors},
    )


def add(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives somebody a role in the console, and a link that signs in. Raises InvalidRequest."""
    body, reason = body_of(request), reason_of(request)
    role = OperatorRole(choice_of("role", body.get("role", ""), ROLES))

    def effect(tx: Connection) -> DoneForm:
        user = users.add(tx, body.get("email", ""), now_ms=request.now_ms)
        give_console_role(tx, request, visit, user, role, reason)
        return DoneForm(OPERATORS, user, give_link(tx, request, visit, user, reason))

    return done_with_link(tx, request, visit, effect)


def give_console_role(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    user: User,
    role: OperatorRole,
    reason: str,
) -> None:
    """Gives a user a role in the console, in place of the one before. Raises InvalidRequest for the
    last admin.
    """
    users.lock(tx, user.id)  # nobody else changes it between the two
    had = operators.role_of(tx, user.id)
    operators.set_role(tx, user.id, role, now_ms=request.now_ms)
    if had is not role:
        visit.audit(
            tx,
            None,
            "operator.add" if had is None else "operator.role",
            users.text_id(user),
            before=None if had is None else f"{user.email} {had.value}",
            after=f"{user.email} {role.value}",
            reason=reason,
        )
