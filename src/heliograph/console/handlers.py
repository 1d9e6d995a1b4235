"""A handler answers a page or a form of the console. All are made here, so all ask who it is."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.accounts import AccountClosed
from heliograph.base.errors import DoneAlready, FieldError, InvalidRequest, NotFound
from heliograph.console.operator_visit import NoSecondStep, OperatorVisit, operator_visit_of
from heliograph.console.rendering import DONE_ALREADY, OF_NO_FIELD, second_step_page
from heliograph.portal.filled_form import refill
from heliograph.portal.form_idempotency import redirect_user_once
from heliograph.portal.handlers import Handler, keep_session
from heliograph.portal.page_request import PageRequest
from heliograph.users import OperatorRight

OperatorsPage: TypeAlias = Callable[[Connection, PageRequest, OperatorVisit], Response]
# shows a page again whose form was refused
OperatorsFormPage: TypeAlias = Callable[
    [Connection, PageRequest, OperatorVisit, Sequence[FieldError]], Response
]

# opens transactions of its own
OperatorsLongForm: TypeAlias = Callable[[PageRequest, OperatorVisit], Response]
OperatorsCheck: TypeAlias = Callable[[PageRequest, OperatorVisit], Response | None]


def page_for_operators(show: OperatorsPage) -> Handler:
    """Returns a handler that shows a page to every operator. All that it shows is read at one
    moment.
    """

    def handle(request: PageRequest) -> Response:
        with request.db.snapshot() as tx:
            visit = operator_visit_of(tx, request)
            response = show(tx, refill(request, visit.session.user.id), visit)
        return keep_session(request, visit.session, response)

    return requiring_second_step(handle)


def form_for_operators(
    right: OperatorRight,
    do: OperatorsPage,
    show: OperatorsFormPage,
    *,
    is_fresh: bool = False,
    shows_once: bool = False,
) -> Handler:
    """Returns a handler for a form of operators who have this right. With `is_fresh`, it takes a
    fresh sign-in, as what moves money or a tenant's rights does. It does all in one transaction,
    and once, if it leads to another page; with `shows_once`, `do` itself sees to that. If the form
    is refused, or what it is about is gone, nothing is done, and the page is shown again with what
    is wrong.
    """
    do_once = do if shows_once else redirect_user_once(do)

    def handle(request: PageRequest) -> Response:
        def effect(tx: Connection) -> Response:
            visit = operator_visit_of(tx, request)
            visit.require(right)
            if is_fresh:
                visit.require_fresh()
            return do_once(tx, request, visit)

        try:
            return request.db.transact(effect)
        except (InvalidRequest, NotFound, AccountClosed) as refused:
            said_above = DONE_ALREADY if isinstance(refused, DoneAlready) else OF_NO_FIELD
            wrong = refused.fields or [FieldError(said_above, refused.message)]
            with request.db.read() as tx:
                response = show(tx, request, operator_visit_of(tx, request), wrong)
            if (
                response.status_code == InvalidRequest.status
            ):  # as opposed to one that leads elsewhere
                response.status_code = refused.status
            return response

    return requiring_second_step(handle)


def in_own_transactions(handle: Handler) -> Handler:
    """Returns a handler that opens transactions of its own, and asks who it is in the first."""
    return requiring_second_step(handle)


def long_form_for_operators(right: OperatorRight, do: OperatorsLongForm) -> Handler:
    """Returns a handler for a form that is not answered in one transaction, because another machine
    is asked, or because it takes many. It takes this right and a fresh sign-in.
    """

    def handle(request: PageRequest) -> Response:
        return do(request, _fresh_visit(request, right))

    return requiring_second_step(handle)


def checked_form_for_operators(
    right: OperatorRight, look: OperatorsCheck, then: Handler
) -> Handler:
    """Returns a handler that takes this right and a fresh sign-in, looks first, in no transaction,
    and does what `then` does if the look answers nothing.
    """

    def handle(request: PageRequest) -> Response:
        return look(request, _fresh_visit(request, right)) or then(request)

    return requiring_second_step(handle)


def _fresh_visit(request: PageRequest, right: OperatorRight) -> OperatorVisit:
    with request.db.read() as tx:
        visit = operator_visit_of(tx, request)
    visit.require(right)
    visit.require_fresh()
    return visit


def requiring_second_step(handle: Handler) -> Handler:
    """Returns a handler that asks for the second step where the session has none."""

    def ask_first(request: PageRequest) -> Response:
        try:
            return handle(request)
        except NoSecondStep as missing:
            return second_step_page(request, missing)

    return ask_first
