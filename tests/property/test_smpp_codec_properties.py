"""What the codec encodes is decoded again, an implementation by others agrees, and no octets make
anything but a PduError.
"""

from collections.abc import Callable
from typing import Any

import pytest
import smpplib.smpp  # type: ignore[import-untyped]  # it has no types
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.framing import PDU_OCTETS_MAX, Framer

octet = st.integers(0, 255)
string = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=20)
address = st.text("0123456789ABCabc", min_size=1, max_size=20)
short_messages = st.builds(
    pdu.ShortMessage,
    source_addr=string,
    destination_addr=string,
    short_message=st.binary(max_size=254),
    esm_class=octet,
    data_coding=octet,
    registered_delivery=octet,
    priority_flag=octet,
    validity_period=string,
    source_ton=octet,
    source_npi=octet,
    dest_ton=octet,
    dest_npi=octet,
    service_type=string,
    protocol_id=octet,
    schedule_delivery_time=string,
    replace_if_present=octet,
    sm_default_msg_id=octet,
    tlvs=st.dictionaries(st.integers(0, 65_535), st.binary(max_size=300), max_size=5),
)
binds = st.builds(pdu.BindRequest, string, string, string, octet, octet, octet, string)
frames = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=60),
)


@given(short_messages)
def test_a_short_message_is_decoded_as_it_was_encoded(message: pdu.ShortMessage) -> None:
    assert pdu.decode_sm(pdu.encode_sm(message)) == message


@given(short_messages)
def test_the_fast_encoder_writes_what_the_full_one_writes(message: pdu.ShortMessage) -> None:
    message.protocol_id = message.replace_if_present = message.sm_default_msg_id = 0
    message.schedule_delivery_time = ""
    addresses = pdu.encode_addresses(
        message.service_type,
        pdu.SourceAddress(message.source_ton, message.source_npi, message.source_addr),
        (message.dest_ton, message.dest_npi),
    )
    assert pdu.encode_sm(message) == pdu.encode_body(
        addresses,
        message.destination_addr.encode("latin-1"),
        message.esm_class,
        message.priority_flag,
        message.validity_period.encode("latin-1"),
        message.registered_delivery,
        message.data_coding,
        message.short_message,
        b"".join(pdu.encode_tlv(tag, value) for tag, value in message.tlvs.items()),
    )


@given(binds)
def test_a_bind_is_decoded_as_it_was_encoded(bind: pdu.BindRequest) -> None:
    assert pdu.decode_bind(pdu.encode_bind(bind)) == bind


@given(
    address,
    address,
    st.binary(min_size=1, max_size=254),
    octet,
    st.integers(0, 65_535),
    st.integers(1, 2**31 - 1),
)
def test_smpplib_reads_our_submit_sm(
    source: str, destination: str, text: bytes, coding: int, reference: int, sequence: int
) -> None:
    message = pdu.ShortMessage(
        source,
        destination,
        text,
        data_coding=coding,
        registered_delivery=1,
        source_ton=5,
        dest_ton=1,
        dest_npi=1,
    )
    message.tlvs = {pdu.USER_MESSAGE_REFERENCE: reference.to_bytes(2, "big")}
    octets = pdu.encode_pdu(pdu.SUBMIT_SM, 0, sequence, pdu.encode_sm(message))
    theirs: Any = smpplib.smpp.parse_pdu(octets, client=None, need_sequence=False)
    assert (theirs.command, theirs.sequence, theirs.status) == ("submit_sm", sequence, 0)
    assert (theirs.source_addr.decode(), theirs.destination_addr.decode()) == (source, destination)
    assert (theirs.short_message, theirs.data_coding, theirs.registered_delivery) == (
        text,
        coding,
        1,
    )
    assert theirs.user_message_reference == reference


