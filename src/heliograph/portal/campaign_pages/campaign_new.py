"""Shows the form that writes a campaign down. While the text is typed, it shows what recipients
would get.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import campaigns
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.campaigns import Campaign, previews
from heliograph.portal.campaign_pages.campaigns import of_account
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.form_idempotency import redirect_once
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page, redirect
from heliograph.portal.send import usual_sender
from heliograph.portal.visit import MODES, Visit
from heliograph.users import Right

AUDIENCES: Final = ("all", "tags")
FIELDS: Final = ("name", "sender", "message", "audience", "tags")
FIELDS_OF_FILE: Final = ("phone_column", "country_code")  # kept for who goes back to that form
SHOW_MODE: Final = "show_mode"  # the name of buttons: the mode that the form is to be shown in


class TextPreview(NamedTuple):
    """Shows what the first recipients would get, or says what is `wrong` with the text."""

    samples: list[previews.SampleText]
    wrong: str | None = None


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form. Its mode decides which senders it offers. With `from` in the query, it is
    filled in like that campaign. If that one goes to the numbers of a file, it leads to the form
    that takes a file instead: this one is for contacts.
    """
    visit.require(tx, Right.CAMPAIGNS)
    modes = visit.modes
    query = dict(request.sent.query)
    model = campaign_alike(tx, request, visit)
    if model is not None and model.audience.kind == "numbers":
        return redirect(f"{visit.home}/campaigns/new/import?from={campaigns.text_id(model)}")
    like = fields_of(model) if model else {}
    filled_in = {**like, **request.sent.form}
    usual = {"audience": "all", "sender": usual_sender(tx, visit) or ""}
    typed = {**usual, "mode": query.get("mode", visit.mode), **filled_in}
    typed["audience"] = typed["audience"] or usual["audience"]  # not chosen yet, beside a file
    mode = typed["mode"] if typed["mode"] in modes else visit.mode
    senders = campaigns.senders_for(tx, visit.account.id, sandbox=mode == "sandbox")
    if typed["sender"] not in senders:  # it is one of the other mode
        typed["sender"] = usual["sender"]
    if like:  # it is previewed as if it had been typed
        request = request._replace(sent=request.sent._replace(form=filled_in))
    return page(
        "campaign_new.html",
        request,
        is_form_page=True,
        status=400 if errors else 200,
        visit=visit,
        preview=None if errors or not filled_in else _text_preview(tx, request, visit),
        typed=typed,
        errors={_form_field(error.field): error.message for error in errors},
        others=[error for error in errors if _form_field(error.field) not in FIELDS],
        mode=mode,
        modes=modes,
        senders=senders,
    )


def as_shown_in_mode(request: PageRequest) -> PageRequest:
    """Returns the request of a form whose button shows it in a mode, as if it had been filled in
    on the page that is shown, whose address has the mode. Raises InvalidRequest.
    """
    mode = choice_of("mode", request.sent.form[SHOW_MODE], MODES)
    form = {name: value for name, value in request.sent.form.items() if name != SHOW_MODE}
    return request._replace(
        sent=request.sent._replace(form={**form, "mode": mode}),
        page=f"{request.url_path}?mode={mode}",
    )


def show_preview(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the part of the page that shows what the first recipients would get."""
    return page(
        "campaign_preview.html", request, visit=visit, preview=_text_preview(tx, request, visit)
    )


def show_empty_preview(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError]
) -> Response:
    """Returns the part of the page that shows nothing, because a field cannot be read."""
    return page("campaign_preview.html", request, visit=visit, preview=None)


def _text_preview(tx: Connection, request: PageRequest, visit: Visit) -> TextPreview | None:
    """Returns what the first recipients would get of what is typed so far, or what is wrong with
    the text; None if there is no text, or nobody whom it is for.
    """
    try:
        mode, body = _read_form(request, visit)
        if not body["message"]:
            return None
        template, audience = campaigns.read_preview_request(body)
    except InvalidRequest as refused:
        wrong = [error.message for error in refused.fields if error.field == "message"]
        return TextPreview([], wrong[0]) if wrong else None
    wanted = previews.WantedAudience(
        visit.account.id, mode == "sandbox", audience, body.get("sender") or ""
    )
    return TextPreview(previews.samples_of(tx, template, wanted))


def store_draft(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Stores a draft, as `campaign create` does, and shows it. Nothing is sent yet. With the
    buttons that preview, or show the form in a mode, nothing is stored.
    """
    if SHOW_MODE in request.sent.form:
        return show_form(tx, as_shown_in_mode(request), visit)
    if request.sent.form.get("do") == "preview":
        return show_form(tx, request, visit)
    return redirect_once(_store_draft)(tx, request, visit)


def _store_draft(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    mode, body = _read_form(request, visit)
    wanted = campaigns.read_campaign_request(body)
    campaign = campaigns.create(
        tx, visit.account.id, wanted, sandbox=mode == "sandbox", now_ms=request.now_ms
    )
    visit.audit(tx, request, "campaign.write", campaigns.text_id(campaign), campaign.name)
    return redirect(f"{visit.home}/campaigns/{campaigns.text_id(campaign)}")


def _read_form(request: PageRequest, visit: Visit) -> tuple[str, dict[str, Any]]:
    """Returns the mode of the form, and its fields as `campaign create` has them. Raises
    InvalidRequest for what is not a choice of the form.
    """
    body: dict[str, Any] = dict(body_of(request))
    for name in (SHOW_MODE, *FIELDS_OF_FILE):
        body.pop(name, None)
    mode = choice_of("mode", body.pop("mode", visit.mode), MODES)
    return mode, {
        **body,
        "audience": choice_of("audience", body.get("audience", "all"), AUDIENCES),
        "message": lines_of(body["message"]) if "message" in body else None,
        "tags": _tags(body.get("tags", "")),
    }


def campaign_alike(tx: Connection, request: PageRequest, visit: Visit) -> Campaign | None:
    """Returns the campaign that the form is to be filled in like, if the query has one in `from`.
    Raises NotFound.
    """
    campaign_id = dict(request.sent.query).get("from")
    return of_account(tx, campaign_id, visit) if campaign_id else None


def fields_of(campaign: Campaign) -> dict[str, str]:
    """Returns how a form is filled in for a campaign like this one. The numbers of a file are no
    audience that can be chosen in a form: there, `audience` is empty.
    """
    kind = campaign.audience.kind
    return {
        "mode": "sandbox" if campaign.sandbox else "live",
        "name": campaign.name,
        "sender": campaign.sender,
        "message": campaign.text,
        "audience": kind if kind in AUDIENCES else "",
        "tags": "\n".join(campaign.audience.tags),
    }


def lines_of(text: str) -> str:
    """Returns a text with its line breaks as they are sent: a browser adds a carriage return to
    each.
    """
    return text.replace("\r\n", "\n")


def _tags(text: str) -> list[str] | None:
    """Returns the tags that stand in the lines of a field, or None if it is blank."""
    return [line.strip() for line in text.splitlines() if line.strip()] or None


def _form_field(field: str) -> str:
    """Returns the field of the form that an error belongs to, such as `tags` for `tags[0]`."""
    return field.partition("[")[0]
