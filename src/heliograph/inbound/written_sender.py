"""Reads the sender of a text as a carrier writes it: as E.164 digits, or as it is dialled at
home.
"""

from typing import NamedTuple

from heliograph.text import NUMBER_DIGITS_MAX, SEPARATORS, parse_phone


class WrittenSender(NamedTuple):
    """Holds a sender as a carrier writes it. If `is_national` holds, the carrier says that the
    country's code is left out.
    """

    text: str
    is_national: bool = False


def is_dialled_at_home(sender: WrittenSender) -> bool:
    """Returns whether only a country says which phone a sender is: the carrier says so, or it
    begins with a single 0, as no number does that is dialled from abroad.
    """
    digits = sender.text.translate(SEPARATORS)
    if digits[:2] == "00":
        return False
    return digits[:1] == "0" or (sender.is_national and digits.isdigit())


def international(sender: WrittenSender, home_country: str | None) -> str:
    """Returns a sender as E.164 digits if it is a phone, and as it is otherwise. `home_country` is
    the country in which one is read that is dialled at home, or None if it is unknown. Carriers
    call some numbers national that are not, so one that is not valid in that country is read like
    any other.
    """
    phone = parse_phone(sender.text, home_country, home_country) if sender.is_national else None
    phone = phone or parse_phone(sender.text, None, home_country)
    return sender.text if phone is None else phone.digits


def may_be_texted(sender: str) -> bool:
    """Returns whether messages may have gone to it: they go to numbers as they are dialled from
    abroad, without zeros before them.
    """
    return (
        sender.isascii()
        and sender.isdigit()
        and len(sender) <= NUMBER_DIGITS_MAX
        and sender[0] != "0"
    )
