"""Other APIs, and people, have other names for our fields. The error for a missing field uses
them to say what was sent in its place. A mistyped name of anything else is compared with those
that exist, to say which was probably meant.
"""

from collections.abc import Iterable, Mapping
from heapq import nsmallest
from typing import Final

from heliograph.base.unknown_fields import nearest

_PHONE: Final = (
    "phonenumber",
    "mobile",
    "mobilenumber",
    "msisdn",
    "number",
    "tel",
    "telephone",
    "destination",
    "dest",
    "tonumber",
    "tonumbers",
)

# By our name. A sent name is compared without case, `_` and `-`: `sender_id` is `senderid`.
COMPARED_MAX: Final = 100  # unknown names that are compared letter by letter
# on a scale of likeness from 0 to 1: a name that is less like it than the nearest one by more than
# this is not meant
_AS_NEAR: Final = 0.1
NAME_MAX: Final = 24  # characters of a name that is compared; those below are shorter
NEAR_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "message": ("text", "body", "content", "msg", "sms", "messagetext", "messagebody", "smstext"),
    "sender": (
        "senderid",
        "sendername",
        "from",
        "fromnumber",
        "source",
        "originator",
        "value",
        "name",
    ),
    "recipients": (
        "recipient",
        "to",
        "phone",
        "phones",
        "numbers",
        "phonenumbers",
        "destinations",
        "contacts",
        *_PHONE,
    ),
    "phone": ("to", "recipient", "recipients", "phones", *_PHONE),
    "code": (
        "otp",
        "otpcode",
        "pin",
        "pincode",
        "token",
        "passcode",
        "verificationcode",
        "verifycode",
    ),
    "full_name": ("fullname", "name", "customername", "firstname"),
    "country_code": ("countrycode", "country", "region"),
    "credits": ("smscredits", "amount", "units", "quantity"),
    "event": ("eventtype", "eventname", "type"),
    "payload": ("data", "body", "content"),
}


def probable_names(missing: Iterable[str], unknown: Iterable[str]) -> dict[str, str]:
    """Returns, by the missing fields of a body, which of its unknown names probably means each: the
    same one in another spelling (`fullName`), or else the first of those that are listed here, or
    else one that is an edit away.
    """
    missing, found = (
        list(missing),
        {_fold(each): each for each in unknown if len(each) <= NAME_MAX},
    )
    near = {
        name: next(
            (found[other] for other in (_fold(name), *NEAR_NAMES.get(name, ())) if other in found),
            None,
        )
        for name in missing
    }
    compared = nsmallest(COMPARED_MAX, found.values())
    slips = {
        wanted: sent
        for sent in reversed(compared)
        if (wanted := nearest(sent, tuple(missing))) is not None
    }
    return slips | {name: sent for name, sent in near.items() if sent is not None}


def nearest_names(typed: str, known: Iterable[str]) -> list[str]:
    """Returns the nearest of the known names, and those that are about as near; none when
    all are far away.
    """
    from difflib import SequenceMatcher, get_close_matches  # only for a mistyped name

    found = get_close_matches(typed, known)
    # in this order, as difflib compares them
    likeness = [SequenceMatcher(None, name, typed).ratio() for name in found]
    return [
        name for name, like in zip(found, likeness, strict=True) if like > likeness[0] - _AS_NEAR
    ]


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").removesuffix("[]").lower()
