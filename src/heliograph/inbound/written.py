"""Reads the sender of a text as a carrier writes it: as E.164 digits, or as it is dialled at
home.
"""

from heliograph.text import NUMBER_DIGITS_MAX, SEPARATORS, parse_phone


def is_dialled_at_home(sender: str) -> bool:
    """Returns whether only a country says which phone a sender is: it begins with a single 0, as no
    number does that is dialled from abroad.
    """
    digits = sender.translate(SEPARATORS)
    return digits[:1] == "0" and digits[:2] != "00"


def international(sender: str, home: str | None) -> str:
    """Returns a sender as E.164 digits if it is a phone, and as it is otherwise. `home`: the
    country in which a number with a leading 0 is read; None: unknown.
    """
    phone = parse_phone(sender, None, home)
    return sender if phone is None else phone.digits


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
