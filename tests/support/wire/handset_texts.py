"""Makes what carriers bring of texts that handsets write."""

import smpplib.gsm  # type: ignore[import-untyped]  # it has no types

from heliograph.carriers.smpp import pdu

PHONE = "233201234567"
SHORT_CODE = "4567"
LONG = "Where is my order? {" + "0123456789" * 30 + "} €"


def text_of(
    octets: bytes, sender: str = PHONE, coding: int = 0, esm_class: int = 0
) -> pdu.ShortMessage:
    return pdu.ShortMessage(sender, SHORT_CODE, octets, data_coding=coding, esm_class=esm_class)


def long_text(text: str, sender: str = PHONE) -> list[pdu.ShortMessage]:
    """Returns the parts of a text as smpplib cuts it. Its references are all the same, as phones'
    may be.
    """
    parts, coding, esm_class = smpplib.gsm.make_parts(text)
    return [text_of(bytes([*part[:3], 7, *part[4:]]), sender, coding, esm_class) for part in parts]
