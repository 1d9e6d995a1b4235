"""Makes a campaign to the numbers of a file: the file is uploaded, and a page reports what became
of its lines, as `campaign create --numbers` does. It is a draft then.
"""

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import campaigns
from heliograph.accounts import quotas
from heliograph.base.csv.reader import text_of
from heliograph.base.errors import FieldError, InvalidRequest, Unavailable
from heliograph.base.json import decode_object
from heliograph.base.short_texts import invalid_field
from heliograph.campaigns import previews
from heliograph.portal.campaign_pages.campaign_new import (
    SHOW_MODE,
    as_shown_in_mode,
    campaign_alike,
    fields_of,
    lines_of,
)
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.form_idempotency import forget_once, run_form_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.send import usual_sender
from heliograph.portal.uploaded_form import UPLOAD_OCTETS_MAX
from heliograph.portal.visit import Visit, visit_of
from heliograph.requests import ApiResponse
from heliograph.text import read_country
from heliograph.users import Right

# Written down in 2.3 s, in which a thread of the pages is busy; and a page can price it.
NUMBERS_MAX: Final = 50_000
PATH: Final = "POST /portal/campaigns/new/import"  # of keys: those of programs have other paths
FIELDS: Final = ("name", "sender", "message", "file", "phone_column", "country_code")


class _AlreadySent(Exception):
    """This form was sent before. `campaign` is the text id of the draft that it has made."""

    def __init__(self, campaign: str) -> None:
        super().__init__()
        self.campaign = campaign


def show_form(
    tx: Connection,
    request: PageRequest,
    visit: Visit,
    errors: Sequence[FieldError] = (),
    status: int = InvalidRequest.status,
) -> Response:
    """Shows the form that takes a text and a file. Its mode decides which senders it offers. With
    `from` in the query, it is filled in like that campaign, whose file has to be chosen again.
    """
    visit.require(tx, Right.CAMPAIGNS)
    query = dict(request.sent.query)
    usual = {"sender": usual_sender(tx, visit) or ""}
    model = campaign_alike(tx, request, visit)
    like = fields_of(model) if model else {}
    typed = {**usual, "mode": query.get("mode", visit.mode), **like, **request.sent.form}
    mode = typed["mode"] if typed["mode"] in visit.modes else visit.mode
    senders = campaigns.senders_for(tx, visit.account.id, sandbox=mode == "sandbox")
    if typed["sender"] not in senders:  # it is one of the other mode
        typed["sender"] = usual["sender"]
    return page(
        "campaign_file.html",
        request,
        is_form_page=True,
        status=status if errors else 200,
        visit=visit,
        model=model,
        typed=typed,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        mode=mode,
        modes=visit.modes,
        senders=senders,
        numbers_max=NUMBERS_MAX,
        mebibytes_max=UPLOAD_OCTETS_MAX // 1_024**2,
    )


def store(request: PageRequest) -> Response:
    """Makes a draft to the numbers of a file, in several transactions, and says what became of its
    lines. A form that is sent twice makes one draft, and the second response leads to it. With the
    buttons that show the form in a mode, nothing is stored.
    """
    with request.db.read() as tx:
        visit = visit_of(tx, request)
        visit.require(tx, Right.CAMPAIGNS)
        if SHOW_MODE in request.sent.form:
            return show_form(tx, as_shown_in_mode(request), visit)
    try:
        result, columns = _store(request, visit)
    except _AlreadySent as sent:
        return RedirectResponse(f"{visit.home}/campaigns/{sent.campaign}", SEE_OTHER, HEADERS)
    except Unavailable as lost:
        with request.db.read() as tx:
            error = FieldError("file", f"may be stored or not. {lost} Choose it again")
            return show_form(tx, request, visit, [error], lost.status)
    except (InvalidRequest, quotas.StorageQuotaReached) as wrong:
        errors = wrong.fields or [FieldError("file", f"cannot be used. {wrong}")]
        with request.db.read() as tx:
            return show_form(tx, request, visit, errors)
    with request.db.read() as tx:
        samples = previews.samples(tx, result.campaign)
    return page(
        "campaign_listed.html",
        request,
        visit=visit,
        listed=result,
        columns=columns,
        samples=samples,
        path=f"{visit.home}/campaigns/{campaigns.text_id(result.campaign)}",
    )


def _store(request: PageRequest, visit: Visit) -> tuple[campaigns.FileResult, tuple[str, ...]]:
    """Returns what became of the file's lines, and its columns. Raises InvalidRequest and
    StorageQuotaReached.
    """
    body: dict[str, Any] = dict(body_of(request))
    mode = choice_of("mode", body.pop("mode", visit.mode), visit.modes)
    body.pop("tags", None)  # kept for who goes back to the form for contacts
    country, phone_column = body.pop("country_code", None), body.pop("phone_column", None)
    message = lines_of(body["message"]) if "message" in body else None
    wanted = campaigns.read_campaign_request({**body, "message": message, "audience": "numbers"})
    try:
        dialled_in = None if country is None else read_country(country)
    except ValueError as error:
        raise invalid_field("country_code", str(error)) from error
    if not request.sent.file:
        raise invalid_field("file", "is required, and must not be empty")
    numbers = campaigns.Numbers(
        text_of(BytesIO(request.sent.file)),
        dialled_in,
        visit.account.country_code,
        phone_column,
    )
    sandbox = mode == "sandbox"
    try:
        result = campaigns.create_listed(
            request.db,
            visit.account.id,
            wanted,
            numbers,
            sandbox=sandbox,
            most=NUMBERS_MAX,
            make_once=lambda tx, make: _make_once(tx, request, visit, sandbox, make),
        )
    except (InvalidRequest, quotas.StorageQuotaReached):  # there is no draft any more
        with request.db.write() as tx:
            forget_once(tx, request, visit, PATH, sandbox=sandbox)
        raise
    with request.db.write() as tx:  # after several transactions, the first of which may refuse it
        record = campaigns.text_id(result.campaign)
        visit.audit(tx, request, "campaign.write", record, result.campaign.name)
    return result, numbers.columns


def _make_once(
    tx: Connection,
    request: PageRequest,
    visit: Visit,
    sandbox: bool,
    make: Callable[[Connection], campaigns.Campaign],
) -> campaigns.Campaign:
    """Returns the draft that `make` has made. Raises _AlreadySent if this form has made one."""
    made: list[campaigns.Campaign] = []

    def effect(tx: Connection) -> ApiResponse:
        made.append(make(tx))
        return ApiResponse({"id": campaigns.text_id(made[0])})

    response = run_form_once(tx, request, visit, PATH, sandbox=sandbox, effect=effect)
    if not made:
        assert response.raw is not None
        raise _AlreadySent(decode_object(response.raw)["id"])
    return made[0]
