"""Programs that others wrote bring texts of handsets to our link: each is stored exactly as it was
written, and answered. npm's `smpp` is an SMSC; PyPI's `smpplib` writes PDUs.
"""

from typing import Any

import pytest
import smpplib.gsm  # type: ignore[import-untyped]  # it has no types
import sqlalchemy as sa

from heliograph.opt_outs.tables import suppressions
from tests.support.wire.handset_texts import PHONE, SHORT_CODE
from tests.support.wire.receiving_texts import StoredText, Taking, taking
from tests.support.wire.smpplib_carrier import SmpplibCarrier, smpplib_carrier
from tests.support.wire.smsc_peer import Smsc

GSM = "Où est ma commande ? 5 € {12} [a|b] ~ \\ ^ @ ñ Ω"

LATIN_1 = "Où est ma commande ? Ça coûte £5 ± ½ à l'hôtel"
LATIN_1_OF_ASCII = "me@[home] {5_$}"  # octets that are other characters in GSM-7
PAIRS = "a" + "😀" * 100  # after an odd number of units: each cut of an even number divides a pair
LONG_GSM = "Where is my order {" + "0123456789" * 40 + "}?"
GSM_7, LATIN, UCS_2 = (0, "GSM-7"), (3, "Latin-1"), (8, "UCS-2")
SAR = ("sar_msg_ref_num", "sar_total_segments", "sar_segment_seqnum")
ADDRESSES = {"source_addr": PHONE, "destination_addr": SHORT_CODE}

# what is written, in which data_coding and encoding, and how
WRITTEN: dict[str, tuple[str, tuple[int, str], dict[str, Any]]] = {
    "GSM-7": (GSM, GSM_7, {}),
    "Latin-1": (LATIN_1, LATIN, {}),
    "Latin-1, as ASCII has it": (LATIN_1_OF_ASCII, LATIN, {}),
    "UCS-2": (PAIRS[:60], UCS_2, {}),
    "pairs that two parts share": (PAIRS, UCS_2, {"form": "udh", "cut": 66}),
    "a header of 8 bits, out of order": (
        LONG_GSM,
        GSM_7,
        {"form": "udh", "cut": 150, "order": [3, 1, 2]},
    ),
    "a header of 16 bits, out of order": (
        LONG_GSM,
        GSM_7,
        {"form": "udh16", "cut": 100, "order": [5, 4, 3, 1, 2]},
    ),
    "a header, in Latin-1": (LATIN_1 * 4, LATIN, {"form": "udh", "cut": 134, "order": [2, 1]}),
    "sar_ parameters, out of order": (
        PAIRS,
        UCS_2,
        {"form": "sar", "cut": 66, "order": [4, 2, 3, 1]},
    ),
    "message_payload": (LONG_GSM, GSM_7, {"form": "payload"}),
    "message_payload, in UCS-2": (PAIRS, UCS_2, {"form": "payload"}),
    "data_sm": (LONG_GSM, GSM_7, {"form": "data_sm"}),
    "data_sm, in UCS-2": (PAIRS, UCS_2, {"form": "data_sm"}),
    "data_sm, in Latin-1": (LATIN_1, LATIN, {"form": "data_sm"}),
}


def parts_of(text: str, how: dict[str, Any]) -> int:
    cut: int = how.get("cut", len(text) * 2)
    return -(-len(text.encode("utf-16-be")) // 2 // cut)


def stored(text: str, encoding: str, parts: int = 1, repeats: int = 0) -> StoredText:
    return StoredText(
        sender=PHONE,
        text=text,
        encoding=encoding,
        parts=parts,
        parts_received=parts,
        repeats=repeats,
        keyword=None,
    )


@pytest.mark.parametrize(("text", "coding", "how"), WRITTEN.values(), ids=WRITTEN)
async def test_what_an_smsc_of_others_brings_is_stored_as_it_was_written(
    smsc: Smsc, database_url: str, text: str, coding: tuple[int, str], how: dict[str, Any]
) -> None:
    data_coding, encoding = coding
    async with taking(database_url, smsc.settings()) as it:
        await smsc.until("binds", 1)
        parts = parts_of(text, how)
        pdu = {**ADDRESSES, "data_coding": data_coding}
        for times in (1, 2):
            await smsc.tell("write", {"text": text, "pdu": pdu, **how})
            log = await smsc.until("acknowledged", parts * times)
            assert it.texts() == [stored(text, encoding, parts, repeats=parts * (times - 1))]
    command = "data_sm_resp" if how.get("form") == "data_sm" else "deliver_sm_resp"
    assert log["acknowledged"] == [{"status": 0, "command": command}] * parts * 2


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Is it open today?", "Latin-1"), (LATIN_1, "Latin-1"), ("Открыто?", "UCS-2")],
)
async def test_an_alphabet_that_the_smsc_has_chosen_is_read(
    smsc: Smsc, database_url: str, text: str, encoding: str
) -> None:
    async with taking(database_url, smsc.settings()) as it:
        await smsc.until("binds", 1)
        await smsc.tell("write", {"text": text, "pdu": ADDRESSES})
        await smsc.until("acknowledged", 1)
        assert it.texts() == [stored(text, encoding)]


