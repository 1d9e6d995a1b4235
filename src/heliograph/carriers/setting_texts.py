"""Reads settings of a carrier as people write them, in commands and on pages."""

import re

from heliograph.base.forms import quote_value


def read_ton_npi(text: str) -> list[int]:
    """Reads a type of number and a numbering plan (SMPP 3.4, 5.2.5 and 5.2.6), such as 5,0. Raises
    ValueError.
    """
    if not re.fullmatch(r"[0-9]{1,3},[0-9]{1,3}", text, re.ASCII):
        raise ValueError(
            f"{quote_value(text)} is not a type of number and a numbering plan, such as 5,0."
        )
    return [int(number) for number in text.split(",")]


def read_status_meaning(text: str) -> tuple[str, str | None]:
    """Reads what a command_status means to a carrier, such as 0x45=retry: None for `default`, which
    stands for what it means to others. Raises ValueError.
    """
    found = re.fullmatch(r"0x([0-9a-fA-F]{1,8})=(throttled|retry|refused|default)", text, re.ASCII)
    if found is None:
        raise ValueError(
            f"{quote_value(text)} is not a command_status and its meaning, such as 0x45=retry; the"
            " meanings are throttled, retry, refused, and default."
        )
    return f"0x{int(found[1], 16):02X}", None if found[2] == "default" else found[2]
