"""A campaign is written down: its text, who it comes from, and whom it is for."""

from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import ids
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Form, quote_value, text_reader
from heliograph.base.short_texts import one_line
from heliograph.campaigns import states
from heliograph.campaigns.campaign import Audience, Campaign, by_id
from heliograph.campaigns.tables import NAME_MAX, campaigns
from heliograph.campaigns.template import Template, read_template
from heliograph.contacts.fields import read_tags
from heliograph.messages.groups import open_group
from heliograph.messages.states import VALIDITY_DEFAULT_S, VALIDITY_S
from heliograph.senders import approved_senders

RATE_MAX: Final = 100_000  # messages a second: beyond what one campaign is expanded at
SENDER_ASKED_MAX: Final = 64
# what is wrong with the tags of each audience
_TAGS_REFUSED: Final = {
    "tags": "must name one tag at least",
    # nobody guesses which of the two is meant: a text to all cannot be called back
    "all": "must be blank where the audience is all contacts: choose the contacts with these tags,"
    " or remove the tags",
    "numbers": "cannot be given with the audience numbers",
}


class CampaignRequest(NamedTuple):
    """Holds a campaign as it was asked for, right in form. `rate` is how many messages a second are
    sent at most; None means as fast as carriers take them.
    """

    name: str
    sender: str
    template: Template
    audience: Audience
    validity_s: int = VALIDITY_DEFAULT_S
    rate: int | None = None


def read_campaign_request(body: dict[str, Any]) -> CampaignRequest:
    """Reads `name`, `sender`, `message`, `audience` (all, tags or numbers), `tags`, `validity_s`
    and `rate`.

    Raises InvalidRequest for all bad fields together.
    """
    form = Form(body)
    name = form.value(
        "name", read=text_reader(lambda text: one_line("name", text, most=NAME_MAX)), required=True
    )
    sender = form.text("sender", required=True, most=SENDER_ASKED_MAX)
    template = form.value("message", read=read_template, required=True)
    audience = _read_audience(form, has_tags=bool(body.get("tags")))
    validity_s = form.integer("validity_s", least=VALIDITY_S[0], most=VALIDITY_S[1])
    rate = form.integer("rate", least=1, most=RATE_MAX)
    form.finish()
    assert name is not None
    assert sender is not None
    assert template is not None
    assert audience is not None
    return CampaignRequest(
        name,
        sender,
        template,
        audience,
        validity_s or VALIDITY_DEFAULT_S,
        rate,
    )


def read_preview_request(body: dict[str, Any]) -> tuple[Template, Audience]:
    """Reads the fields `message`, `audience` and `tags` of a campaign that is still being written.

    Raises InvalidRequest for all bad fields together.
    """
    form = Form(body)
    template = form.value("message", read=read_template, required=True)
    audience = _read_audience(form, has_tags=bool(body.get("tags")))
    form.finish()
    assert template is not None
    assert audience is not None
    return template, audience


def _read_audience(form: Form, *, has_tags: bool) -> Audience | None:
    """Reads `audience` and `tags`, which belong together; None if they are refused."""
    audience_kind = form.value("audience", read=_kind, required=True)
    tags = form.value("tags", read=read_tags) or ()
    if audience_kind is None:
        return None
    if (audience_kind == "tags") != has_tags:
        form.refuse("tags", _TAGS_REFUSED[audience_kind])
        return None
    return Audience(audience_kind, tags, whole=audience_kind != "numbers")


def create(
    tx: Connection, account_id: str, request: CampaignRequest, *, sandbox: bool, now_ms: int
) -> Campaign:
    """Stores a draft. Of a campaign to numbers it is the head: `from_file.py` writes the numbers
    down.

    Raises InvalidRequest for a sender that is not approved for this account and mode, and for a
    live campaign of an account that is in sandbox only.
    """
    accounts.require_mode(accounts.by_id(tx, account_id), sandbox=sandbox)
    wrong = _wrong_sender(tx, account_id, request.sender, sandbox=sandbox)
    if wrong is not None:
        raise InvalidRequest(
            f"sender {wrong}.",
            reason=states.SENDER_NOT_APPROVED,
            fields=[FieldError("sender", wrong)],
        )
    campaign_id = ids.raw_of_number(ids.new_number(now_ms))
    group_id = open_group(tx, account_id, campaign_id, sandbox=sandbox)
    tx.execute(
        sa.insert(campaigns).values(
            id=campaign_id,
            group_id=group_id,
            account_id=account_id,
            sandbox=sandbox,
            name=request.name,
            sender=request.sender,
            text=request.template.source,
            audience=encode_audience(request.audience),
            validity_s=request.validity_s,
            rate=request.rate,
            status=states.CAMPAIGN.begun_as(states.DRAFT),
            as_far_as_credits_reach=False,
            recipients_total=0,
            opted_out=0,
            refused=0,
            cursor=0,
            expanded=False,
            created_at_ms=now_ms,
        )
    )
    return by_id(tx, campaign_id)


def require_sender(tx: Connection, account_id: str, sender: str, *, sandbox: bool) -> None:
    """Checks that an account may send from this sender. Raises InvalidRequest
    (`sender_not_approved`).
    """
    wrong = _wrong_sender(tx, account_id, sender, sandbox=sandbox)
    if wrong is not None:
        raise InvalidRequest(f"sender {wrong}.", reason=states.SENDER_NOT_APPROVED)


def senders_for(tx: Connection, account_id: str, *, sandbox: bool) -> list[str]:
    """Returns the senders that a campaign of this account and mode may come from."""
    from heliograph.messages.accept import SANDBOX_SENDER

    approved = approved_senders(tx, [account_id]).get((account_id, sandbox), {})
    return sorted({*approved.values(), *([SANDBOX_SENDER] if sandbox else [])})


def _wrong_sender(tx: Connection, account_id: str, sender: str, *, sandbox: bool) -> str | None:
    """Returns what is wrong with a sender, if anything is."""
    from heliograph.messages.accept import approved_sender

    approved = approved_senders(tx, [account_id]).get((account_id, sandbox), {})
    if approved_sender(sender, approved, sandbox=sandbox) is not None:
        return None
    usable = ", ".join(sorted(approved.values())) or "none"
    return (
        f"must be one that is approved for this account and mode ({usable}), not"
        f" {quote_value(sender)}"
    )


def encode_audience(audience: Audience) -> str:
    """Returns an audience as the column `audience` holds it."""
    stored = audience._asdict()
    if not audience.landmarks:
        del stored["size"], stored["landmarks"]
    del stored["file"]
    if audience.file is not None:
        stored["file"] = audience.file._asdict()
    return msgspec.json.encode(stored).decode()


def _kind(value: Any) -> str:
    if value not in ("all", "tags", "numbers"):
        raise ValueError(f"must be all, tags or numbers, not {quote_value(value)}")
    return str(value)
