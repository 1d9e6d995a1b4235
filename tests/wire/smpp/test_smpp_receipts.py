"""Receipts come in the dialects that carriers write them in, as an SMSC that others wrote sends
them: each is acknowledged, and none stops the next.
"""

from typing import Any

import pytest

from heliograph.carriers.link import RECEIPTS_UNACKNOWLEDGED_MAX, ReceiptState, SubmitOutcome
from tests.support.wire.recorder import bound, outgoing, prepared, submit_all
from tests.support.wire.smsc_peer import STANDARD_RECEIPT, Smsc

DELIVRD, UNDELIV = ReceiptState.DELIVRD, ReceiptState.UNDELIV
FRONT = "id:{id} sub:001 dlvrd:001 submit date:2601010930 done date:2601010931 "

# What is sent for a message whose submit_sm_resp said `id` (hexadecimal), and what is read: form of
# the ref, state, error.
DIALECTS: dict[str, tuple[dict[str, Any], str | None, ReceiptState | None, str | None]] = {
    "as answered": (STANDARD_RECEIPT, "{id}", DELIVRD, "000"),
    "decimal id": (
        {"text": "id:{dec} sub:001 dlvrd:001 stat:DELIVRD err:000 text:"},
        "{dec}",
        DELIVRD,
        "000",
    ),
    "padded id": (
        {"text": "id:{padded} sub:001 dlvrd:001 stat:DELIVRD err:000 text:"},
        "{padded}",
        DELIVRD,
        "000",
    ),
    "upper-case id": ({"text": "id:{HEX} stat:DELIVRD err:000"}, "{HEX}", DELIVRD, "000"),
    "12-digit dates": (
        {
            "text": (
                "id:{id} sub:001 dlvrd:001 submit date:260101093000 done date:260101093059"
                " stat:EXPIRED err:027 text:"
            )
        },
        "{id}",
        ReceiptState.EXPIRED,
        "027",
    ),
    "letters in err": ({"text": FRONT + "stat:UNDELIV err:E5A text:"}, "{id}", UNDELIV, "E5A"),
    "text quotes a receipt": (
        {"text": FRONT + "stat:UNDELIV err:001 Text:id:7 stat:DELIVRD"},
        "{id}",
        UNDELIV,
        "001",
    ),
    "TLVs and no id": (
        {
            "text": "dlvrd:001 stat:DELIVRD",
            "receipted_message_id": "{id}",
            "pdu": {"esm_class": 4, "message_state": 5},
        },
        "{id}",
        UNDELIV,
        None,
    ),
    "TLVs and no text": (
        {
            "receipted_message_id": "{id}",
            "network_error_code": "030019",
            "pdu": {"message_state": 8},
        },
        "{id}",
        ReceiptState.REJECTD,
        "25",
    ),
    "long forms, lower case": ({"text": "id:{id} stat:delivered err:0"}, "{id}", DELIVRD, "0"),
    "in message_payload": ({**STANDARD_RECEIPT, "payload": True}, "{id}", DELIVRD, "000"),
    "in UCS-2": ({**STANDARD_RECEIPT, "pdu": {"data_coding": 8}}, "{id}", DELIVRD, "000"),
    "on its way": ({"text": "id:{id} stat:ENROUTE err:000"}, "{id}", ReceiptState.ENROUTE, "000"),
    "intermediate": (
        {**STANDARD_RECEIPT, "pdu": {"esm_class": 0x20}},
        "{id}",
        ReceiptState.ENROUTE,
        "000",
    ),
    "unreadable": ({"text": "Your message was delivered, thank you."}, None, None, None),
    "empty": ({"text": ""}, None, None, None),
}


@pytest.mark.parametrize(("template", "ref", "state", "error"), DIALECTS.values(), ids=DIALECTS)
async def test_a_receipt_is_read_and_acknowledged_and_stops_none(
    smsc: Smsc,
    template: dict[str, Any],
    ref: str | None,
    state: ReceiptState | None,
    error: str | None,
) -> None:
    await smsc.behave(receipts=[template, STANDARD_RECEIPT])
    async with bound(smsc.settings()) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 1))
        receipt, behind = await inbox.until_received(2)
        log = await smsc.until("acknowledged", 2)
    answered = inbox.answers[0].ref
    assert answered is not None
    number = int(answered, 16)
    forms = {
        "id": answered,
        "dec": str(number),
        "padded": answered.rjust(16, "0"),
        "HEX": answered.upper(),
    }
    assert (receipt.ref, receipt.state, receipt.error) == (
        ref and ref.format(**forms),
        state,
        error,
    )
    assert (receipt.recipient, receipt.sender) == ("233201234567", "AMINA")
    assert (behind.ref, behind.state) == (answered, DELIVRD)
    assert log["acknowledged"] == [{"status": 0, "command": "deliver_sm_resp"}] * 2


