"""Reads the bodies of POST /otp/send and /otp/verify, and checks their form. It needs no
database.
"""

from typing import Any, Final, NamedTuple

from heliograph.base.forms import Form, as_text, quote_value
from heliograph.base.unknown_fields import CODE, COUNTRY, PAYER, SENDER, SENDING, TEXT
from heliograph.keys import CUSTOMER_ID_MAX
from heliograph.otp.code import DIGITS
from heliograph.otp.other_country import is_as_dialled
from heliograph.text import Phone, count_segments, parse_phone, read_country

PLACE: Final = "{code}"  # of the code in a text
CODE_MAX: Final = 64  # characters: what cannot be a code is a wrong one, within reason
SENDER_MAX: Final = 64  # as POST /sms/send reads it; an approved one has 15 at most
# What people, and programs that show and copy codes, put between digits: spaces of several widths,
# hyphens and dashes, points.
_BETWEEN_DIGITS: Final = dict.fromkeys(
    map(ord, " -.\t\r\n\u00a0\u00b7\u2007\u2009\u200b\u202f\u2010\u2011\u2012\u2013\u2014\u2212")
)
ANY_CODE: Final = "0" * DIGITS  # digits all take one septet or one unit
DEFAULT_TEXT: Final = "{code} is your {name} verification code. It expires in 5 minutes."
NAMELESS_TEXT: Final = "{code} is your verification code. It expires in 5 minutes."


class OtpSendRequest(NamedTuple):
    """Holds a body of POST /otp/send that is right in form. If `sender` or `text` is None, it is
    the account's own. `text` holds PLACE once.
    """

    phone: Phone
    sender: str | None
    text: str | None
    customer_id: str | None
    warnings: list[str]


class OtpVerifyRequest(NamedTuple):
    """Holds a body of POST /otp/verify that is right in form."""

    # as it is read; None: it is no number so, but may be one where something was sent
    phone: Phone | None
    # the phone as it was given, where it may be written as in some other country
    as_dialled: str | None
    code: str
    customer_id: str | None
    warnings: list[str]


def read_otp_send_request(body: dict[str, Any], home_country: str | None = None) -> OtpSendRequest:
    """Reads the body of POST /otp/send (docs/api.md, "One-time passwords"). `home_country` is the
    account's country. Raises InvalidRequest for all bad fields together.
    """
    form = Form(body, costly=(*SENDING, CODE, TEXT, SENDER))
    phone = _read_phone(form, home_country)
    sender = form.text("sender", "from", most=SENDER_MAX)
    text = form.value("message", "body", read=_text)
    if (
        text is not None
        and (segments := count_segments(text.replace(PLACE, ANY_CODE)).segments) > 1
    ):
        form.refuse(
            "message",
            f"takes {segments} segments with the code in it; allowed: 1",
            reason="too_many_segments",
        )
    customer_id = form.text("customer_id", most=CUSTOMER_ID_MAX)
    form.finish()
    assert phone is not None
    return OtpSendRequest(phone, sender, text, customer_id, form.warnings())


def read_otp_verify_request(
    body: dict[str, Any], home_country: str | None = None
) -> OtpVerifyRequest:
    """Reads the body of POST /otp/verify (docs/api.md, "One-time passwords"). `home_country` is the
    account's country. Raises InvalidRequest for all bad fields together.
    """
    form = Form(body, costly=(COUNTRY, PAYER))
    phone, as_dialled = _read_phone_given_back(form, home_country)
    code = form.text("code", required=True, most=CODE_MAX)
    customer_id = form.text("customer_id", most=CUSTOMER_ID_MAX)
    if phone is None and as_dialled is not None and form.errors:
        form.refuse("phone", no_phone(as_dialled))
    form.finish()
    assert code is not None
    return OtpVerifyRequest(phone, as_dialled, read_code(code), customer_id, form.warnings())


def read_code(given: str) -> str:
    """Returns the digits of a code that somebody wrote in groups, or copied with spaces around it;
    what is not a code stays as it is.
    """
    digits = given.translate(_BETWEEN_DIGITS)
    return digits if len(digits) == DIGITS and digits.isascii() and digits.isdigit() else given


def default_text(name: str) -> str:
    """Returns the text of an account that gives none, with PLACE in it; the account's name is
    shortened so that it fits one segment.
    """
    for length in range(len(name), 0, -1):
        shortened = name[:length].rstrip()
        text = DEFAULT_TEXT.replace(
            "{name}", shortened if length == len(name) else f"{shortened}..."
        )
        if text.count(PLACE) == 1 and count_segments(text.replace(PLACE, ANY_CODE)).segments == 1:
            return text
    return NAMELESS_TEXT


def _read_phone(form: Form, home_country: str | None) -> Phone | None:
    """Reads a phone as POST /sms/send reads its numbers. It is the only one here, so an invalid
    number is a bad field.
    """
    country_code = form.value("countryCode", "country_code", read=read_country)

    def read(value: Any) -> Phone:
        phone = parse_phone(as_text(value), country_code, home_country)
        if phone is None:
            raise ValueError(no_phone(value))
        return phone

    return form.value("phone", read=read, required=True)


def _read_phone_given_back(form: Form, home_country: str | None) -> tuple[Phone | None, str | None]:
    """Returns the phone as `_read_phone` reads it; and as it was given, where a country that was
    given to /otp/send may be missing.
    """
    country_code = form.value("countryCode", "country_code", read=read_country)

    def read(value: Any) -> tuple[Phone | None, str | None]:
        text = as_text(value)
        phone = parse_phone(text, country_code, home_country)
        as_dialled = text if country_code is None and is_as_dialled(text) else None
        if phone is None and as_dialled is None:
            raise ValueError(no_phone(value))
        return phone, as_dialled

    return form.value("phone", read=read, required=True) or (None, None)


def no_phone(given: Any) -> str:
    """Returns what is wrong with an invalid phone, in words that go on after the field's name."""
    return (
        "must be a phone number, in international digits such as 233201234567 or with countryCode,"
        f" not {quote_value(given)}"
    )


def _text(value: Any) -> str:
    text = as_text(value)
    if text.count(PLACE) != 1:
        raise ValueError(f"must contain {PLACE} exactly once, not {text.count(PLACE)} times")
    return text
