"""What other APIs, and people, call the fields of ours: for the error that says that a field is missing."""

from collections.abc import Iterable, Mapping
from typing import Final

_PHONE: Final = ("phonenumber", "mobile", "mobilenumber", "msisdn", "number", "tel", "telephone", "destination", "dest")

# By our name. A sent name is compared without case, `_` and `-`: `sender_id` is `senderid`.
NAME_MAX: Final = 24  # characters of a name that is compared; those below are shorter
NEAR_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "message": ("text", "body", "content", "msg", "sms", "messagetext", "messagebody", "smstext"),
    "sender": ("senderid", "sendername", "from", "fromnumber", "source", "originator", "value", "name"),
    "recipients": ("recipient", "to", "phone", "phones", "numbers", "phonenumbers", "destinations", "contacts", *_PHONE),
    "phone": ("to", "recipient", "recipients", "phones", *_PHONE),
    "code": ("otp", "otpcode", "pin", "pincode", "token", "passcode", "verificationcode", "verifycode"),
    "full_name": ("fullname", "name", "customername", "firstname"),
    "country_code": ("countrycode", "country", "region"),
    "credits": ("smscredits", "amount", "units", "quantity"),
    "event": ("eventtype", "eventname", "type"),
    "payload": ("data", "body", "content"),
}  # fmt: skip


def sent_instead(missing: Iterable[str], unknown: Iterable[str]) -> dict[str, str]:
    """Returns, by the missing fields of a body, which of its unknown names probably means each: the same one in another spelling (`fullName`), or
    else the first of those that are listed here."""
    found = {_folded(each): each for each in unknown if len(each) <= NAME_MAX}
    near = {name: next((found[other] for other in (_folded(name), *NEAR_NAMES.get(name, ())) if other in found), None) for name in missing}
    return {name: sent for name, sent in near.items() if sent is not None}


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