async def test_who_texts_stop_through_an_smsc_of_others_has_opted_out(
    smsc: Smsc, database_url: str
) -> None:
    async with taking(database_url, smsc.settings()) as it:
        await smsc.until("binds", 1)
        await smsc.tell("write", {"text": "STOP", "pdu": {**ADDRESSES, "data_coding": 0}})
        log = await smsc.until("acknowledged", 1)
        assert log["acknowledged"] == [{"status": 0, "command": "deliver_sm_resp"}]
        assert it.texts() == [
            StoredText(
                sender=PHONE,
                text="STOP",
                encoding="GSM-7",
                parts=1,
                parts_received=1,
                repeats=0,
                keyword="stop",
            )
        ]
        assert opted_out(it) == [(it.account_id, PHONE)]


@pytest.mark.parametrize(
    ("sender", "read"),
    [("201234567", PHONE), ("+298211234", "298211234"), (f"+{PHONE}", PHONE), (PHONE, PHONE)],
)
async def test_a_sender_that_an_smsc_calls_national_is_read_in_its_country(
    smsc: Smsc, database_url: str, sender: str, read: str
) -> None:
    async with taking(database_url, smsc.settings()) as it:
        await smsc.until("binds", 1)
        pdu = {**ADDRESSES, "source_addr_ton": 2, "source_addr": sender}
        await smsc.tell("write", {"text": "STOP", "pdu": {**pdu, "data_coding": 0}})
        long = {"text": LONG_GSM, "form": "udh", "cut": 150, "order": [3, 2, 1]}
        await smsc.tell("write", {"pdu": {**pdu, "data_coding": 0}, **long})
        await smsc.until("acknowledged", 4)
        assert [each.sender for each in it.texts()] == [read, read]
        assert opted_out(it) == [(it.account_id, read)]


# what smpplib writes: it cuts where a part is full, in the middle of a pair or of an escape
SMPPLIB_WRITES: dict[str, tuple[str, tuple[int, str], str]] = {
    "GSM-7": (GSM, GSM_7, "deliver_sm"),
    "Latin-1": (LATIN_1, LATIN, "deliver_sm"),
    "Latin-1, as ASCII has it": (LATIN_1_OF_ASCII, LATIN, "deliver_sm"),
    "an escape that two parts share": ("a" * 152 + "€" * 100, GSM_7, "udh"),
    "pairs that two parts share": (PAIRS[1:], UCS_2, "udh"),
    "a long text in Latin-1": (LATIN_1 * 8, LATIN, "udh"),
    "sar_ parameters": (PAIRS[1:], UCS_2, "sar"),
    "message_payload": (LONG_GSM, GSM_7, "payload"),
    "data_sm": (PAIRS, UCS_2, "data_sm"),
}


def send_with_smpplib(
    carrier: SmpplibCarrier, text: str, data_coding: int, form: str
) -> list[tuple[str, int, int]]:
    """Has smpplib write a text, its last part first; returns the answers that are due."""
    fields = {**ADDRESSES, "data_coding": data_coding}
    if form in ("payload", "data_sm"):
        command = "data_sm" if form == "data_sm" else "deliver_sm"
        octets = smpplib.gsm.ENCODINGS[data_coding][0](text)
        return [(f"{command}_resp", carrier.send(command, message_payload=octets, **fields), 0)]
    parts, coding, esm_class = smpplib.gsm.make_parts(text, data_coding, use_udhi=form != "sar")
    assert coding == data_coding
    assert (len(parts) > 1) == (form in ("udh", "sar"))
    answers = []
    for number, part in reversed(list(enumerate(parts, 1))):
        sar = dict(zip(SAR, (7, len(parts), number), strict=True)) if form == "sar" else {}
        sequence = carrier.send(
            "deliver_sm", short_message=part, esm_class=esm_class, **sar, **fields
        )
        answers.append(("deliver_sm_resp", sequence, 0))
    return answers


@pytest.mark.parametrize(("text", "coding", "form"), SMPPLIB_WRITES.values(), ids=SMPPLIB_WRITES)
async def test_what_smpplib_writes_is_stored_as_it_was_written(
    database_url: str, text: str, coding: tuple[int, str], form: str
) -> None:
    data_coding, encoding = coding
    async with smpplib_carrier() as carrier, taking(database_url, carrier.settings()) as it:
        await carrier.until_bound()
        due = send_with_smpplib(carrier, text, data_coding, form)
        assert sorted(await carrier.until_answered(len(due))) == sorted(due)
        assert it.texts() == [stored(text, encoding, len(due))]


async def test_who_texts_stop_as_smpplib_writes_it_has_opted_out(database_url: str) -> None:
    async with smpplib_carrier() as carrier, taking(database_url, carrier.settings()) as it:
        await carrier.until_bound()
        due = send_with_smpplib(carrier, "Stop.", 0, "deliver_sm")
        assert await carrier.until_answered(1) == due
        assert it.texts() == [
            StoredText(
                sender=PHONE,
                text="Stop.",
                encoding="GSM-7",
                parts=1,
                parts_received=1,
                repeats=0,
                keyword="stop",
            )
        ]
        assert opted_out(it) == [(it.account_id, PHONE)]


def opted_out(it: Taking) -> list[tuple[str, str]]:
    with it.db.read() as tx:
        columns = suppressions.c
        return [
            (row.account_id, str(row.phone))
            for row in tx.execute(sa.select(columns.account_id, columns.phone))
        ]