@given(address, address, st.binary(min_size=1, max_size=254), octet, address, st.integers(1, 8))
def test_we_read_smpplib_s_deliver_sm(
    source: str, destination: str, text: bytes, esm_class: int, ref: str, state: int
) -> None:
    theirs: Any = smpplib.smpp.make_pdu("deliver_sm", client=None, need_sequence=False)
    theirs.sequence = 7
    fields = {
        "source_addr": source,
        "destination_addr": destination,
        "short_message": text,
        "esm_class": esm_class,
    }
    for name, value in {**fields, "source_addr_ton": 1, "message_state": state}.items():
        setattr(theirs, name, value)
    octets = theirs.generate() + pdu.encode_tlv(pdu.RECEIPTED_MESSAGE_ID, ref.encode() + b"\0")
    octets = len(octets).to_bytes(4, "big") + octets[4:]
    [frame] = Framer().feed(octets)
    assert (frame.command, frame.sequence) == (pdu.DELIVER_SM, 7)
    ours = pdu.decode_sm(frame.body)
    assert (ours.source_addr, ours.destination_addr, ours.short_message, ours.esm_class) == (
        source,
        destination,
        text,
        esm_class,
    )
    assert (ours.source_ton, ours.tlvs[pdu.MESSAGE_STATE]) == (1, bytes((state,)))
    assert pdu.decode_string(ours.tlvs[pdu.RECEIPTED_MESSAGE_ID]) == ref


@given(st.binary(max_size=400))
@example(b"")
@example(b"\0\0\0" * 10)
def test_any_octets_are_decoded_or_a_pdu_error(octets: bytes) -> None:
    refused = {
        status_of(decode, octets)
        for decode in (
            pdu.decode_sm,
            pdu.decode_data_sm,
            pdu.decode_bind,
            lambda body: pdu.decode_tlvs(body, 0),
        )
    }
    assert refused <= {None, pdu.ESME_RINVCMDLEN, pdu.ESME_RINVMSGLEN, pdu.ESME_RINVTLVSTREAM}


def status_of(decode: Callable[[bytes], object], octets: bytes) -> int | None:
    try:
        decode(octets)
    except pdu.PduError as malformed:
        return malformed.status
    return None


@given(short_messages, st.data())
def test_a_message_cut_short_is_an_error_or_lacks_tlvs(
    message: pdu.ShortMessage, data: st.DataObject
) -> None:
    body = pdu.encode_sm(message)
    mandatory = len(body) - sum(4 + len(value) for value in message.tlvs.values())
    cut = data.draw(st.integers(0, len(body) - 1)) if body else 0
    try:
        decoded = pdu.decode_sm(body[:cut])
    except pdu.PduError:
        return
    assert cut >= mandatory
    assert decoded.short_message == message.short_message
    assert decoded.tlvs.items() <= message.tlvs.items()


@given(st.lists(frames, max_size=8), st.data())
def test_a_stream_is_cut_alike_however_it_arrives(
    sent: list[tuple[int, int, int, bytes]], data: st.DataObject
) -> None:
    octets = b"".join(pdu.encode_pdu(*frame) for frame in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(octets)), max_size=20)))
    framer = Framer()
    received = [
        frame
        for start, end in zip([0, *cuts], [*cuts, len(octets)], strict=True)
        for frame in framer.feed(octets[start:end])
    ]
    assert received == sent
    assert (framer.broken, framer.unfinished_octets) == (None, 0)


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_stream_is_cut_or_broken_and_little_is_held(chunks: list[bytes]) -> None:
    framer = Framer()
    for chunk in chunks:
        framer.feed(chunk)
        assert framer.unfinished_octets < PDU_OCTETS_MAX
        if framer.broken is not None:
            assert framer.unfinished_octets == 0
            assert framer.feed(b"\0\0\0\x10" + b"\0" * 12) == []


@pytest.mark.parametrize("length", [PDU_OCTETS_MAX, PDU_OCTETS_MAX + 1])
def test_a_pdu_has_a_largest_size(length: int) -> None:
    framer = Framer()
    for at in range(0, length, 1_000):
        framer.feed((length.to_bytes(4, "big") + b"\0" * (length - 4))[at : at + 1_000])
    assert (framer.broken is None) == (length == PDU_OCTETS_MAX)
    assert framer.unfinished_octets == 0
