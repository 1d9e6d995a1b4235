"""Gives a user a link that signs in, as commands do: it is mailed, or shown this once."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import users
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.people_pages.named_user import require_right_on_sign_in
from heliograph.console.rendering import page
from heliograph.portal.form_idempotency import random_of_user, record_of, run_user_form_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.requests import ApiResponse
from heliograph.users import User, mails, operators, sign_ins

PURPOSE: Final = "sign-in link of a form"


class LinkHandling(StrEnum):
    """Says what became of a user's link: `WITHHELD` is one that this operator may not see; `PLENTY`
    is one too many.
    """

    MAILED = "mailed"
    SHOWN = "shown"
    WITHHELD = "withheld"
    PLENTY = "plenty"


class DoneForm(NamedTuple):
    """Says what a form has done: the path of the page that follows, and what became of whose
    link.
    """

    path: str
    user: User | None = None
    link: LinkHandling | None = None


def give_link(
    tx: Connection, request: PageRequest, visit: OperatorVisit, user: User, reason: str
) -> LinkHandling:
    """Has a link mailed, or makes the one that the page after this form shows to those who may
    decide about operators: nobody else is let in as somebody else. Each account of the user reads
    it in its audit log. Raises Forbidden for an operator's link, from those others.
    """
    require_right_on_sign_in(tx, visit, user)
    if not request.service.sends_mail and not visit.may_change_operators:
        return LinkHandling.WITHHELD
    if not request.service.sends_mail:
        random = random_of_user(request, visit.session, PURPOSE)
        sign_ins.make_link(tx, user.id, random, now_ms=request.now_ms)
        handling = LinkHandling.SHOWN
    elif mails.mail_link_to_user(tx, user.id, now_ms=request.now_ms):
        handling = LinkHandling.MAILED
    else:
        return LinkHandling.PLENTY
    after = f"{handling.value} for {user.email}"
    tell_accounts(tx, visit, user, "user.link", after=after, reason=reason)
    return handling


def tell_accounts(
    tx: Connection,
    visit: OperatorVisit,
    user: User,
    action: str,
    *,
    before: str | None = None,
    after: str | None = None,
    reason: str,
) -> None:
    """Stores what was done to a user in the operators' log, once for each account that the user is
    a member of, which reads it in its audit log, too.
    """
    of_user = [member.account_id for member in users.memberships(tx, user.id)]
    account_ids: Iterable[str | None] = of_user or (None,)
    for account_id in account_ids:
        visit.audit(
            tx,
            account_id,
            action,
            users.text_id(user),
            before=before,
            after=after,
            reason=reason,
            told=user.email,
        )


def done_with_link(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    effect: Callable[[Connection], DoneForm],
) -> Response:
    """Does once what a form asks for. Shows the link that it gives, if that is not mailed, also to
    somebody who sends the form twice. Otherwise it leads to the page that follows.
    """

    def run(tx: Connection) -> ApiResponse:
        done = effect(tx)
        user = done.user and users.text_id(done.user)
        return ApiResponse({"to": done.path, "user": user, "link": done.link})

    done = record_of(run_user_form_once(tx, request, visit.session.user.id, run))
    if done["link"] == LinkHandling.MAILED:
        return redirect(done["to"], DoneNotice.ON_ITS_WAY)
    if done["link"] != LinkHandling.SHOWN:
        return redirect(done["to"], DoneNotice.SAVED)
    link = sign_ins.link_of(random_of_user(request, visit.session, PURPOSE))
    if not sign_ins.is_valid_link(tx, link, now_ms=request.now_ms):
        return redirect(done["to"], DoneNotice.DONE_ALREADY)
    let_in = users.with_text_id(tx, done["user"])
    is_operator = operators.role_of(tx, let_in.id) is not None
    site = request.site if is_operator else request.service.portal_url or request.site
    return page(
        "sign_in_link.html",
        request,
        visit,
        user=let_in,
        link=f"{site}/portal/sign-in/{link}",
        back=done["to"],
    )
