"""A handler answers a page or a form. Most are made of functions that take the transaction and the
visit: these see to both.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import users
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.portal.cookies import set_cookie
from heliograph.portal.filled_form import refill
from heliograph.portal.lanes import Lane
from heliograph.portal.page_request import SESSION_COOKIE, YOU, PageRequest
from heliograph.portal.rendering import (
    HEADERS,
    SEE_OTHER,
    DoneNotice,
    RemovedAlready,
    redirect,
)
from heliograph.portal.uploaded_form import UPLOAD_OCTETS_MAX, UploadTooLarge
from heliograph.portal.visit import UserVisit, Visit, user_visit_of, visit_of
from heliograph.users import Right, operators, sign_ins

Handler: TypeAlias = Callable[[PageRequest], Response]
MembersPage: TypeAlias = Callable[[Connection, PageRequest, Visit], Response]
# opens transactions of its own
LongPage: TypeAlias = Callable[[PageRequest, Visit], Response]
# shows a page again whose form was refused
FormPage: TypeAlias = Callable[[Connection, PageRequest, Visit, Sequence[FieldError]], Response]
OwnPage: TypeAlias = Callable[[Connection, PageRequest, UserVisit], Response]
OwnFormPage: TypeAlias = Callable[
    [Connection, PageRequest, UserVisit, Sequence[FieldError]], Response
]


class PageRoute(NamedTuple):
    """Says what answers a path: GET, or POST if it is a form. With `may`, the form has a file,
    which is read only if `may` raises nothing. `show_again` shows the page of such a form again,
    with what is wrong; without it, a page of its own says so.
    """

    path: str
    handle: Handler
    is_form: bool
    may: Handler | None = None
    lane: Lane = Lane.PAGES
    octets_max: int = UPLOAD_OCTETS_MAX  # of a form with files
    files_max: int = 1
    may_lack_files: bool = False  # such a form may come as one without files does
    show_again: FormPage | None = None


def page_route(path: str, handle: Handler) -> PageRoute:
    """Returns the route of a page."""
    return PageRoute(path, handle, is_form=False)


def form_route(path: str, handle: Handler, lane: Lane = Lane.PAGES) -> PageRoute:
    """Returns the route of a form."""
    return PageRoute(path, handle, is_form=True, lane=lane)


def file_form_route(
    path: str,
    may: Handler,
    handle: Handler,
    octets_max: int = UPLOAD_OCTETS_MAX,
    *,
    may_lack_files: bool = False,
    show_again: FormPage | None = None,
) -> PageRoute:
    """Returns the route of a form with a file, which together have so many octets at most."""
    return PageRoute(
        path,
        handle,
        is_form=True,
        may=may,
        octets_max=octets_max,
        may_lack_files=may_lack_files,
        show_again=show_again,
    )


def files_form_route(
    path: str,
    may: Handler,
    handle: Handler,
    octets_max: int,
    files_max: int,
    show_again: FormPage | None = None,
) -> PageRoute:
    """Returns the route of a form with so many files at most, and perhaps none."""
    return file_form_route(
        path, may, handle, octets_max, may_lack_files=True, show_again=show_again
    )._replace(files_max=files_max)


def page_for_members(show: MembersPage) -> Handler:
    """Returns a handler that shows a page to whoever is signed in and a member of the account. All
    that it shows is read at one moment. It records now and then that the session is in use. A page
    that asks whether to remove what is gone already leads to the list.
    """

    def handle(request: PageRequest) -> Response:
        with request.db.read() as tx:
            visit = visit_of(tx, request)
            try:
                response = show(tx, refill(request, visit.session.user.id), visit)
            except RemovedAlready as gone:
                response = redirect(gone.list_path, DoneNotice.REMOVED_ALREADY)
        return keep_session(request, visit.session, response)

    return handle


def long_page_for_members(show: LongPage) -> Handler:
    """Returns a handler like that of `page_for_members`, for a page that is made in several
    transactions, because one of them would last too long.
    """

    def handle(request: PageRequest) -> Response:
        with request.db.read() as tx:
            visit = visit_of(tx, request)
        response = show(refill(request, visit.session.user.id), visit)
        return keep_session(request, visit.session, response)

    return handle


def form_for_members(right: Right | None, do: MembersPage, show: FormPage) -> Handler:
    """Returns a handler for a form of members who have this right, or of all of them if it is None.
    It does all in one transaction, which is run again if another one was in its way. If the form is
    refused, nothing is done, and the page is shown again with what is wrong.
    """

    def handle(request: PageRequest) -> Response:
        def effect(tx: Connection) -> Response:
            visit = visit_of(tx, request)
            if right is not None:
                visit.require(tx, right)
            return do(tx, request, visit)

        try:
            return request.db.transact(effect)
        except RemovedAlready as gone:  # nothing of the form is stored
            return redirect(gone.list_path, DoneNotice.REMOVED_ALREADY)
        except InvalidRequest as refused:
            if not refused.fields:
                raise  # it stands at no field, so a page of its own says it
            with request.db.read() as tx:
                return show(tx, request, visit_of(tx, request), refused.fields)

    return handle


def page_of_refused_upload(show: FormPage, refused: UploadTooLarge) -> Handler:
    """Returns a handler that shows the page of a form again whose files are too large. Nothing of
    the files is there any more.
    """

    def handle(request: PageRequest) -> Response:
        with request.db.read() as tx:
            response = show(tx, request, visit_of(tx, request), [refused.field_error])
        response.status_code = refused.status
        return response

    return handle


def page_for_users(show: OwnPage) -> Handler:
    """Returns a handler that shows a page of their own to all who are signed in."""

    def handle(request: PageRequest) -> Response:
        with request.db.read() as tx:
            visit = user_visit_of(tx, request)
            response = show(tx, refill(request, visit.session.user.id), visit)
        return keep_session(request, visit.session, response)

    return handle


def form_for_users(do: OwnPage, show: OwnFormPage) -> Handler:
    """Returns a handler like that of `form_for_members`, for a form of a page of
    `page_for_users`.
    """

    def handle(request: PageRequest) -> Response:
        try:
            return request.db.transact(lambda tx: do(tx, request, user_visit_of(tx, request)))
        except RemovedAlready as gone:
            return redirect(gone.list_path, DoneNotice.REMOVED_ALREADY)
        except InvalidRequest as refused:
            if not refused.fields:
                raise
            with request.db.read() as tx:
                return show(tx, request, user_visit_of(tx, request), refused.fields)

    return handle


def page_for_members_else_console(show: Handler) -> Handler:
    """Returns a handler that leads an operator who is a member of no account to the console, and
    shows everybody else the page.
    """

    def handle(request: PageRequest) -> Response:
        with request.db.read() as tx:
            user_id = sign_ins.session_of(tx, request.session, now_ms=request.now_ms).user.id
            is_member = bool(users.memberships(tx, user_id))
            is_operator = not is_member and operators.role_of(tx, user_id) is not None
        return redirect_to_console(request) if is_operator else show(request)

    return handle


def redirect_to_console(request: PageRequest) -> Response:
    """Leads to the console; or to the user's own page, where nobody knows where the console is."""
    return RedirectResponse(request.service.console_link or YOU, SEE_OTHER, HEADERS)


def keep_session(request: PageRequest, session: sign_ins.Session, response: Response) -> Response:
    """Returns the response, with another secret of the session if it is to get one. Stores that the
    session is in use, if the last use that is stored is old enough.
    """
    if session.is_rotation_due:
        with request.db.write() as tx:
            secret = sign_ins.rotate_session(tx, request.session, now_ms=request.now_ms)
        if secret is not None:
            set_cookie(response, SESSION_COOKIE, secret)
    elif session.needs_use_recorded(request.now_ms):
        with request.db.write() as tx:
            sign_ins.record_session_use(tx, request.session, now_ms=request.now_ms)
    return response
