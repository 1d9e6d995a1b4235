"""Every text of a message comes out as it went in, and no receipt stops anything."""

import string

from hypothesis import given
from hypothesis import strategies as st

from heliograph.carriers.link import Outgoing, ReceiptState
from heliograph.carriers.smpp import SmppSettings, pdu
from heliograph.carriers.smpp.encode import Encoder
from heliograph.carriers.smpp.receipt import read_receipt
from heliograph.text import segments

gsm_texts = st.text(
    string.ascii_letters + " @£$¥èéùìòÇØøÅåΔ_ΦΓÆæßÉ!\"#¤%&'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà^{}\\[~]|€\n",
    min_size=1,
    max_size=700,
)
any_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=330)
message_ids = st.integers(0, 2**128 - 1).map(lambda number: f"{number:032x}")
encoders = st.builds(
    lambda alphabet, long, receipts: Encoder(
        SmppSettings(
            "test",
            "127.0.0.1",
            2775,
            "amina",
            "secret",
            alphabet=alphabet,
            long=long,
            receipts=receipts,
        )
    ),
    st.sampled_from(["gsm", "latin1", "ascii"]),
    st.sampled_from(["udh", "payload", "sar"]),
    st.sampled_from(["all", "last", "none"]),
)


def text_of(data_coding: int, octets: bytes, alphabet_is_gsm: bool) -> str:
    if data_coding == 8:
        return segments.ucs2_text(octets)
    return segments.gsm7_text(octets) if alphabet_is_gsm else octets.decode("latin-1")


@given(
    encoders,
    st.one_of(
        gsm_texts.map(lambda text: (text, "GSM-7")), any_texts.map(lambda text: (text, "UCS-2"))
    ),
    message_ids,
)
def test_a_text_is_carried_whole_by_any_carrier(
    encoder: Encoder, counted: tuple[str, str], message_id: str
) -> None:
    text, encoding = counted
    expected = len(segments.split(text, encoding))
    message = Outgoing(
        message_id=message_id,
        sender="AMINA",
        recipient="233201234567",
        text=text,
        encoding=encoding,
        segments=expected,
        validity_s=3_600,
    )
    submissions = encoder.submissions(message)
    assert sum(submission.parts for submission in submissions) == 2**expected - 1
    carried, forms = [], set()
    for number, submission in enumerate(submissions, 1):
        decoded = pdu.decode_sm(submission.data)
        octets = decoded.tlvs.get(pdu.MESSAGE_PAYLOAD, decoded.short_message)
        if decoded.esm_class & pdu.ESM_UDH:
            header, octets = octets[:6], octets[6:]
            assert header[:3] + header[4:] == bytes((5, 0, 3, expected, number))
            assert header[3] == int(message_id[-2:], 16)
        carried.append(
            text_of(decoded.data_coding, octets, alphabet_is_gsm=decoded.data_coding == 0)
        )
        forms.add(
            (
                decoded.esm_class & pdu.ESM_UDH,
                pdu.MESSAGE_PAYLOAD in decoded.tlvs,
                pdu.SAR_MSG_REF_NUM in decoded.tlvs,
            )
        )
    assert "".join(carried) == text
    assert len(forms) == 1
    # one form of long message, for long messages only
    assert sum(map(bool, forms.pop())) == (expected > 1)
    assert encoder.submissions(message) == submissions


@given(
    st.binary(max_size=300),
    st.integers(0, 255),
    st.integers(0, 255),
    st.dictionaries(st.integers(0, 0x500), st.binary(max_size=20)),
)
def test_any_octets_are_a_receipt(
    octets: bytes, esm_class: int, data_coding: int, tlvs: dict[int, bytes]
) -> None:
    receipt = read_receipt(
        pdu.ShortMessage("233201234567", "AMINA", octets, esm_class, data_coding, tlvs=tlvs), None
    )
    assert receipt.raw.isascii()
    assert len(receipt.raw) <= len(octets or tlvs.get(pdu.MESSAGE_PAYLOAD, b"")) + len(
        b" (300 left out)"
    )
    assert receipt.ref is None or 0 < len(receipt.ref) <= 64


word = st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=12)
receipt_texts = st.builds(
    "id:{} sub:{} dlvrd:{} submit date:{} done date:{} stat:{} err:{}{}".format,
    word,
    *[st.text(string.digits, max_size=12)] * 4,
    st.sampled_from([state.value for state in ReceiptState]) | word,
    word,
    st.sampled_from(["", " text:", " Text:id:9 stat:DELIVRD", "\0"]),
)


@given(receipt_texts)
def test_the_quick_way_of_reading_finds_what_the_thorough_one_finds(text: str) -> None:
    quick = read_receipt(pdu.ShortMessage("1", "2", text.encode()), None)
    thorough = read_receipt(pdu.ShortMessage("1", "2", b" " + text.encode()), None)
    assert (quick.ref, quick.state, quick.error) == (thorough.ref, thorough.state, thorough.error)
    assert quick.ref == text.split()[0][3:]
