"""Reads which messages a list is asked for (docs/api.md, "Reports"). The API and the portal read
it in the same way.
"""

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_span
from heliograph.messages.accept.request import REFERENCE_MAX
from heliograph.messages.groups import group_of
from heliograph.messages.read.message import CAMPAIGN_PREFIX, SEND_PREFIX
from heliograph.messages.read.report_page import NO_SEND, Filters
from heliograph.messages.tables import SEND_TYPES, STATUSES
from heliograph.text import parse_phone


def read_filters(query: Query, home_country: str) -> Filters:
    """Reads all filters but the campaign. `home_country` is the country by which a number with a
    leading 0 is read. What is wrong is added to the query's errors.
    """
    send_id = query.text("send_id")
    return Filters(
        send_id=(None if send_id is None else ids.raw_of_text(SEND_PREFIX, send_id) or NO_SEND),
        status=query.choice("status", STATUSES),
        type=query.choice("type", SEND_TYPES),
        sender=query.text("sender"),
        recipient=_recipient(query, home_country),
        reference=query.text("reference", most=REFERENCE_MAX),
        span=read_span(query),
    )


def _recipient(query: Query, home_country: str) -> int | None:
    value = query.text("recipient")
    if value is None:
        return None
    phone = parse_phone(value, None, home_country)
    if phone is None:
        query.errors.append(
            FieldError(
                "recipient",
                "must be a phone number in international digits such as 233201234567, not"
                f" {quote_value(value)}",
            )
        )
        return None
    return int(phone.digits)


def campaign_of(tx: Connection, account_id: str, campaign_id: str, *, sandbox: bool) -> int:
    """Returns the group of a campaign's messages. Raises NotFound."""
    group_id = group_of(
        tx, account_id, ids.raw_of_text(CAMPAIGN_PREFIX, campaign_id), sandbox=sandbox
    )
    if group_id is None:
        raise NotFound("There is no such campaign.")
    return group_id
