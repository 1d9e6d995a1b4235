"""The form that writes a campaign down."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import campaigns
from heliograph.base.errors import FieldError
from heliograph.campaigns import Campaign
from heliograph.portal.campaign_pages.campaigns import of_account
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, page
from heliograph.portal.visit import MODES, Visit
from heliograph.users import Right

AUDIENCES: Final = ("all", "tags")
FIELDS: Final = ("name", "sender", "message", "audience", "tags")


def new(
    tx: Connection, asking: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form. Its mode decides which senders it offers. With `from` in the query, it is
    filled in like that campaign.
    """
    visit.require(tx, Right.CAMPAIGNS)
    modes = visit.modes
    query = dict(asking.sent.query)
    like = _like(of_account(tx, query["from"], visit)) if query.get("from") else {}
    typed = {"audience": "all", "mode": query.get("mode", visit.mode), **like, **asking.sent.form}
    mode = typed["mode"] if typed["mode"] in modes else visit.mode
    return page(
        "campaign_new.html",
        asking,
        status=400 if errors else 200,
        visit=visit,
        typed=typed,
        errors={_of_form(error.field): error.message for error in errors},
        others=[error for error in errors if _of_form(error.field) not in FIELDS],
        mode=mode,
        modes=modes,
        senders=campaigns.senders_for(tx, visit.account.id, sandbox=mode == "sandbox"),
    )


def write_down(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Stores a draft, as `campaign create` does, and shows it. Nothing is sent yet."""
    body: dict[str, Any] = dict(body_of(asking))
    mode = choice_of("mode", body.pop("mode", visit.mode), MODES)
    audience = choice_of("audience", body.get("audience", "all"), AUDIENCES)
    wanted = campaigns.read_campaign_request(
        {
            **body,
            "audience": audience,
            "message": _lines(body["message"]) if "message" in body else None,
            "tags": _tags(body.get("tags", "")),
        }
    )
    campaign = campaigns.create(
        tx, visit.account.id, wanted, sandbox=mode == "sandbox", now_ms=asking.now_ms
    )
    visit.audit(tx, asking, "campaign.write", campaigns.text_id(campaign), campaign.name)
    return RedirectResponse(
        f"{visit.home}/campaigns/{campaigns.text_id(campaign)}", SEE_OTHER, HEADERS
    )


def _like(campaign: Campaign) -> dict[str, str]:
    """Returns how the form is filled in for a campaign like this one."""
    return {
        "mode": "sandbox" if campaign.sandbox else "live",
        "name": campaign.name,
        "sender": campaign.sender,
        "message": campaign.text,
        "audience": "tags" if campaign.audience.tags else "all",
        "tags": "\n".join(campaign.audience.tags),
    }


def _lines(text: str) -> str:
    """Returns a text with its line breaks as they are sent: a browser adds a carriage return to
    each.
    """
    return text.replace("\r\n", "\n")


def _tags(text: str) -> list[str] | None:
    """Returns the tags that stand in the lines of a field."""
    return [line.strip() for line in text.splitlines() if line.strip()] or None


def _of_form(field: str) -> str:
    """Returns the field of the form that an error belongs to, such as `tags` for `tags[0]`."""
    return field.partition("[")[0]
