"""Shows the names that accounts may not register, reserves one, and releases it, as the commands
do.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import senders
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.console.navigation import RESERVED
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, DoneNotice, redirect
from heliograph.senders import reserved_names

NAMES_SHOWN_MAX: Final = 200
NAME_ASKED_MAX: Final = 64  # characters of a name


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the reserved names, by name, the form that reserves one, and what accounts are told of
    the name that the query asks about.
    """
    asked = dict(request.sent.query).get("name", "").strip()[:NAME_ASKED_MAX]
    found = reserved_names.of_operator(tx, limit=NAMES_SHOWN_MAX + 1)
    return page(
        "reserved_names.html",
        request,
        visit,
        status=400 if errors else 200,
        names=found[:NAMES_SHOWN_MAX],
        shown_max=NAMES_SHOWN_MAX,
        is_cut=len(found) > NAMES_SHOWN_MAX,
        answer=_answer(tx, request, asked) if asked else "",
        reserved=reserved_names.find_reserved(tx, asked) if asked else None,
        typed={"name": asked} | body_of(request),
        errors={error.field: error.message for error in errors},
    )


def reserve(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Reserves a name. One that is reserved for the same reason was reserved already. Raises
    InvalidRequest.
    """
    reason = reason_of(request)
    done = reserved_names.add(tx, body_of(request).get("sender", ""), reason, now_ms=request.now_ms)
    if done.before == done.after:
        return redirect(RESERVED, DoneNotice.DONE_ALREADY)
    visit.audit(
        tx,
        None,
        "sender.reserve",
        done.after.sender,
        before=done.before and _in_words(done.before),
        after=_in_words(done.after),
        reason=reason,
    )
    return redirect(RESERVED, DoneNotice.SAVED)


def ask_release(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows a reserved name, and the form that releases it. Without a name it leads to the list.
    Raises NotFound.
    """
    asked = request.sent.all_fields
    if not asked.get("sender"):
        return RedirectResponse(RESERVED, SEE_OTHER, HEADERS)
    found = reserved_names.find_reserved(tx, asked["sender"])
    if found is None:
        raise NotFound("This name is not reserved any more.")
    return page(
        "reserved_name.html",
        request,
        visit,
        status=400 if errors else 200,
        each=found,
        shown=_in_words(found),
        typed=asked,
        errors={error.field: error.message for error in errors},
    )


def release(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Lets accounts register a name again. One that is not reserved was released already. Raises
    InvalidRequest, also when the page has shown another name or reason than there is now.
    """
    reason = reason_of(request)
    try:
        gone = reserved_names.release(tx, body_of(request).get("sender", ""))
    except NotFound:
        return redirect(RESERVED, DoneNotice.DONE_ALREADY)
    before = _in_words(gone)
    if request.sent.form.get("shown") != before:
        raise invalid_field(
            "shown",
            "is not what there is now: somebody reserved it anew after you had opened this page."
            " Look at it again, then decide",
        )
    visit.audit(tx, None, "sender.release", gone.sender, before=before, reason=reason)
    return redirect(RESERVED, DoneNotice.REMOVED)


def _answer(tx: Connection, request: PageRequest, name: str) -> str:
    """Returns in a sentence whether accounts may register a name."""
    try:
        senders.check(name)
    except InvalidRequest as refused:
        return f"Nobody may register {quote_value(name)}: a sender ID {refused.fields[0].message}."
    why = reserved_names.reason_for(tx, name, request.service.service_sender)
    if why is None:
        return f"Accounts may register {quote_value(name)}."
    return f"Accounts may not register {quote_value(name)}: {why}."


def _in_words(reserved: reserved_names.Reserved) -> str:
    return f"{reserved.sender}: {reserved.reason}"
