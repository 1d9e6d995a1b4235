"""Shows the pages of an account's portal to an operator who looks at it, and refuses its forms.

The pages are those of the portal, under paths of their own. So each link leads to the next page
that is only looked at, and the console's process has them where no portal is.
"""

from collections.abc import Callable
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
from heliograph.base.errors import Forbidden
from heliograph.console.handlers import asking_second_step
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit, operator_visit_of
from heliograph.console.reasons import reason_of
from heliograph.portal.handlers import Handler, PageRoute, does, shows, takes_file
from heliograph.portal.page_request import CONSOLE, PageRequest
from heliograph.portal.pages import OF_ACCOUNT, PAGES
from heliograph.portal.rendering import Said, led_on, page
from heliograph.portal.visit import OnlyLooks, OperatorLook, Visit, visit_of
from heliograph.users import OperatorRight, Role

SEEN: Final = f"{CONSOLE}/seen"
SEEN_ACCOUNT: Final = f"{SEEN}/{{account}}"
FILES: Final = ("/export", "/file")  # how the paths of files end: who looks saves none


class LookOver(Forbidden):
    """This look at the portal of an account is over."""

    reason = "look_over"


def begin(tx: Connection, asking: PageRequest, visit: OperatorVisit) -> Response:
    """Lets the operator look at the portal of an account, for a reason. Raises NotFound."""
    reason = reason_of(asking)
    account = accounts.with_text_id(tx, asking.path["account"])
    text_id = accounts.text_id(account)
    users.begin_view(tx, visit.session, account.id, text_id, reason, now_ms=asking.now_ms)
    return led_on(f"{SEEN}/{text_id}")


def leave(tx: Connection, asking: PageRequest, visit: OperatorVisit) -> Response:
    """Ends the operator's look, and leads back to the account."""
    users.end_view(tx, visit.session, now_ms=asking.now_ms)
    return led_on(_account_page(asking), Said.ENDED)


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
        return takes_file(path, _raising_refusal, _refused)
    if route.is_form:
        return does(path, _refused)
    if path.endswith(FILES):
        return shows(path, _refused)
    return shows(path, _looking(route.handle))


def _looking(handle: Handler) -> Handler:
    """Returns a handler that shows what a page of the portal shows, to who may look at it."""

    def look(asking: PageRequest) -> Response:
        seen = asking._replace(visit_of=_visit_of)
        try:
            return handle(seen)
        except OnlyLooks as why:
            return _only_looks(seen, why)

    return _until_over(look)


def _visit_of(tx: Connection, asking: PageRequest) -> Visit:
    """Returns the visit of an operator who looks at the account that the path names. It is judged
    with each page. Raises LookOver, and what `operator_visit_of` raises; NotFound.
    """
    operator = operator_visit_of(tx, asking)
    account = accounts.with_text_id(tx, asking.path["account"])
    view = users.view_of(tx, operator.session, account.id, now_ms=asking.now_ms)
    if view is None:
        raise LookOver()
    operator.require(OperatorRight.SEE)
    return Visit(
        operator.session,
        account,
        Role.OWNER,
        not accounts.is_active(tx, account),
        others=(),
        looking=OperatorLook(
            operator.session.user.email,
            view.ends_at_ms,
            f"{SEEN}/{view.account}",
            f"{ACCOUNTS}/{view.account}/leave",
        ),
    )


def _raising_refusal(asking: PageRequest) -> Response:
    """Refuses a form with a file before the file is read. Raises OnlyLooks, and what `_visit_of`
    raises.
    """
    with asking.db.read() as tx:
        _visit_of(tx, asking)
    raise OnlyLooks()


def _refuse(asking: PageRequest) -> Response:
    """Refuses whatever would change, make or save something. All forms of the portal end here."""
    return _only_looks(asking._replace(visit_of=_visit_of), OnlyLooks())


def _only_looks(asking: PageRequest, why: OnlyLooks) -> Response:
    with asking.db.read() as tx:
        visit = visit_of(tx, asking)
        return page("only_looks.html", asking, status=why.status, visit=visit, here="", why=why)


def _until_over(handle: Callable[[PageRequest], Response]) -> Handler:
    """Returns a handler that leads back to the account when the look is over."""

    def look(asking: PageRequest) -> Response:
        try:
            return handle(asking)
        except LookOver:
            return led_on(_account_page(asking), Said.ENDED)

    return asking_second_step(look)


_refused: Final = _until_over(_refuse)


def _account_page(asking: PageRequest) -> str:
    return f"{ACCOUNTS}/{asking.path['account']}"
