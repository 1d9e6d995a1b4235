"""A visit is a request of somebody who is signed in, to one of his or her accounts."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts, users
from heliograph.accounts import Account, audit_log
from heliograph.base.errors import Forbidden, NotFound
from heliograph.portal import languages
from heliograph.portal.page_request import PageRequest
from heliograph.users import Right, Role, operators, sign_ins, two_step

MODES: Final = ("live", "sandbox")
NO_ACCOUNT: Final = "You are a member of no account. Ask whoever invited you."


class OperatorView(NamedTuple):
    """Says that an operator looks at the account's pages: who, until when, at which paths, and
    where the look ends before.
    """

    email: str
    until_ms: int
    home: str
    leave: str


class ReadOnlyView(Forbidden):
    """You can only look at this portal. Nothing is changed, made or saved from here."""

    reason = "only_looks"


class Visit(NamedTuple):
    """Says who asks, for which account, and in which role. `partner` is the account whose customer
    `account` is, if the user acts for that customer and is no member of it. `operator_view` is the
    look of an operator, who then sees what an owner sees, and may do nothing.
    """

    session: sign_ins.Session
    account: Account
    role: Role
    is_suspended: bool  # the account is, or the partner whose customer it is
    others: tuple[Account, ...]  # accounts that the user may choose, too
    partner: Account | None = None
    operator_view: OperatorView | None = None

    @property
    def home(self) -> str:
        """Returns the path of the account's overview; its other pages are below."""
        return home_of(self.account) if self.operator_view is None else self.operator_view.home

    @property
    def mode(self) -> str:
        """Returns the mode that is shown when none is asked for."""
        return "sandbox" if self.account.sandbox else "live"

    @property
    def modes(self) -> tuple[str, ...]:
        """Returns the modes that the account has: a customer of the sandbox has no other."""
        return ("sandbox",) if self.account.sandbox else MODES

    @property
    def partners_home(self) -> str:
        """Returns the path of the partner's overview, where the user acts for its customer."""
        assert self.partner is not None
        return home_of(self.partner)

    @property
    def is_partner(self) -> bool:
        """Returns whether the account may have customers: a customer has none of its own."""
        return self.account.parent_id is None

    @property
    def may_send(self) -> bool:
        """Returns whether pages lead to what sends a text. An operator who looks would be refused
        there.
        """
        return self.operator_view is None and self.may(Right.SEND)

    def may(self, right: Right) -> bool:
        return right in users.RIGHTS[self.role]

    def require(self, tx: Connection, right: Right) -> None:
        """Raises Forbidden unless the user may do this, and the account may change anything."""
        if self.operator_view is not None:
            raise ReadOnlyView()
        if not self.may(right):
            raise Forbidden(f"Your role in this account, {self.role.value}, may not do this.")
        if not accounts.is_active(tx, self.account):
            raise Forbidden(
                "This account is suspended: it can read, but change nothing.",
                reason="account_suspended",
            )

    def require_fresh(self, now_ms: int) -> None:
        """Raises NotFresh unless the user has signed in a short while ago, and ReadOnlyView for an
        operator who looks at the portal.
        """
        if self.operator_view is not None:
            raise ReadOnlyView()
        if not self.session.is_fresh(now_ms):
            raise NotFresh()

    def audit(
        self,
        tx: Connection,
        request: PageRequest,
        action: str,
        record: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Stores that this user has changed something of the account (`audit_log.AuditEntry`)."""
        assert self.operator_view is None, "an operator who looks changes nothing"
        user = self.session.user
        audit_log.write(
            tx,
            self.account.id,
            audit_log.Author(audit_log.AuthorKind.USER, user.id, user.email),
            audit_log.AuditEntry(action, record, detail),
            now_ms=request.now_ms,
        )


class UserVisit(NamedTuple):
    """Says who asks for a page that is the user's own, whether a member of an account or of none.
    `member` is the visit to the user's oldest account, if there is one.
    """

    session: sign_ins.Session
    member: Visit | None

    @property
    def displayed_visit(self) -> "Visit | UserVisit":
        """Returns the visit that a template shows: the one to the account, if there is one."""
        return self.member or self

    def require_fresh(self, now_ms: int) -> None:
        """Raises NotFresh unless the user has signed in a short while ago."""
        if not self.session.is_fresh(now_ms):
            raise NotFresh()

    def require_proof(self, tx: Connection, now_ms: int) -> None:
        """Raises NotFresh unless the user may change how he or she proves who it is: after a fresh
        sign-in, and, for an operator who has an app or a passkey, one that it was part of. If the
        latter is missing, it raises WeakSession.
        """
        if operators.has_weak_session(tx, self.session):
            raise WeakSession(has_app=two_step.is_on(tx, self.session.user.id))
        self.require_fresh(now_ms)


class NotFresh(Forbidden):
    """This takes a sign-in that is not older than ten minutes. Confirm that it is you."""

    reason = "sign_in_again"


class WeakSession(NotFresh):
    """This session was opened by a password or a link alone, and its user has more to show."""

    def __init__(self, *, has_app: bool = True) -> None:
        super().__init__(
            "You came in by a password or a link alone. To change how you sign in, sign in with the"
            " code of your app or with your passkey."
        )
        self.has_app = has_app  # if not, a passkey


def home_of(account: Account) -> str:
    """Returns the path of an account's overview."""
    return f"/portal/accounts/{accounts.text_id(account)}"


def visit_of(tx: Connection, request: PageRequest) -> Visit:
    """Returns the visit that this request is. The account is the one that the path names by its
    id, or else the user's oldest. From now on the user's language is spoken, by the account's
    clocks.

    Raises NotSignedIn; NotFound for an account that the user is no member of and does not act for,
    as if there were none.
    """
    visit: Visit = (request.visit_of or _visit_of)(tx, request)
    languages.use_language(
        languages.known_language(visit.session.user.language) or request.language,
        visit.account.time_zone,
    )
    return visit


def user_visit_of(tx: Connection, request: PageRequest) -> UserVisit:
    """Returns who asks for a page of his or her own. From now on the user's language is spoken.

    Raises NotSignedIn.
    """
    session = sign_ins.session_of(tx, request.session, now_ms=request.now_ms)
    if users.memberships(tx, session.user.id):
        return UserVisit(session, visit_of(tx, request))
    languages.use_language(languages.known_language(session.user.language) or request.language)
    return UserVisit(session, None)


def _visit_of(tx: Connection, request: PageRequest) -> Visit:
    session = sign_ins.session_of(tx, request.session, now_ms=request.now_ms)
    languages.use_language(languages.known_language(session.user.language) or request.language)
    memberships = users.memberships(tx, session.user.id)
    of_user = {
        accounts.text_id(account): (account, member.role)
        for member in memberships
        for account in [accounts.by_id(tx, member.account_id)]
    }
    wanted = request.path.get("account") or next(iter(of_user), None)
    if wanted is None:
        raise NotFound(NO_ACCOUNT)
    if wanted not in of_user:
        return _customer_visit(tx, session, list(of_user.values()), wanted)
    account, role = of_user.pop(wanted)
    is_suspended = not accounts.is_active(tx, account)
    others = tuple(other for other, _ in of_user.values())
    return Visit(session, account, role, is_suspended, others)


def _customer_visit(
    tx: Connection, session: sign_ins.Session, of_user: Sequence[tuple[Account, Role]], wanted: str
) -> Visit:
    """Returns the visit of somebody who acts for a customer of a partner, in the role that he or
    she has there. It is judged with each request, by what is stored at that moment.

    Raises NotFound for every other account.
    """
    partners = {
        account.id: (account, role)
        for account, role in of_user
        if Right.CONNECT in users.RIGHTS[role] and account.closed_at_ms is None
    }
    customer = accounts.customer_of(tx, partners.keys(), wanted)
    assert customer.parent_id is not None
    partner, role = partners[customer.parent_id]
    others = tuple(account for account, _ in of_user)
    is_suspended = not accounts.is_active(tx, customer)
    return Visit(session, customer, role, is_suspended, others, partner)
