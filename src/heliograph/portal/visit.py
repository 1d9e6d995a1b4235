"""A visit is a request of somebody who is signed in, to one of his or her accounts."""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts, users
from heliograph.accounts import Account
from heliograph.base.errors import NotFound
from heliograph.portal.page_request import PageRequest
from heliograph.users import Right, Role, Session

NO_ACCOUNT: Final = "You are a member of no account. Ask whoever invited you."


class Visit(NamedTuple):
    """Says who asks, for which account, and in which role."""

    session: Session
    account: Account
    role: Role
    others: tuple[Account, ...]  # accounts that the user may choose, too

    @property
    def home(self) -> str:
        """Returns the path of the account's overview; its other pages are below."""
        return f"/portal/accounts/{accounts.text_id(self.account)}"

    def may(self, right: Right) -> bool:
        return right in users.RIGHTS[self.role]


def visit_of(tx: Connection, asking: PageRequest) -> Visit:
    """Returns the visit that this request is. The account is the one that the path names by its
    id, or else the user's oldest.

    Raises NotSignedIn; NotFound for an account that the user is no member of, as if there were
    none.
    """
    session = users.session_of(tx, asking.session, now_ms=asking.now_ms)
    memberships = users.memberships(tx, session.user.id)
    of_user = {
        accounts.text_id(account): (account, member.role)
        for member in memberships
        for account in [accounts.by_id(tx, member.account_id)]
    }
    wanted = asking.path.get("account") or next(iter(of_user), None)
    if wanted is None:
        raise NotFound(NO_ACCOUNT)
    if wanted not in of_user:
        raise NotFound("There is no such account.")
    account, role = of_user.pop(wanted)
    return Visit(session, account, role, tuple(other for other, _ in of_user.values()))
