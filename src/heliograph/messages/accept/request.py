"""Reads the body of POST /sms/send and checks its form: the first of its two steps. It needs no
database.
"""

from typing import Any, Final, NamedTuple

import msgspec

from heliograph.base.errors import FIELDS_REPORTED_MAX, FieldError
from heliograph.base.forms import BadParts, Form, as_text, quote_value
from heliograph.base.unknown_fields import SENDING
from heliograph.keys import CUSTOMER_ID_MAX
from heliograph.messages.states import VALIDITY_DEFAULT_S, VALIDITY_S
from heliograph.text import SEGMENTS_MAX, Phone, count_segments, parse_phones, read_country

RECIPIENTS_PER_SEND_MAX: Final = 10_000  # keeps one transaction around 100 ms
# ten GSM-7 segments of 153; every longer text has more than ten segments
TEXT_CHARACTERS_MAX: Final = 1_530
UCS_2_CHARACTERS_MAX: Final = 670  # ten segments of 67
REFERENCE_MAX: Final = 128
# characters: an id has half of them, so that a wrong id is seldom refused for its length
_TEXT_ID_MAX: Final = 64
# characters of a string that is not a number, as `rejected` repeats it: a number has 15
RECIPIENT_SHOWN_MAX: Final = 40


class AnsweredText(NamedTuple):
    """Names a text from a handset by its raw id. `helped` is the phone (E.164 digits) that has
    asked for help by it lately, so that an answer reaches it also if it has opted out.
    """

    id: str
    helped: str | None = None


class SendRequest(msgspec.Struct):
    """Holds a send as the client asked for it. `phones[i]` belongs to `recipients[i]`, and is None
    if that is not a valid number.
    """

    number: int  # the send's id, fixed here: the same one if its transaction has to be run again
    account_id: str  # whose send it is: the key's, or its customer's
    key_account_id: str  # the key's: Idempotency-Keys are counted by it
    sandbox: bool
    sender: str
    text: str
    encoding: str
    segments: int
    recipients: list[str]
    phones: list[Phone | None]
    reference: str | None
    validity_s: int
    dry_run: bool
    warnings: list[str]
    type: str = "sms"
    idempotency_key: str | None = None
    body_sha256: bytes = b""
    path: str = "POST /sms/send"
    sender_is_ours: bool = False  # the service's own, which no account has to have approved
    customer_id: str | None = None
    country_code: str | None = None  # as it was given: numbers without + or 00 are read in it
    group_id: int | None = None
    goes_ahead: bool = False  # it stands before all bulk
    transactional: bool = False  # the client says that it may go to people who have opted out
    passes_opt_outs: bool = False  # it goes to people who have opted out, too
    # raw; whose wallet is locked as well, for a send that counts for a partner and its customers
    # together
    partner_id: str | None = None
    in_reply_to: str | None = None  # the inbound text that it answers, in text form
    answers_id: str | None = None  # the same, raw, once it is known to be the account's
    answers_help: bool = False  # it goes to the phone that has asked for help by that text lately
    outlives_opt_outs: bool = False  # no opt-out that comes while it waits withdraws it


def read_send_request(
    body: dict[str, Any],
    number: int,
    account_id: str,
    *,
    sandbox: bool,
    home_country: str | None = None,
) -> SendRequest:
    """Reads the body of POST /sms/send (docs/api.md, "Sending"). `home_country` is the account's
    country, by which a number with a leading 0 is read when no country is given. Raises
    InvalidRequest for all bad fields together.
    """
    form = Form(body, costly=SENDING)
    sender = form.text("sender", "from", required=True, most=64)
    text = form.value("message", "body", read=_text, required=True)
    recipients = form.value("recipients", "to", read=_recipients, required=True)
    country_code = form.value("countryCode", "country_code", read=read_country)
    reference = form.text("reference", most=REFERENCE_MAX)
    validity_s = form.integer("validity_s", least=VALIDITY_S[0], most=VALIDITY_S[1])
    max_segments = form.integer("max_segments", least=1, most=SEGMENTS_MAX)
    dry_run = form.boolean("dry_run")
    transactional = form.boolean("transactional")
    customer_id = form.text("customer_id", most=CUSTOMER_ID_MAX)
    in_reply_to = form.text("in_reply_to", most=_TEXT_ID_MAX)
    if in_reply_to is not None and recipients is not None and len(recipients) > 1:
        form.refuse("in_reply_to", f"is for one recipient, not for {len(recipients)}")
    encoding, segments = _count_segments(form, text or "", max_segments or SEGMENTS_MAX)
    form.finish()
    assert sender is not None
    assert text is not None
    assert recipients is not None
    phones = parse_phones(recipients, country_code, home_country)
    return SendRequest(
        number,
        account_id,
        account_id,
        sandbox=sandbox,
        sender=sender,
        text=text,
        encoding=encoding,
        segments=segments,
        recipients=recipients,
        phones=phones,
        reference=reference,
        validity_s=validity_s or VALIDITY_DEFAULT_S,
        dry_run=dry_run,
        warnings=form.warnings(),
        customer_id=customer_id,
        country_code=country_code,
        in_reply_to=in_reply_to,
        transactional=transactional,
        passes_opt_outs=transactional,
    )


def answer_to(request: SendRequest, text: AnsweredText) -> None:
    """Notes in a send which text it answers, and whether it helps whoever wrote that."""
    request.answers_id = text.id
    request.answers_help = text.helped is not None and [text.helped] == [
        phone and phone.digits for phone in request.phones
    ]


def _text(value: Any) -> str:
    if text := as_text(value):
        return text
    raise ValueError(
        f"must have 1 character to {SEGMENTS_MAX} segments ({TEXT_CHARACTERS_MAX} characters of the"
        f" GSM alphabet, {UCS_2_CHARACTERS_MAX} with any other), not 0"
    )


def _count_segments(form: Form, text: str, segments_max: int) -> tuple[str, int]:
    """Returns encoding and segments. Too many segments are a fault like others of the body, so
    that all faults are told together.
    """
    encoding, segments = count_segments(text)
    if segments > segments_max:
        form.refuse(
            "message",
            f"takes {segments} segments; allowed: {segments_max}",
            reason="too_many_segments",
        )
    return encoding, segments


def _recipients(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise ValueError(f"must be a string or an array of strings, not {quote_value(value)}")
    if not 1 <= len(value) <= RECIPIENTS_PER_SEND_MAX:
        raise ValueError(f"must have 1 to {RECIPIENTS_PER_SEND_MAX} elements, not {len(value)}")
    bad = [index for index, element in enumerate(value) if type(element) is not str]
    if bad:
        errors = [
            FieldError(f"[{index}]", f"must be a string, not {quote_value(value[index])}")
            for index in bad[:FIELDS_REPORTED_MAX]
        ]
        raise BadParts(errors, more=len(bad) - len(errors))
    return value
