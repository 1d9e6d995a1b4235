"""Checks that a sender ID has an allowed form (docs/api.md, "Sender IDs")."""

import re
from typing import Final

from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field

SANDBOX: Final = "SANDBOX"  # a sandbox send may always come from it

# Every allowed character is in the GSM default alphabet, so that 11 of them fit the 11 septets of
# an alphanumeric address (3GPP TS 23.040, 9.1.2.5).
_LETTERS: Final = re.compile(r"(?! )(?=.*[A-Za-z])[A-Za-z0-9 \-_&.]{3,11}(?<! )", re.ASCII)
_DIGITS: Final = re.compile(r"\+?([0-9]{3,15})", re.ASCII)
_ALLOWED: Final = (
    "must have 3 to 11 of A-Z, a-z, 0-9, space, -, _, & and . with a letter among them and no space"
    " at either end, or be 3 to 15 digits; not "
)


def check(sender: str) -> str:
    """Returns the sender as it is stored and sent: a `+` before digits is dropped. Raises
    InvalidRequest.
    """
    if digits := _DIGITS.fullmatch(sender):
        return digits[1]
    if _LETTERS.fullmatch(sender):
        return sender
    raise invalid_field("sender", _ALLOWED + quote_value(sender))


def fold(sender: str) -> str:
    """Returns the form by which two senders are compared: senders that differ only in case are
    one.
    """
    return sender.lower()
