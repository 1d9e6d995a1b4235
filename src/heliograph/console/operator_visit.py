"""An operator's visit is a request of somebody who may see the console."""

from typing import NamedTuple

from sqlalchemy.engine import Connection

from heliograph import users
from heliograph.base.errors import Forbidden, NotFound
from heliograph.base.short_texts import BY_MAX, shorten
from heliograph.portal import languages
from heliograph.portal.page_request import PageRequest
from heliograph.portal.visit import NotFresh
from heliograph.users import (
    LoggedChange,
    OperatorEntry,
    OperatorRight,
    OperatorRole,
    operators,
    sign_ins,
)


class NoSecondStep(Forbidden):
    """The console takes a passkey or an authenticator app, beside a password or a link."""

    reason = "second_step_needed"

    def __init__(self, session: sign_ins.Session, *, has_one: bool) -> None:
        super().__init__()
        self.session = session
        # whether the user has a second step, which was not used when this session was opened
        self.has_one = has_one


class OperatorVisit(NamedTuple):
    """Says who asks, and in which role."""

    session: sign_ins.Session
    role: OperatorRole
    now_ms: int

    @property
    def by(self) -> str:
        """Returns who decides, as histories name it."""
        return shorten(self.session.user.email, BY_MAX - 1)

    @property
    def may_approve(self) -> bool:
        return self.may(OperatorRight.APPROVE)

    @property
    def may_change_accounts(self) -> bool:
        return self.may(OperatorRight.ACCOUNTS)

    @property
    def may_decide_messages(self) -> bool:
        return self.may(OperatorRight.MESSAGES)

    @property
    def may_read_texts(self) -> bool:
        return self.may(OperatorRight.TEXTS)

    @property
    def may_change_carriers(self) -> bool:
        return self.may(OperatorRight.CARRIERS)

    @property
    def may_change_alerts(self) -> bool:
        return self.may(OperatorRight.ALERTS)

    @property
    def may_see_portals(self) -> bool:
        return self.may(OperatorRight.SEE)

    @property
    def may_change_money(self) -> bool:
        return self.may(OperatorRight.MONEY)

    @property
    def may_change_operators(self) -> bool:
        return self.may(OperatorRight.OPERATORS)

    def may(self, right: OperatorRight) -> bool:
        return right in users.OPERATOR_RIGHTS[self.role]

    def require(self, right: OperatorRight) -> None:
        """Raises Forbidden unless the operator may do this."""
        if not self.may(right):
            raise Forbidden(f"Your role in the console, {self.role.value}, may not do this.")

    def require_fresh(self) -> None:
        """Raises NotFresh unless the operator has signed in a short while ago."""
        if not self.session.is_fresh(self.now_ms):
            raise NotFresh()

    def audit(
        self,
        tx: Connection,
        account_id: str | None,
        action: str,
        record: str | None = None,
        *,
        before: str | None = None,
        after: str | None = None,
        reason: str | None = None,
        told: str | None = None,
    ) -> LoggedChange:
        """Stores that this operator has changed something: in the operators' log, and, if it is of
        an account (raw id), in the account's audit log, which names no operator and no reason. The
        account is told what is after, or `told` in its place. Returns which entries these are.
        """
        entry = OperatorEntry(action, account_id, record, before, after, reason)
        return users.log_for_account(tx, self.session.user, entry, told, now_ms=self.now_ms)

    def log(self, tx: Connection, entry: OperatorEntry) -> None:
        """Stores in the operators' log alone that this operator has changed something, because what
        has changed it has written into the account's audit log itself.
        """
        users.log_operator(tx, self.session.user, entry, now_ms=self.now_ms)


def operator_visit_of(tx: Connection, request: PageRequest) -> OperatorVisit:
    """Returns the visit that this request is. From now on English is spoken, by the clocks of UTC.

    Raises NotSignedIn; NotFound for a user who is not an operator, as if there were no console;
    NoSecondStep for one whose session was opened by a password or a link alone.
    """
    session = sign_ins.session_of(tx, request.session, now_ms=request.now_ms)
    role = operators.role_of(tx, session.user.id)
    if role is None:
        raise NotFound("There is no such page.")
    languages.use_language(languages.USUAL)
    has_one = operators.has_second_step(tx, session.user.id)
    if not has_one or not session.is_two_step:
        raise NoSecondStep(session, has_one=has_one)
    return OperatorVisit(session, role, request.now_ms)
