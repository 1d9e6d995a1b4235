"""Makes the texts that the simulator's phones send, as a carrier would bring them."""

import hashlib

from msgspec.structs import replace

from heliograph.carriers.link import HandsetText
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.encode import DATA_CODING_UCS2
from heliograph.carriers.smpp.handset_text import read_handset_text
from heliograph.text import UCS_2, segments


def text_of_phone(
    phone: str, recipient: str, text: str, encoding: str, identity: str, sandbox_of: str | None
) -> HandsetText:
    """Returns a text that a phone sends: whole, as carriers may bring it in message_payload. It is
    the same text if `identity` is the same. `sandbox_of` is the account whose sandbox has the
    phone. If it is None, the text is live, and belongs to whom the number belongs to.
    """
    is_ucs2 = encoding == UCS_2
    message = pdu.ShortMessage(
        source_addr=phone,
        destination_addr=recipient,
        data_coding=DATA_CODING_UCS2 if is_ucs2 else 0,
        tlvs={
            pdu.MESSAGE_PAYLOAD: segments.ucs2_octets(text)
            if is_ucs2
            else segments.gsm7_octets(text)
        },
    )
    key = "\0".join((identity, sandbox_of or "", phone, recipient))
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    return replace(read_handset_text(message, None), digest=digest, sandbox_of=sandbox_of)
