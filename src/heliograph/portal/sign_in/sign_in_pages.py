"""Signs users in by a link or with a password, confirms who is there, and signs them out.

Programs that look at mail open the links in it. So a link shows a page with a button, and the
button uses the link up.
"""

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import accounts, users
from heliograph.base.errors import NotFound, Unauthorized
from heliograph.portal import languages
from heliograph.portal.cookies import drop_cookie, set_cookie
from heliograph.portal.filled_form import (
    has_kept_form,
    keep_form,
    seal_form,
    seal_form_of_ended_session,
)
from heliograph.portal.form_idempotency import NOBODY, run_user_form_once
from heliograph.portal.page_request import (
    BACK_COOKIE,
    HOME,
    KEPT_COOKIE,
    SESSION_COOKIE,
    PageRequest,
    path_of_page,
)
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.sign_in.finish_sign_in import continue_sign_in, finish_sign_in
from heliograph.portal.visit import NotFresh, WeakSession, home_of
from heliograph.requests import ApiResponse
from heliograph.users import mails, members, password_tries, passwords, sign_ins
from heliograph.users.password_tries import Guesser, TooManyTries


class WrongPassword(Unauthorized):
    """The email address or the password is not right."""

    reason = "wrong_password"


def show_signed_out(request: PageRequest) -> Response:
    """Says how to come in. Whoever does is led to the page that was asked for, and finds there what
    he or she had typed when the session ended. Whose role was changed is told so.
    """
    sealed_form = seal_form_of_ended_session(request)
    is_kept = bool(sealed_form) or has_kept_form(request)
    with request.db.read() as tx:
        has_other_role = sign_ins.was_ended_by_role(tx, request.session)
    response = render_form(
        request, 401, back=request.page, is_kept=is_kept, has_other_role=has_other_role
    )
    if sealed_form:
        keep_form(response, sealed_form)
    return response


def ask_to_sign_in_again(request: PageRequest, missing: NotFresh) -> Response:
    """Asks a user who is signed in to do so once more, and leads back to the page. It says what is
    missing in this session. What was typed is there again then.
    """
    with request.db.read() as tx:
        user = sign_ins.session_of(tx, request.session, now_ms=request.now_ms).user
    sealed_form = seal_form(request, user.id)
    is_kept = bool(sealed_form) or has_kept_form(request)
    response = render_form(
        request, 403, back=request.page, email=user.email, missing=missing, is_kept=is_kept
    )
    if sealed_form:
        keep_form(response, sealed_form)
    return response


def show_form(request: PageRequest) -> Response:
    """Shows the form that signs in, and leads to the page that the query names."""
    return render_form(request, 200, back=path_of_page(dict(request.sent.query).get("back", "")))


def sign_in_with_password(request: PageRequest) -> Response:
    """Signs in somebody whose password is right. The answer to a wrong password and the one to an
    unknown address are the same, and take the same time.
    """
    sent = request.sent.form
    back = path_of_page(sent.get("back", ""))
    guesser = Guesser(users.fold_email(sent.get("email", "")), request.address, request.browser)
    try:
        begun, browser = _begin(request, guesser, sent.get("password", ""))
    except (WrongPassword, TooManyTries) as refused:
        response = render_form(
            request, refused.status, back=back, why=str(refused), email=guesser.email
        )
        if refused.retry_after_s is not None:
            response.headers["retry-after"] = str(refused.retry_after_s)
        return response
    return continue_sign_in(begun, back, browser)


