"""Shows one user, gives a link that signs in, turns two-step sign-in off, and takes all roles away,
as the commands do.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, Forbidden, InvalidRequest
from heliograph.console.navigation import PEOPLE
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.people_pages.named_user import (
    may_decide_on_sign_in,
    require_right_on_sign_in,
    user_named,
)
from heliograph.console.people_pages.sign_in_links import (
    DoneForm,
    LinkHandling,
    done_with_link,
    give_link,
    tell_accounts,
)
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import (
    OperatorRole,
    Role,
    User,
    mails,
    operators,
    passkeys,
    sign_ins,
    two_step,
)

ACCOUNTS_SHOWN_MAX: Final = 50
NOT_SHOWN: Final = (
    "This service sends no mail, so whoever makes the link sees it. Only an admin of the console"
    " does that."
)
PLENTY: Final = (
    f"No more is mailed now, because {mails.MAILED_LINKS_MAX} links of this user are valid or on"
    " their way. A link is valid until it is used, and for a day at most."
)


class RoleOfUser(NamedTuple):
    """Says which role a user has in an account, whose id is in text form."""

    account: Account
    text_id: str
    role: Role


class SignInMeans(NamedTuple):
    """Says what a user signs in with beside a link, and where he or she is signed in."""

    has_app: bool
    passkeys: int
    sessions: int


def show_person(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows one user, and what leads to the forms about him or her. Raises NotFound."""
    return _shown(tx, request, visit, "person.html", ())


def ask_link(
    tx: Connection, request: PageRequest, visit: OperatorVisit, errors: Sequence[FieldError] = ()
) -> Response:
    """Asks whether a user gets a link that signs in. Raises NotFound."""
    return _shown(tx, request, visit, "person_link.html", errors)


def link(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Gives a user a link that signs in. Raises NotFound, Forbidden, InvalidRequest."""
    user, reason = user_named(tx, request), reason_of(request)

    def effect(tx: Connection) -> DoneForm:
        handling = give_link(tx, request, visit, user, reason)
        if handling is LinkHandling.WITHHELD:
            raise Forbidden(NOT_SHOWN)
        if handling is LinkHandling.PLENTY:
            raise InvalidRequest(PLENTY)
        return DoneForm(f"{PEOPLE}/{users.text_id(user)}", user, handling)

    return done_with_link(tx, request, visit, effect)


def ask_two_step_off(
    tx: Connection, request: PageRequest, visit: OperatorVisit, errors: Sequence[FieldError] = ()
) -> Response:
    """Asks whether a user's second step is turned off. Raises NotFound."""
    return _shown(tx, request, visit, "person_two_step_off.html", errors)


def turn_two_step_off(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Deletes a user's authenticator app and, where the form says so, the passkeys. Raises
    NotFound, Forbidden, InvalidRequest.
    """
    user, reason = user_named(tx, request), reason_of(request)
    path = f"{PEOPLE}/{users.text_id(user)}"
    is_without_passkeys = "passkeys" in body_of(request)
    require_right_on_sign_in(tx, visit, user)
    before = _means_of(tx, user, request.now_ms)
    if not before.has_app and not (is_without_passkeys and before.passkeys):
        return redirect(path, DoneNotice.DONE_ALREADY)
    two_step.turn_off(tx, user.id)
    if is_without_passkeys:
        passkeys.remove_all(tx, user.id)
    tell_accounts(
        tx,
        visit,
        user,
        "user.two_step_off",
        before=_means_in_words(before),
        after=_means_in_words(_means_of(tx, user, request.now_ms)),
        reason=reason,
    )
    return redirect(path, DoneNotice.REMOVED)


def ask_disabling(
    tx: Connection, request: PageRequest, visit: OperatorVisit, errors: Sequence[FieldError] = ()
) -> Response:
    """Asks whether all roles of a user are taken away. Raises NotFound."""
    return _shown(tx, request, visit, "person_disable.html", errors)


def disable(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Takes all roles of a user away, and ends the sessions. Raises NotFound, Forbidden, and
    InvalidRequest for the last admin.
    """
    user, reason = user_named(tx, request), reason_of(request)
    path = f"{PEOPLE}/{users.text_id(user)}"
    require_right_on_sign_in(tx, visit, user)
    role, roles = operators.role_of(tx, user.id), users.memberships(tx, user.id)
    sessions = sign_ins.sessions_of(tx, user, now_ms=request.now_ms)
    users.disable(tx, user.id)
    if role is None and not roles and not sessions:
        return redirect(path, DoneNotice.DONE_ALREADY)
    for member in roles:
        visit.audit(
            tx,
            member.account_id,
            "member.remove",
            users.text_id(user),
            before=f"{user.email} {member.role.value}",
            reason=reason,
            told=user.email,
        )
    before = _roles_in_words(role, len(roles), len(sessions))
    visit.audit(
        tx,
        None,
        "user.disable",
        users.text_id(user),
        before=f"{user.email}: {before}",
        reason=reason,
    )
    return redirect(path, DoneNotice.REMOVED)


def _shown(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    template: str,
    errors: Sequence[FieldError],
) -> Response:
    user = user_named(tx, request)
    found = users.memberships(tx, user.id, limit=ACCOUNTS_SHOWN_MAX + 1)
    named = accounts.by_ids(tx, {member.account_id for member in found})
    roles = [
        RoleOfUser(
            named[member.account_id], accounts.text_id(named[member.account_id]), member.role
        )
        for member in found[:ACCOUNTS_SHOWN_MAX]
    ]
    return page(
        template,
        request,
        visit,
        status=400 if errors else 200,
        user=user,
        text_id=users.text_id(user),
        role=operators.role_of(tx, user.id),
        roles=roles,
        shown_max=ACCOUNTS_SHOWN_MAX,
        is_cut=len(found) > ACCOUNTS_SHOWN_MAX,
        means=_means_of(tx, user, request.now_ms),
        may_decide=visit.may_change_accounts and may_decide_on_sign_in(tx, visit, user),
        sends_mail=request.service.sends_mail,
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def _means_of(tx: Connection, user: User, now_ms: int) -> SignInMeans:
    return SignInMeans(
        two_step.is_on(tx, user.id),
        len(passkeys.passkeys_of(tx, user.id)),
        len(sign_ins.sessions_of(tx, user, now_ms=now_ms)),
    )


def _means_in_words(means: SignInMeans) -> str:
    """Returns what the log holds, such as `authenticator app: yes, passkeys: 2`."""
    return f"authenticator app: {'yes' if means.has_app else 'no'}, passkeys: {means.passkeys}"


def _roles_in_words(role: OperatorRole | None, account_count: int, session_count: int) -> str:
    """Returns what the log holds, such as `console: admin, accounts: 2, sessions: 1`."""
    shown = "none" if role is None else role.value
    return f"console: {shown}, accounts: {account_count}, sessions: {session_count}"
