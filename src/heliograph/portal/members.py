"""Owners see the members of an account, and invite others. Changes are the owners', with a fresh
sign-in.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, users
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_page
from heliograph.base.short_texts import invalid_field
from heliograph.portal import languages
from heliograph.portal.filled_form import choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, RemovedAlready, page, redirect
from heliograph.portal.visit import Visit, visit_of
from heliograph.users import Right, Role, User, members, password_tries

ROLES: Final = tuple(role.value for role in Role)
SAID: Final = {
    "invite": DoneNotice.ON_ITS_WAY,
    "withdraw": DoneNotice.REMOVED,
    "role": DoneNotice.SAVED,
    "remove": DoneNotice.REMOVED,
}


def show_list(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the members to all of them, newest first, and forms to owners."""
    form = request.sent.form
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    found = members.page(tx, visit.account.id, with_one_more_row(wanted))
    displayed = list_page(request, wanted, found, lambda member: member.user.id)
    return page(
        "members.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        members=[(users.text_id(member.user), member) for member in displayed.rows],
        older=displayed.older,
        invitations=members.invitations_of(tx, visit.account.id, now_ms=request.now_ms)
        if wanted.before is None
        else [],
        may_change=visit.may(Right.MEMBERS),
        sends_mail=request.service.sends_mail,
        roles=ROLES,
        typed={"role": Role.VIEWER.value, **(form if form.get("do") == "invite" else {})},
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Does what a button of the list asks for: invite, withdraw an invitation, change a role, or
    remove a member. Raises InvalidRequest for what cannot be done, NotFound for who is not there,
    and TooManyMails.
    """
    visit.require_fresh(request.now_ms)
    # who was removed while this waited for its turn changes nothing any more
    accounts.lock(tx, visit.account.id)
    visit_of(tx, request).require(tx, Right.MEMBERS)
    form, account_id, now_ms = request.sent.form, visit.account.id, request.now_ms
    about: str | None  # what the audit log says of it; None: nothing was changed
    match form.get("do"):
        case "invite":
            if not request.service.sends_mail:
                raise NotFound("This service sends no mail. Its operator can add members.")
            password_tries.count_invitation(tx, account_id, form.get("email", ""), now_ms=now_ms)
            members.invite(
                tx,
                account_id,
                form.get("email", ""),
                _role(form),
                now_ms=now_ms,
                language=languages.language(),
            )
            about = f"{form.get('email', '').strip()} {_role(form).value}"
        case "withdraw":
            if not members.withdraw(tx, account_id, form.get("email", "")):
                raise RemovedAlready(list_path=f"{visit.home}/members")
            about = form.get("email", "").strip()
        case "role":
            user, had = _member(tx, visit, form)
            members.change_role(tx, account_id, user.id, _role(form), now_ms=now_ms)
            about = None if had is _role(form) else f"{user.email} {_role(form).value}"
        case "remove":
            try:
                user, _ = _member(tx, visit, form)
            except NotFound as gone:
                raise RemovedAlready(list_path=f"{visit.home}/members") from gone
            members.remove(tx, account_id, user.id)
            about = user.email
        case unknown:
            raise invalid_field(
                "do", f"must be one of the buttons of this page, not {quote_value(unknown or '')}"
            )
    if about is not None:
        visit.audit(tx, request, f"member.{form['do']}", detail=about)
    return redirect(f"{visit.home}/members", SAID[form["do"]])


def _member(tx: Connection, visit: Visit, form: Mapping[str, str]) -> tuple[User, Role]:
    """Returns the member whom a form names, and the role. Raises NotFound, also for a user of
    other accounts, in the same words.
    """
    with suppress(NotFound):
        user = users.with_text_id(tx, form.get("user", ""))
        role = members.role_of(tx, visit.account.id, user.id)
        if role is not None:
            return user, role
    raise NotFound("This user is no member of the account.")


def _role(form: Mapping[str, str]) -> Role:
    return Role(choice_of("role", form.get("role", ""), ROLES))