def mail_link(request: PageRequest) -> Response:
    """Sends a sign-in link by mail, if the address is a user's. The response is the same for all
    addresses. This browser remembers where the link leads, so neither the mail nor the database
    holds it. Raises NotFound where the service sends no mail, and TooManyMails.
    """
    email = users.fold_email(request.sent.form.get("email", ""))
    guesser = Guesser(email, request.address, request.browser)
    if not request.service.sends_mail:
        raise NotFound("This service sends no mail.")

    def effect(tx: Connection) -> ApiResponse:
        password_tries.count_mail(tx, guesser, now_ms=request.now_ms)
        mails.mail_link(tx, email, now_ms=request.now_ms, language=languages.language())
        return ApiResponse({})

    with request.db.write() as tx:
        run_user_form_once(tx, request, NOBODY, effect)
    response = page("link_mailed.html", request)
    back = path_of_page(request.sent.form.get("back", ""))
    set_cookie(response, BACK_COOKIE, back, kept_s=sign_ins.LINK_MS // 1_000)
    return response


def show_invitation(request: PageRequest) -> Response:
    """Shows who invites, and a button that accepts."""
    try:
        with request.db.read() as tx:
            invitation = members.invitation_with(tx, request.path["link"], now_ms=request.now_ms)
            account = accounts.by_id(tx, invitation.account_id)
    except sign_ins.NotSignedIn as refused:
        return page("link_used.html", request, status=refused.status)
    return page(
        "invited.html", request, link=request.path["link"], account=account, invitation=invitation
    )


def accept_invitation(request: PageRequest) -> Response:
    """Makes the visitor who has the link a member, and leads to the account. A visitor who is a
    user already has to be signed in as that user: the link alone opens nothing of theirs.
    """
    try:
        with request.db.write() as tx:
            invitation, secret = members.accept(
                tx,
                request.path["link"],
                by=_signed_in_user(tx, request),
                seen_by=request.user_agent,
                now_ms=request.now_ms,
            )
            if secret is not None:
                sign_ins.end_session(tx, request.session)
            home = home_of(accounts.by_id(tx, invitation.account_id))
    except members.SignInFirst as refused:
        back = path_of_page(f"/portal/invitation/{request.path['link']}")
        return render_form(request, refused.status, back=back, why=str(refused))
    except sign_ins.NotSignedIn as refused:
        return page("link_used.html", request, status=refused.status)
    if secret is None:
        return RedirectResponse(home, SEE_OTHER, HEADERS)
    return finish_sign_in(secret, home)


def _signed_in_user(tx: Connection, request: PageRequest) -> str | None:
    """Returns the raw id of the user who is signed in, or None."""
    try:
        return sign_ins.session_of(tx, request.session, now_ms=request.now_ms).user.id
    except sign_ins.NotSignedIn:
        return None


def show_link_button(request: PageRequest) -> Response:
    """Shows a button. Pressing it signs in with the link in the path, which works only once."""
    return page("sign_in.html", request, link=request.path["link"])


def sign_in_with_link(request: PageRequest) -> Response:
    """Signs in with the link, which then works no more. It leads to the page where this browser
    has asked for the link, or to the overview. If the link was used before, a page says so.
    """
    try:
        with request.db.write() as tx:
            begun = sign_ins.begin(
                tx, request.path["link"], seen_by=request.user_agent, now_ms=request.now_ms
            )
            if not begun.waits:
                sign_ins.end_session(tx, request.session)
    except sign_ins.NotSignedIn as refused:
        return page("link_used.html", request, status=refused.status)
    response = continue_sign_in(begun, path_of_page(request.return_path))
    drop_cookie(response, BACK_COOKIE)
    return response


def sign_out(request: PageRequest) -> Response:
    """Ends the session."""
    with request.db.write() as tx:
        sign_ins.end_session(tx, request.session)
    response = RedirectResponse(HOME, SEE_OTHER, HEADERS)
    drop_cookie(response, SESSION_COOKIE)
    drop_cookie(response, KEPT_COOKIE)
    return response


def _begin(
    request: PageRequest, guesser: Guesser, password: str
) -> tuple[sign_ins.SignIn, str | None]:
    """Returns the sign-in that is begun, and the browser's secret if that is known now. The session
    that the browser had before ends. Somebody else who knows its secret gains nothing from this
    sign-in.

    Raises WrongPassword and TooManyTries.
    """
    now_ms = request.now_ms
    with request.db.write() as tx:
        password_tries.count_try(tx, guesser, now_ms=now_ms)
        stored = passwords.find(tx, guesser.email)
    is_right = passwords.is_password_right(password, stored)  # in no transaction: it takes a while
    if stored is None or not is_right:
        raise WrongPassword()
    with request.db.write() as tx:
        begun = sign_ins.begin_with_password(tx, stored, seen_by=request.user_agent, now_ms=now_ms)
        password_tries.forget_tries(tx, guesser, now_ms=now_ms)
        if begun.waits:
            return begun, None
        sign_ins.end_session(tx, request.session)
        return begun, password_tries.know_browser(
            tx, stored.user_id, request.browser, now_ms=now_ms
        )


def render_form(
    request: PageRequest,
    status: int,
    *,
    back: str = HOME,
    why: str = "",
    passkey_why: str = "",
    email: str = "",
    missing: NotFresh | None = None,
    is_kept: bool = False,
    has_other_role: bool = False,
) -> Response:
    """Shows the ways to sign in. `why` says what was wrong with a password, and `passkey_why` what
    was wrong with a passkey. `missing` says what the session of somebody who is signed in lacks. If
    only a passkey can help, no other way is shown. `is_kept` says that what was typed is kept
    meanwhile, and `has_other_role` that a change of the role has ended the session.
    """
    weak = missing if isinstance(missing, WeakSession) else None
    return page(
        "signed_out.html",
        request,
        status=status,
        back=back,
        why=why,
        passkey_why=passkey_why,
        takes_sign_ups=request.service.takes_sign_ups,
        has_passkeys=request.service.passkey_site is not None,
        email=email,
        is_known=missing is not None,
        is_kept=is_kept,
        has_other_role=has_other_role,
        weak=weak,
        only_passkey=weak is not None and not weak.has_app,
        sends_mail=request.service.sends_mail,
    )
