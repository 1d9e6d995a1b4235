"""Makes PDUs as a hostile or broken peer would send them: they are made from good ones, in an order
that a seed fixes.
"""

from collections.abc import Iterator
from random import Random

from heliograph.carriers.smpp import pdu

# an impossible command_length, after which nothing can be read any more
ENDS_THE_STREAM_ONE_IN = 2_000
LARGE_ONE_IN = 500
LARGE_OCTETS = 60_000
_TLV = pdu.encode_tlv(pdu.MESSAGE_PAYLOAD, b"x" * 40)
_SUBMIT = (
    pdu.encode_sm(
        pdu.ShortMessage(
            "AMINA", "233201234567", b"hello", tlvs={pdu.USER_MESSAGE_REFERENCE: b"\0\1"}
        )
    )
    + _TLV
)
_RECEIPT = pdu.encode_sm(
    pdu.ShortMessage(
        "233201234567",
        "AMINA",
        b"id:4a1f sub:001 dlvrd:001 stat:DELIVRD err:000 text:",
        esm_class=pdu.ESM_RECEIPT,
    )
)


def hostile_pdus(seed: int) -> Iterator[bytes]:
    """Yields PDUs for ever. An impossible length comes rarely, and is the last thing that its
    connection can say.
    """
    random = Random(seed)
    while True:
        yield _hostile(random)


def ends_the_stream(octets: bytes) -> bool:
    return int.from_bytes(octets[:4], "big") != len(octets)


def _hostile(random: Random) -> bytes:
    if random.randrange(ENDS_THE_STREAM_ONE_IN) == 0:
        return pdu.HEADER.pack(
            random.choice((0, 15, 65_537, 2**31, 2**32 - 1)), pdu.SUBMIT_SM, 0, 1
        )
    command = random.choice(
        (
            pdu.SUBMIT_SM,
            pdu.DELIVER_SM,
            pdu.SUBMIT_SM_RESP,
            pdu.DELIVER_SM_RESP,
            pdu.GENERIC_NACK,
            pdu.ENQUIRE_LINK,
            pdu.BIND_TRANSCEIVER,
            pdu.UNBIND_RESP | 0x70,
            random.randrange(0x100, 2**32),
        )
    )
    sequence = random.randrange(2**32)
    if random.randrange(LARGE_ONE_IN) == 0:
        return pdu.encode_pdu(command, 0, sequence, random.randbytes(LARGE_OCTETS))
    return pdu.encode_pdu(
        command, random.choice((0, 0, 0x58, 0xFFFF_FFFF)), sequence, _body(random)
    )


def _body(random: Random) -> bytes:
    """Returns a good body cut short, grown, or with octets of it changed; or none."""
    body = bytearray(random.choice((_SUBMIT, _RECEIPT)))
    for _ in range(random.randrange(4)):
        body[random.randrange(len(body))] = random.randrange(256)
    kind = random.randrange(4)
    if kind == 0:
        return bytes(body[: random.randrange(len(body))])
    return bytes(body) + (random.randbytes(random.randrange(300)) if kind == 1 else b"")
