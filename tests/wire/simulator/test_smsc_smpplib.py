"""PyPI's `smpplib`, a client that others wrote, works with our SMSC."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import smpplib.client  # type: ignore[import-untyped]  # it has no types
import smpplib.consts  # type: ignore[import-untyped]  # it has no types
import smpplib.exceptions  # type: ignore[import-untyped]  # it has no types
import smpplib.gsm  # type: ignore[import-untyped]  # it has no types

from tests.support.wire.smsc_process import SmscProcess, repeat_until, running

SHORT = "Grüße, your order is on its way"
LONG = "All that we have in store: " * 12
CYRILLIC = "Ваш заказ уже в пути " * 8


@pytest.fixture(scope="module")
def smsc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmscProcess]:
    with running(tmp_path_factory.mktemp("smsc")) as process:
        yield process


class Client:
    """Is a bound smpplib client, which believes every optional parameter that it does not know to
    be an error.
    """

    def __init__(self, smsc: SmscProcess, how: str) -> None:
        self.answers: list[Any] = []
        self.receipts: list[Any] = []
        self.smpp: Any = smpplib.client.Client(
            "127.0.0.1", smsc.port, allow_unknown_opt_params=False
        )
        self.smpp.set_message_sent_handler(lambda pdu: self.answers.append(pdu))
        self.smpp.set_message_received_handler(lambda pdu: self.receipts.append(pdu))
        # answers with an error come to the handler above too
        self.smpp.set_error_pdu_handler(lambda pdu: None)
        self.smpp.connect()
        getattr(self.smpp, f"bind_{how}")(system_id="amina", password="secret")

    def send(self, text: str, recipient: str = "233201234567", use_udhi: bool = True) -> int:
        """Sends a text. Returns how many parts it made."""
        parts, coding, esm_class = smpplib.gsm.make_parts(text, use_udhi=use_udhi)
        for part in parts:
            self.smpp.send_message(
                source_addr_ton=5,
                source_addr="AMINA",
                dest_addr_ton=1,
                dest_addr_npi=1,
                destination_addr=recipient,
                short_message=part,
                data_coding=coding,
                esm_class=esm_class,
                registered_delivery=True,
            )
        return len(parts)

    def read_until(self, answers: int, receipts: int) -> None:
        repeat_until(
            lambda: len(self.answers) >= answers and len(self.receipts) >= receipts,
            self.smpp.read_once,
        )

    def end(self) -> None:
        self.smpp.unbind()
        self.smpp.disconnect()


@pytest.mark.parametrize("text", [SHORT, LONG, CYRILLIC], ids=["short", "long", "UCS-2"])
def test_it_sends_texts_and_gets_their_receipts(smsc: SmscProcess, text: str) -> None:
    before = len(smsc.events("submit_sm"))
    client = Client(smsc, "transceiver")
    parts = client.send(text)
    client.read_until(parts, parts)
    client.end()
    ids = [answer.message_id.decode() for answer in client.answers]
    assert [receipt.receipted_message_id.decode() for receipt in client.receipts] == ids
    assert all(
        f"id:{ref} sub:001 dlvrd:001 ".encode() in receipt.short_message
        for ref, receipt in zip(ids, client.receipts, strict=True)
    )
    told = smsc.events("submit_sm")[before:]
    assert [(line["message_id"], line["part"], line["parts"]) for line in told] == [
        (ref, part, parts) for part, ref in enumerate(ids, 1)
    ]
    if parts == 1:
        assert told[0]["text_sha256"] == sha256(text.encode()).hexdigest()


def test_a_transmitter_s_receipts_come_to_the_receiver(smsc: SmscProcess) -> None:
    sender, receiver = Client(smsc, "transmitter"), Client(smsc, "receiver")
    sender.send(SHORT)
    sender.read_until(1, 0)
    receiver.read_until(0, 1)
    assert receiver.receipts[0].receipted_message_id == sender.answers[0].message_id
    sender.end()
    receiver.end()


@pytest.mark.parametrize("form", ["udh", "udh16", "sar", "payload"])
def test_it_reads_a_long_text_of_a_handset_in_each_form(tmp_path: Path, form: str) -> None:
    """smpplib has no handler for data_sm."""
    with running(tmp_path, "--mo-rate", "0.1", "--mo-text", CYRILLIC, "--mo-long", form) as smsc:
        client = Client(smsc, "receiver")
        parts = 1 if form == "payload" else -(-len(CYRILLIC) // 66)
        client.read_until(0, parts)
        client.end()
        came = client.receipts
        assert {pdu.data_coding for pdu in came} == {smpplib.consts.SMPP_ENCODING_ISO10646}
        if form == "payload":
            octets = came[0].message_payload
        elif form == "sar":
            assert [(pdu.sar_total_segments, pdu.sar_segment_seqnum) for pdu in came] == [
                (parts, number) for number in range(1, parts + 1)
            ]
            octets = b"".join(pdu.short_message for pdu in came)
        else:
            assert {pdu.esm_class for pdu in came} == {smpplib.consts.SMPP_GSMFEAT_UDHI}
            octets = b"".join(pdu.short_message[1 + pdu.short_message[0] :] for pdu in came)
        assert octets.decode("utf-16-be") == CYRILLIC
        assert [event["status"] for event in smsc.until(parts, "text_answered")] == [0] * parts


def test_it_hears_what_the_last_digits_choose(smsc: SmscProcess) -> None:
    client = Client(smsc, "transceiver")
    for recipient in ("233201234000", "233201234001", "233201234002"):
        client.send(SHORT, recipient)
    client.read_until(3, 2)
    client.end()
    assert [answer.status for answer in client.answers] == [0, 0x0B, 0]
    assert [receipt.message_state for receipt in client.receipts] == [
        smpplib.consts.SMPP_MESSAGE_STATE_UNDELIVERABLE,
        smpplib.consts.SMPP_MESSAGE_STATE_EXPIRED,
    ]


def test_it_is_refused_with_a_wrong_password_and_told_of_chaos(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")
    with running(
        tmp_path, "--system-id", "amina", "--password-file", "password", "--chaos", "throttle=1"
    ) as smsc:
        client = Client(smsc, "transceiver")
        client.send(SHORT)
        client.read_until(1, 0)
        assert client.answers[0].status == 0x58
        client.end()
        stranger = smpplib.client.Client("127.0.0.1", smsc.port, allow_unknown_opt_params=False)
        stranger.connect()
        with pytest.raises(smpplib.exceptions.PDUError, match="Invalid Password"):
            stranger.bind_transceiver(system_id="amina", password="guess")
        stranger.disconnect()
