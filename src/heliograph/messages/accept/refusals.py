"""Explains refusals of a send that its client can mend: a sender that is not approved, and
recipients none of which can be sent to. It is pure.
"""

from collections.abc import Sequence
from typing import Final

from heliograph.base.errors import Forbidden, InvalidRequest
from heliograph.base.short_texts import invalid_field
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.response import RejectedRecipient

REJECTED_REPORTED_MAX: Final = 100  # as many as an answer names of bad fields
INTERNATIONAL: Final = "international digits such as 233201234567"


class NoValidRecipient(InvalidRequest):
    """None of the recipients can be sent to."""

    reason = "no_valid_recipient"


class SandboxOnly(Forbidden):
    """This account is in sandbox only, until whoever runs this service lets it go live."""

    reason = "sandbox_only"


class SenderNotApproved(InvalidRequest):
    """The sender is not approved for this account."""

    reason = "sender_not_approved"


def not_transactional() -> InvalidRequest:
    """Returns the refusal of a transactional text of an account that may not send any."""
    return invalid_field(
        "transactional",
        "must be false or left out, not true: whoever runs this service has not allowed this"
        " account to send to those who have opted out",
    )


def no_valid_recipient(
    request: SendRequest, rejected: Sequence[RejectedRecipient]
) -> NoValidRecipient:
    """Returns the refusal of a send none of whose recipients is left. `rejected` holds
    all of them, in their order; it is not empty.
    """
    first = rejected[0]
    phone = request.phones[first.place]
    country = None if phone is None else phone.country_code
    detail = {
        "invalid_number": _not_a_number(request.country_code),
        "country_not_allowed": (
            f"is a number of {country or 'no country'}, and this account may not send there"
        ),
        "no_route": "has no route: the operator has connected no carrier for such numbers",
        "no_rate": "has no rate: the operator has set no price for such numbers",
        "opted_out": "has opted out of these texts",
    }.get(first.reason, f"cannot be sent to ({first.reason})")
    more = (
        f" {len(rejected) - 1} more cannot be sent to either; error.rejected has them."
        if len(rejected) > 1
        else ""
    )
    named = [each.as_record() for each in rejected[:REJECTED_REPORTED_MAX]]
    return NoValidRecipient(
        f"None of the recipients can be sent to. The first, {first.recipient!r}, {detail}.{more}",
        rejected=named,
    )


def _not_a_number(country_code: str | None) -> str:
    if country_code is None:
        return (
            f"is not a phone number in {INTERNATIONAL}; for numbers as they are dialled in a"
            " country give countryCode, such as GH"
        )
    return f"is not a phone number of {country_code} (countryCode), nor one in {INTERNATIONAL}"
