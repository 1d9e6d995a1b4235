"""A campaign to the numbers of a file: the file is uploaded, and a page reports what became of its
lines, as `campaign create --numbers` does. It is a draft then.
"""

from collections.abc import Sequence
from io import BytesIO, TextIOWrapper
from typing import Any, Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import campaigns
from heliograph.accounts import StorageQuotaReached
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.short_texts import refused
from heliograph.portal.campaign_pages.campaign_new import lines_of
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.uploaded_form import UPLOAD_OCTETS_MAX
from heliograph.portal.visit import Visit, visit_of
from heliograph.text import read_country
from heliograph.users import Right

# Written down in 2.3 s, in which a thread of the pages is busy; and a page can price it.
NUMBERS_MAX: Final = 50_000
FIELDS: Final = ("name", "sender", "message", "file", "phone_column", "country_code")


def ask(
    tx: Connection, asking: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form that takes a text and a file. Its mode decides which senders it offers."""
    visit.require(tx, Right.CAMPAIGNS)
    query = dict(asking.sent.query)
    typed = {"mode": query.get("mode", visit.mode), **asking.sent.form}
    mode = typed["mode"] if typed["mode"] in visit.modes else visit.mode
    return page(
        "campaign_file.html",
        asking,
        status=400 if errors else 200,
        visit=visit,
        typed=typed,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        mode=mode,
        modes=visit.modes,
        senders=campaigns.senders_for(tx, visit.account.id, sandbox=mode == "sandbox"),
        numbers_max=NUMBERS_MAX,
        mebibytes_max=UPLOAD_OCTETS_MAX // 1_024**2,
    )


def store(asking: PageRequest) -> Response:
    """Makes a draft to the numbers of a file, in several transactions, and says what became of its
    lines.
    """
    with asking.db.read() as tx:
        visit = visit_of(tx, asking)
        visit.require(tx, Right.CAMPAIGNS)
    try:
        listed, columns = _stored(asking, visit)
    except (InvalidRequest, StorageQuotaReached) as wrong:
        errors = wrong.fields or [FieldError("file", f"cannot be used. {wrong}")]
        with asking.db.read() as tx:
            return ask(tx, asking, visit, errors)
    with asking.db.read() as tx:
        samples = campaigns.samples(tx, listed.campaign)
    return page(
        "campaign_listed.html",
        asking,
        visit=visit,
        listed=listed,
        columns=columns,
        samples=samples,
        path=f"{visit.home}/campaigns/{campaigns.text_id(listed.campaign)}",
    )


def _stored(asking: PageRequest, visit: Visit) -> tuple[campaigns.Listed, tuple[str, ...]]:
    """Returns what became of the file's lines, and its columns. Raises InvalidRequest and
    StorageQuotaReached.
    """
    body: dict[str, Any] = dict(body_of(asking))
    mode = choice_of("mode", body.pop("mode", visit.mode), visit.modes)
    country, phone_column = body.pop("country_code", None), body.pop("phone_column", None)
    message = lines_of(body["message"]) if "message" in body else None
    wanted = campaigns.read_campaign_request({**body, "message": message, "audience": "numbers"})
    try:
        dialled_in = None if country is None else read_country(country)
    except ValueError as error:
        raise refused("country_code", str(error)) from error
    if not asking.sent.file:
        raise refused("file", "is required, and must not be empty")
    numbers = campaigns.Numbers(
        TextIOWrapper(BytesIO(asking.sent.file), encoding="utf-8", newline=""),
        dialled_in,
        visit.account.country_code,
        phone_column,
    )
    listed = campaigns.create_listed(
        asking.db,
        visit.account.id,
        wanted,
        numbers,
        sandbox=mode == "sandbox",
        most=NUMBERS_MAX,
    )
    with asking.db.write() as tx:  # after several transactions, the first of which may refuse it
        record = campaigns.text_id(listed.campaign)
        visit.audit(tx, asking, "campaign.write", record, listed.campaign.name)
    return listed, numbers.columns
