"""Finds the user that a path names, and asks whether this operator may decide about him or her."""

from sqlalchemy.engine import Connection

from heliograph import users
from heliograph.base.errors import Forbidden
from heliograph.console.operator_visit import OperatorVisit
from heliograph.portal.page_request import PageRequest
from heliograph.users import OperatorRight, User, operators


def user_named(tx: Connection, request: PageRequest) -> User:
    """Returns the user whom the path names. Raises NotFound."""
    return users.with_text_id(tx, request.path["user"])


def may_decide_on_sign_in(tx: Connection, visit: OperatorVisit, user: User) -> bool:
    """Returns whether this operator may let a user in, and take away what the user signs in with.
    Of an operator, only those may who decide who is an operator: anybody else could become what
    that operator is.
    """
    return visit.may_change_operators or operators.role_of(tx, user.id) is None


def require_right_on_sign_in(tx: Connection, visit: OperatorVisit, user: User) -> None:
    """Raises Forbidden unless `may_decide_on_sign_in`. Until the transaction ends, nobody makes an
    operator of the user.
    """
    visit.require(OperatorRight.ACCOUNTS)
    users.lock(tx, user.id)
    if not may_decide_on_sign_in(tx, visit, user):
        raise Forbidden(
            f"Your role in the console, {visit.role.value}, may not do this to an operator."
        )
