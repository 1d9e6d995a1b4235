"""POST /sms/send, first half: from a body to a request that is right in form. Needs no database."""

from dataclasses import dataclass, field
from typing import Any, Final

from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Form, shown
from heliograph.text import SEGMENTS_MAX, Phone, count_segments, country, parse_phones

RECIPIENTS_PER_SEND_MAX: Final = 10_000  # keeps one transaction around 100 ms
TEXT_CHARACTERS_MAX: Final = 1_530  # ten GSM-7 segments of 153; every longer text has more than ten segments
VALIDITY_DEFAULT_S: Final = 86_400
VALIDITY_S: Final = (60, 172_800)
REFERENCE_MAX: Final = 128
RECIPIENT_SHOWN_MAX: Final = 64  # characters of a string that is no number, as `rejected` repeats it
BAD_ELEMENTS_MAX: Final = 100


@dataclass(slots=True)
class SendRequest:
    """A send as its client asked for it. `phones[i]` belongs to `recipients[i]`; None: no valid number."""

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
    customer_id: str | None = field(default=None)


def read_send(body: dict[str, Any], number: int, account_id: str, *, sandbox: bool) -> SendRequest:
    """Reads the body of POST /sms/send (specification 2.1, contract section 6). Raises InvalidRequest for all bad fields together."""
    form = Form(body)
    sender = form.text("sender", "from", required=True, most=64)
    text = form.text("message", required=True, most=1 << 20)
    recipients = form.value("recipients", "to", read=_recipients, required=True)
    country_code = form.value("countryCode", "country_code", read=_country)
    reference = form.text("reference", most=REFERENCE_MAX)
    validity_s = form.integer("validity_s", least=VALIDITY_S[0], most=VALIDITY_S[1])
    max_segments = form.integer("max_segments", least=1, most=SEGMENTS_MAX)
    dry_run = form.boolean("dry_run")
    customer_id = form.text("customer_id", most=64)
    if isinstance(recipients, list):
        form.errors += _bad_elements(recipients)
    form.finish()
    assert sender is not None
    assert text is not None
    assert recipients is not None
    encoding, segments = count_segments(text)
    _check_segments(segments, max_segments)
    phones = parse_phones(recipients, country_code)
    return SendRequest(number, account_id, account_id, sandbox, sender, text, encoding, segments, recipients, phones, reference,
                       validity_s or VALIDITY_DEFAULT_S, dry_run, form.warnings(), customer_id=customer_id)


def _recipients(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise ValueError(f"must be a string or an array of strings, not {shown(value)}")
    if not 1 <= len(value) <= RECIPIENTS_PER_SEND_MAX:
        raise ValueError(f"must have 1 to {RECIPIENTS_PER_SEND_MAX} elements, not {len(value)}")
    return value


def _bad_elements(recipients: list[Any]) -> list[FieldError]:
    bad = [index for index, element in enumerate(recipients) if type(element) is not str]
    return [FieldError(f"recipients[{index}]", f"must be a string, not {shown(recipients[index])}") for index in bad[:BAD_ELEMENTS_MAX]]


def _country(value: Any) -> str:
    found = country(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"must be an ISO 3166-1 alpha-2 code such as GH, not {shown(value)}")
    return found


def _check_segments(segments: int, max_segments: int | None) -> None:
    allowed = max_segments or SEGMENTS_MAX
    if segments > allowed:
        message = f"takes {segments} segments; allowed: {allowed}"
        raise InvalidRequest(f"message {message}.", reason="too_many_segments", fields=[FieldError("message", message)])
