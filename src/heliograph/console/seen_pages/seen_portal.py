"""Shows the pages of an account's portal to an operator who looks at it, and refuses its forms.

The pages are those of the portal, under paths of their own. So each link leads to the next page
that is only looked at, and the console's process has them where no portal is.
"""

from collections.abc import Callable
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.base.errors import Forbidden
from heliograph.console.handlers import requiring_second_step
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit, operator_visit_of
from heliograph.console.reasons import reason_of
from heliograph.portal.handlers import Handler, PageRoute, file_form_route, form_route, page_route
from heliograph.portal.page_request import CONSOLE, PageRequest
from heliograph.portal.pages import OF_ACCOUNT, PAGES
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import OperatorView, ReadOnlyView, Visit, visit_of
from heliograph.users import OperatorRight, Role, portal_views

SEEN: Final = f"{CONSOLE}/seen"
SEEN_ACCOUNT: Final = f"{SEEN}/{{account}}"
FILES: Final = ("/export", "/file")  # how the paths of files end: who looks saves none


class ViewEnded(Forbidden):
    """This look at the portal of an account is over."""

    reason = "look_over"


def begin(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Lets the operator look at the portal of an account, for a reason. Raises NotFound."""
    reason = reason_of(request)
    account = accounts.with_text_id(tx, request.path["account"])
    text_id = accounts.text_id(account)
    portal_views.begin_view(tx, visit.session, account.id, text_id, reason, now_ms=request.now_ms)
    return redirect(f"{SEEN}/{text_id}")


def leave(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Ends the operator's look, and leads back to the account."""
    portal_views.end_view(tx, visit.session, now_ms=request.now_ms)
    return redirect(_account_page(request), DoneNotice.ENDED)


def seen_pages() -> tuple[PageRoute, ...]:
    """Returns the routes of all pages of an account's portal, to be looked at: a page shows what
    it shows, a form and a file are refused.
    """
    return tuple(
        _seen_route(route, f"{SEEN_ACCOUNT}{route.path.removeprefix(OF_ACCOUNT)}")
        for route in PAGES
        if route.path.startswith(OF_ACCOUNT)
    )


def _seen_route(route: PageRoute, path: str) -> PageRoute:
    if route.may is not None:
        return file_form_route(path, _raising_refusal, _refused)
    if route.is_form:
        return form_route(path, _refused)
    if path.endswith(FILES):
        return page_route(path, _refused)
    return page_route(path, _handler_of_view(route.handle))


def _handler_of_view(handle: Handler) -> Handler:
    """Returns a handler that shows what a page of the portal shows, to an operator who may look at
    it.
    """

    def look(request: PageRequest) -> Response:
        viewed = request._replace(visit_of=_visit_of)
        try:
            return handle(viewed)
        except ReadOnlyView as why:
            return _read_only_page(viewed, why)

    return _handler_while_viewing(look)


def _visit_of(tx: Connection, request: PageRequest) -> Visit:
    """Returns the visit of an operator who looks at the account that the path names. It is judged
    with each page. Raises ViewEnded, and what `operator_visit_of` raises; NotFound.
    """
    operator = operator_visit_of(tx, request)
    account = accounts.with_text_id(tx, request.path["account"])
    view = portal_views.view_of(tx, operator.session, account.id, now_ms=request.now_ms)
    if view is None:
        raise ViewEnded()
    operator.require(OperatorRight.SEE)
    return Visit(
        operator.session,
        account,
        Role.OWNER,
        not accounts.is_active(tx, account),
        others=(),
        operator_view=OperatorView(
            operator.session.user.email,
            view.ends_at_ms,
            f"{SEEN}/{view.account}",
            f"{ACCOUNTS}/{view.account}/leave",
        ),
    )


def _raising_refusal(request: PageRequest) -> Response:
    """Refuses a form with a file before the file is read. Raises ReadOnlyView, and what `_visit_of`
    raises.
    """
    with request.db.read() as tx:
        _visit_of(tx, request)
    raise ReadOnlyView()


def _refuse(request: PageRequest) -> Response:
    """Refuses whatever would change, make or save something. All forms of the portal end here."""
    return _read_only_page(request._replace(visit_of=_visit_of), ReadOnlyView())


def _read_only_page(request: PageRequest, why: ReadOnlyView) -> Response:
    with request.db.read() as tx:
        visit = visit_of(tx, request)
        return page("only_looks.html", request, status=why.status, visit=visit, here="", why=why)


def _handler_while_viewing(handle: Callable[[PageRequest], Response]) -> Handler:
    """Returns a handler that leads back to the account when the look is over."""

    def look(request: PageRequest) -> Response:
        try:
            return handle(request)
        except ViewEnded:
            return redirect(_account_page(request), DoneNotice.ENDED)

    return requiring_second_step(look)


_refused: Final = _handler_while_viewing(_refuse)


def _account_page(request: PageRequest) -> str:
    return f"{ACCOUNTS}/{request.path['account']}"
