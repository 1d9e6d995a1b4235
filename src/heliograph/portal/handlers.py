"""A handler answers a page or a form. Most are made of functions that take the transaction and the
visit: these see to both.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import users
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.portal.page_request import PageRequest
from heliograph.portal.visit import Visit, visit_of
from heliograph.users import Right

Handler: TypeAlias = Callable[[PageRequest], Response]
MembersPage: TypeAlias = Callable[[Connection, PageRequest, Visit], Response]
# opens transactions of its own
LongPage: TypeAlias = Callable[[PageRequest, Visit], Response]
# shows a page again whose form was refused
FormPage: TypeAlias = Callable[[Connection, PageRequest, Visit, Sequence[FieldError]], Response]


def to_members(show: MembersPage) -> Handler:
    """Returns a handler that shows a page to whoever is signed in and a member of the account.
    What it shows is of one moment. That the session is in use is written down when it is time.
    """

    def handle(asking: PageRequest) -> Response:
        with asking.db.read() as tx:
            visit = visit_of(tx, asking)
            response = show(tx, asking, visit)
        _see(asking, visit)
        return response

    return handle


def to_members_in_steps(show: LongPage) -> Handler:
    """Returns a handler like that of `to_members`, for a page that is made in several transactions,
    because one of them would last too long.
    """

    def handle(asking: PageRequest) -> Response:
        with asking.db.read() as tx:
            visit = visit_of(tx, asking)
        response = show(asking, visit)
        _see(asking, visit)
        return response

    return handle


def by_members(right: Right | None, do: MembersPage, show: FormPage) -> Handler:
    """Returns a handler for a form of members who have this right; None: of all of them. It does
    all in one transaction, which is run again if another one was in its way.
    If the form is refused, nothing is done, and the page is shown again with what is wrong.
    """

    def handle(asking: PageRequest) -> Response:
        def effect(tx: Connection) -> Response:
            visit = visit_of(tx, asking)
            if right is not None:
                visit.require(tx, right)
            return do(tx, asking, visit)

        try:
            return asking.db.transact(effect)
        except InvalidRequest as refused:
            if not refused.fields:
                raise  # it stands at no field, so a page of its own says it
            with asking.db.read() as tx:
                return show(tx, asking, visit_of(tx, asking), refused.fields)

    return handle


def _see(asking: PageRequest, visit: Visit) -> None:
    if visit.session.is_to_be_seen(asking.now_ms):
        with asking.db.write() as tx:
            users.see(tx, asking.session, now_ms=asking.now_ms)