async def test_a_receipt_that_comes_before_the_answer_is_reported(smsc: Smsc) -> None:
    await smsc.behave(receipts=[{**STANDARD_RECEIPT, "before": True}])
    async with bound(smsc.settings()) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 20))
        await inbox.until_received(20)
        await smsc.until("acknowledged", 20)
    assert {receipt.ref for receipt in inbox.receipts} == {answer.ref for answer in inbox.answers}


async def test_a_receipt_sent_many_times_is_acknowledged_each_time(smsc: Smsc) -> None:
    await smsc.behave(receipts=[{**STANDARD_RECEIPT, "times": 1_000}])
    async with bound(smsc.settings()) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 1))
        await inbox.until_received(1_000)
        await smsc.until("acknowledged", 1_000)
    assert {receipt.ref for receipt in inbox.receipts} == {inbox.answers[0].ref}


async def test_our_reference_comes_back_with_the_receipt(smsc: Smsc) -> None:
    message = outgoing()
    await smsc.behave(receipts=[{**STANDARD_RECEIPT, "pdu": {"user_message_reference": 0xBEEF}}])
    async with bound(smsc.settings()) as (link, inbox):
        await submit_all(link, inbox, link.prepare(message))
        assert (await inbox.until_received(1))[0].user_message_reference == 0xBEEF


async def test_a_receipt_is_acknowledged_only_when_told(smsc: Smsc) -> None:
    await smsc.behave(receipts=[STANDARD_RECEIPT])
    async with bound(smsc.settings(), acknowledges=False) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 3))
        receipts = await inbox.until_received(3)
        await smsc.tell("enquire")  # its answer is written after anything that was written before
        assert (await smsc.until("enquiry_answers", 1))["acknowledged"] == []
        link.acknowledge(receipts[:2])
        link.acknowledge(receipts[:2])  # a second time changes nothing
        await smsc.tell("enquire")
        assert len((await smsc.until("enquiry_answers", 2))["acknowledged"]) == 2


async def test_a_receipt_whose_session_is_gone_is_dropped(smsc: Smsc) -> None:
    await smsc.behave(receipts=[STANDARD_RECEIPT])
    async with bound(smsc.settings(), acknowledges=False) as (link, inbox):
        await submit_all(link, inbox, prepared(link, 1))
        receipts = list(await inbox.until_received(1))
        await smsc.tell("drop")
        await smsc.until("binds", 2)
        link.acknowledge(receipts)
        await submit_all(link, inbox, prepared(link, 1))
    assert (await smsc.log())["acknowledged"] == []


async def test_reading_stops_while_too_many_receipts_are_not_stored(smsc: Smsc) -> None:
    # more than one read from the socket can bring beyond the limit
    times = 2 * RECEIPTS_UNACKNOWLEDGED_MAX + 3_000
    await smsc.behave(receipts=[{**STANDARD_RECEIPT, "times": times}])
    settings = smsc.settings(enquire_link_s=0.2, enquire_link_timeout_s=0.2, answer_timeout_s=0.1)
    async with bound(settings, acknowledges=False) as (link, inbox):
        link.submit(prepared(link, 1))
        await inbox.until_received(RECEIPTS_UNACKNOWLEDGED_MAX)
        held = len(inbox.receipts)
        assert held < times
        # its answer stands behind what is not read, which must not count as silence
        link.submit(prepared(link, 1))
        await smsc.until("submits", 2)
        await inbox.settle(0.5)
        assert len(inbox.receipts) == held
        assert len(inbox.answers) == 1
        inbox.acknowledges = True
        link.acknowledge(inbox.receipts)
        await inbox.until_received(2 * times)
        await smsc.until("acknowledged", 2 * times)
    assert link.tally.half_open == 0
    assert inbox.answers[-1].outcome is SubmitOutcome.ACCEPTED


async def test_a_message_from_a_handset_is_no_receipt_whatever_it_says(smsc: Smsc) -> None:
    async with bound(smsc.settings()) as (link, inbox):
        await smsc.tell(
            "deliver",
            {
                "source_addr": "233201234567",
                "destination_addr": "1234",
                "short_message": "id:1 stat:DELIVRD stop",
            },
        )
        await smsc.until("acknowledged", 1)
        assert (inbox.receipts, link.tally.mobile_originated) == ([], 1)
