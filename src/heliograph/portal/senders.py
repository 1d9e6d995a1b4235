"""The sender IDs of an account: a list, and a form that registers one."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import senders
from heliograph.base.errors import FieldError
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.visit import MODES, Visit
from heliograph.senders.api import read_registration
from heliograph.users import Right

# one page; an account has a few, and the API pages through more
SHOWN_MAX: Final = 200
FIELDS: Final = ("sender", "country_code", "purpose", "mode")


def listed(
    tx: Connection, asking: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the account's sender IDs of both modes, newest first, and the form to those who may use
    it.
    """
    found = senders.page(tx, limit=SHOWN_MAX + 1, account_id=visit.account.id)
    return page(
        "senders.html",
        asking,
        status=400 if errors else 200,
        visit=visit,
        senders=found[:SHOWN_MAX],
        is_cut=len(found) > SHOWN_MAX,
        may_register=visit.may(Right.SENDERS),
        typed={"mode": visit.mode, **asking.sent.form},
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        modes=MODES,
    )


def register(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Submits a sender ID for approval, as POST /sender-ids does, and shows the list."""
    body = body_of(asking)
    mode = choice_of("mode", body.pop("mode", visit.mode), MODES)
    asked = read_registration(body)
    sender = senders.register(
        tx,
        visit.account.id,
        asked.sender,
        sandbox=mode == "sandbox",
        country_code=asked.country_code,
        purpose=asked.purpose,
        service_sender=asking.service.service_sender,
        now_ms=asking.now_ms,
    )
    visit.audit(tx, asking, "sender.register", senders.text_id(sender), sender.sender)
    return RedirectResponse(f"{visit.home}/senders", SEE_OTHER, HEADERS)
