"""Finds the people who sign in to the portal or the console."""

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import users
from heliograph.base.errors import NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.users import User, operators


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows all users, newest first, or the one who was looked for. Raises InvalidRequest."""
    query = Query(request.sent.query)
    looked_for = (query.text("q") or "").strip()
    wanted = read_page(query)
    query.finish()
    asked = with_one_more_row(wanted)
    found = (
        _named(tx, looked_for)
        if looked_for
        else users.page(tx, limit=asked.limit, before_id=asked.before)
    )
    displayed = list_page(request, wanted, found, lambda user: user.id)
    roles = operators.roles_of(tx, [user.id for user in displayed.rows])
    return page(
        "people.html",
        request,
        visit,
        people=[(users.text_id(user), user, roles.get(user.id)) for user in displayed.rows],
        older=displayed.older,
        typed={"q": looked_for},
    )


def _named(tx: Connection, looked_for: str) -> list[User]:
    try:
        return [users.find(tx, looked_for)]
    except NotFound:
        return []
