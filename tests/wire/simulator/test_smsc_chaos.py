"""A client meets each kind of chaos on a real connection."""

from pathlib import Path
from typing import Any

import pytest

from heliograph.carriers.link import LinkState, ReceiptState, SubmitOutcome
from heliograph.carriers.smpp import SmppSettings, pdu
from heliograph.carriers.smsc.chaos import DIALECTS, KINDS
from tests.support.wire.raw_client import Served, read, serving, submission
from tests.support.wire.recorder import bound, opened, prepared

TESTED = {
    "wrong-password",
    "already-bound",
    "throttle",
    "queue-full",
    "refuse",
    "delay",
    "drop",
    "half-open",
    "malformed",
    "early",
    "late",
    "duplicate",
    "fail",
    "contradict",
    *DIALECTS,
    # in test_smsc_long_texts.py
    "mo-shuffle",
    "mo-interleave",
    "mo-lose",
    "mo-repeat",
}


def our_client(served: Served, **given: Any) -> SmppSettings:
    return SmppSettings(
        **{
            "name": "ours",
            "host": "127.0.0.1",
            "port": served.port,
            "system_id": "amina",
            "password": "secret",
            "backoff_min_s": 0.05,
            "backoff_max_s": 0.1,
            **given,
        }
    )


def test_no_kind_goes_untested() -> None:
    assert set(KINDS) == TESTED


@pytest.mark.parametrize(("kind", "status"), [("wrong-password", 0x0E), ("already-bound", 0x05)])
async def test_a_bind_is_refused_for_as_long_as_the_script_says(kind: str, status: int) -> None:
    async with serving(script=f"after 1 bind: {kind} for 2") as smsc:
        assert [await (await smsc.client()).bind() for _ in range(4)] == [0, status, status, 0]


async def test_our_own_client_shows_a_refused_bind_to_its_operator() -> None:
    async with serving("wrong-password=1") as smsc, opened(our_client(smsc)) as (_, inbox):
        assert "0x0000000e" in await inbox.until_state(LinkState.REFUSED)


@pytest.mark.parametrize(
    ("kind", "status", "outcome"),
    [
        ("throttle", 0x58, SubmitOutcome.THROTTLED),
        ("queue-full", 0x14, SubmitOutcome.THROTTLED),
        ("refuse", 0x45, SubmitOutcome.RETRY),
        ("refuse:0x0a", 0x0A, SubmitOutcome.REFUSED),
        ("refuse:1026", 0x402, SubmitOutcome.RETRY),
    ],
)
async def test_a_submission_is_refused(kind: str, status: int, outcome: SubmitOutcome) -> None:
    async with serving(f"{kind}=1") as smsc, bound(our_client(smsc)) as (link, inbox):
        link.submit(prepared(link, 1))
        [answer] = await inbox.until_answered(1)
        assert (answer.command_status, answer.outcome, answer.ref) == (status, outcome, None)
        assert smsc.smsc.receipts_owed == 0


async def test_an_answer_is_late_and_others_overtake_it() -> None:
    async with serving(script="after 0 submits: delay:200ms") as smsc:
        client = await smsc.bound()
        first, second = (
            client.request(pdu.SUBMIT_SM, submission(registered_delivery=0)) for _ in range(2)
        )
        assert [(await client.next(pdu.SUBMIT_SM_RESP)).sequence for _ in range(2)] == [
            second,
            first,
        ]


async def test_an_answer_after_our_time_out_is_still_heard() -> None:
    async with (
        serving("delay:300ms=1") as smsc,
        bound(our_client(smsc, answer_timeout_s=0.1)) as (link, inbox),
    ):
        link.submit(prepared(link, 1))
        late = (await inbox.until_answered(2))[1]
        assert inbox.outcomes() == [SubmitOutcome.UNANSWERED, SubmitOutcome.ACCEPTED]
        assert late.late


async def test_the_connection_breaks_in_the_middle_of_a_window(tmp_path: Path) -> None:
    """What was taken is in the log, with what never left. Receipts for it come after the
    next bind.
    """
    settings: dict[str, Any] = {
        "answer_delay_s": 0.3,
        "log": tmp_path / "log",
        "receipt_delay_s": 0.5,
    }
    async with (
        serving(script="after 5 submits: drop", **settings) as smsc,
        bound(our_client(smsc)) as (link, inbox),
    ):
        link.submit(prepared(link, 8))
        await inbox.until_answered(8)
        assert inbox.outcomes() == [SubmitOutcome.UNANSWERED] * 8
        receipts = await inbox.until_received(6)
        taken = smsc.events("submit_sm")
        assert {receipt.ref for receipt in receipts} == {line["message_id"] for line in taken}
        [lost] = smsc.events("lost")
        assert (len(taken), lost["why"], lost["unanswered"]) == (6, "chaos: drop", 6)


async def test_answers_that_were_noted_and_never_left_are_told(tmp_path: Path) -> None:
    async with (
        serving(script="after 2 submits: drop", log=tmp_path / "log") as smsc,
        bound(our_client(smsc)) as (link, inbox),
    ):
        link.submit(prepared(link, 3))
        await inbox.until_answered(3)
        [lost] = smsc.events("lost")
        assert lost["unwritten"] == 2
        assert inbox.outcomes() == [SubmitOutcome.UNANSWERED] * 3


async def test_a_half_open_session_answers_nothing_any_more() -> None:
    async with serving(script="after 1 submit: half-open") as smsc:
        client, other = await smsc.bound(), await smsc.bound()
        assert (await client.submit(registered_delivery=0))[0] == 0
        for command in (pdu.SUBMIT_SM, pdu.ENQUIRE_LINK, pdu.SUBMIT_SM, pdu.UNBIND):
            client.request(
                command, submission(registered_delivery=0) if command == pdu.SUBMIT_SM else b""
            )
            assert await client.quiet(0.1)
        assert (await other.submit())[0] == 0
        # the last one of the half-open session was read and not looked at
        assert smsc.smsc.journal.counts["submit_sm"] == 3


async def test_our_own_client_leaves_a_half_open_session() -> None:
    soon = {"enquire_link_s": 0.1, "enquire_link_timeout_s": 0.1}
    async with (
        serving(script="after 0 submits: half-open") as smsc,
        bound(our_client(smsc, **soon)) as (link, inbox),
    ):
        link.submit(prepared(link, 1))
        await inbox.until_answered(1)
        assert inbox.outcomes() == [SubmitOutcome.UNANSWERED]
        await inbox.until_received(1)  # on the session that it has bound since


@pytest.mark.parametrize(
    ("form", "octets"),
    [
        ("length-0", b"\0\0\0\0\0\0\0\x05"),
        ("length-15", b"\0\0\0\x0f\0\0\0\x05"),
        ("length-2g", b"\x80\0\0\0\0\0\0\x05"),
        ("command", b"\0\0\0\x10\0\0\x0f\0"),
    ],
)
async def test_a_malformed_pdu_follows_the_answer(form: str, octets: bytes) -> None:
    async with serving(f"malformed:{form}=1") as smsc:
        client = await smsc.bound()
        client.request(pdu.SUBMIT_SM, submission(registered_delivery=0))
        said = await client.raw()
        assert said[int.from_bytes(said[:4], "big") :][:8] == octets


@pytest.mark.parametrize("form", ["length-0", "length-15", "length-2g"])
async def test_our_own_client_binds_anew_after_an_impossible_length(form: str) -> None:
    async with (
        serving(script=f"after 0 submits: malformed:{form}") as smsc,
        bound(our_client(smsc)) as (link, inbox),
    ):
        link.submit(prepared(link, 1))
        await inbox.until(lambda: smsc.smsc.journal.counts["bind"] == 2)
        assert smsc.smsc.journal.counts["nacked"] == 1


@pytest.mark.parametrize(("form", "status"), [("tlv", 0xC0), ("command", 0x03)])
async def test_our_own_client_nacks_a_malformed_pdu_and_goes_on(
    form: str, status: int, tmp_path: Path
) -> None:
    async with (
        serving(f"malformed:{form}=1", log=tmp_path / "log") as smsc,
        bound(our_client(smsc)) as (link, inbox),
    ):
        for count in (1, 2):
            link.submit(prepared(link, 1))
            await inbox.until_received(count)
        assert {line["status"] for line in smsc.events("nacked")} == {status}
        assert smsc.smsc.journal.counts["bind"] == 1


async def test_a_receipt_comes_before_the_answer() -> None:
    async with serving("early=1") as smsc:
        client = await smsc.bound()
        client.request(pdu.SUBMIT_SM, submission())
        early, answer = [await client.until(lambda frame: True) for _ in range(2)]
        assert (early.command, answer.command) == (pdu.DELIVER_SM, pdu.SUBMIT_SM_RESP)
        assert read(pdu.decode_sm(early.body))["id"] == pdu.decode_string(answer.body)


async def test_an_early_receipt_finds_another_session_when_its_own_only_sends() -> None:
    async with serving("early=1,delay:10s=1", receipt_delay_s=10) as smsc:
        sender, receiver = await smsc.bound("tx"), await smsc.bound("rx")
        sender.request(pdu.SUBMIT_SM, submission())
        await receiver.receipt()
        assert await sender.quiet(0)


async def test_a_receipt_comes_late() -> None:
    async with serving(script="after 0 submits: late:300ms") as smsc:
        client = await smsc.bound()
        late, other = [(await client.submit())[1] for _ in range(2)]
        assert [read(await client.receipt())["id"] for _ in range(2)] == [other, late]


async def test_a_receipt_comes_a_thousand_times() -> None:
    async with serving("duplicate:1000=1") as smsc, bound(our_client(smsc)) as (link, inbox):
        link.submit(prepared(link, 1))
        await inbox.until_received(1_000)
        assert {receipt.ref for receipt in inbox.receipts} == {
            answer.ref for answer in inbox.answers
        }
        await inbox.settle(0.1)
        assert (len(inbox.receipts), smsc.smsc.receipts_owed) == (1_000, 0)


@pytest.mark.parametrize(
    ("kind", "state"), [("fail", ReceiptState.UNDELIV), ("fail:REJECTD", ReceiptState.REJECTD)]
)
async def test_a_receipt_says_that_it_failed(kind: str, state: ReceiptState) -> None:
    async with (
        serving(script=f"after 1 submit: {kind}") as smsc,
        bound(our_client(smsc)) as (link, inbox),
    ):
        link.submit(prepared(link, 3))
        await inbox.until_received(3)
        states = {receipt.ref: receipt.state for receipt in inbox.receipts}
        assert [states[answer.ref] for answer in inbox.answers] == [
            ReceiptState.DELIVRD,
            state,
            ReceiptState.DELIVRD,
        ]


@pytest.mark.parametrize(
    ("kind", "second"),
    [("contradict", ReceiptState.ACCEPTD), ("contradict:UNDELIV", ReceiptState.UNDELIV)],
)
async def test_a_receipt_is_contradicted_by_the_next(kind: str, second: ReceiptState) -> None:
    async with serving(f"{kind}=1,early=0.5") as smsc, bound(our_client(smsc)) as (link, inbox):
        link.submit(prepared(link, 10))
        await inbox.until_received(20)
        for answer in inbox.answers:
            assert [receipt.state for receipt in inbox.receipts if receipt.ref == answer.ref] == [
                ReceiptState.DELIVRD,
                second,
            ]


@pytest.mark.parametrize(
    ("dialect", "form"),
    [
        ("ids-hex", "{:X}"),
        ("ids-decimal", "{:d}"),
        ("ids-padded", "{:020x}"),
        ("tlvs-only", "{:x}"),
        ("text-only", "{:x}"),
    ],
)
async def test_receipts_print_ids_in_dialects(dialect: str, form: str) -> None:
    async with serving(f"{dialect}=1") as smsc, bound(our_client(smsc)) as (link, inbox):
        link.submit(prepared(link, 1))
        [receipt] = await inbox.until_received(1)
        [answer] = inbox.answers
        assert (receipt.ref, receipt.state) == (
            form.format(int(answer.ref or "", 16)),
            ReceiptState.DELIVRD,
        )
        assert (b"id:" in receipt.raw) == (dialect != "tlvs-only")
        assert (receipt.user_message_reference is None) == (dialect == "text-only")


async def test_answers_may_print_ids_in_decimal() -> None:
    async with (
        serving("ids-hex=1", id_format="dec") as smsc,
        bound(our_client(smsc)) as (link, inbox),
    ):
        link.submit(prepared(link, 1))
        [receipt] = await inbox.until_received(1)
        [answer] = inbox.answers
        assert receipt.ref == f"{int(answer.ref or ''):X}"


async def test_receipts_print_dates_and_errors_in_dialects() -> None:
    async with (
        serving(script="after 1 submit: dates-12, err-letters") as smsc,
        bound(our_client(smsc)) as (link, inbox),
    ):
        link.submit(prepared(link, 2, "233201234002"))
        receipts = await inbox.until_received(2)
        assert [receipt.error for receipt in receipts] == ["027", "E27"]
        assert [len(receipt.raw.split(b"done date:")[1].split()[0]) for receipt in receipts] == [
            10,
            12,
        ]


async def test_a_seed_makes_chaos_repeatable(tmp_path: Path) -> None:
    async def fates(seed: int, log: Path) -> list[Any]:
        async with serving("throttle=0.3,duplicate=0.3,refuse=0.2", seed=seed, log=log) as smsc:
            client = await smsc.bound()
            for _ in range(50):
                await client.submit()
            return [line["chaos"] for line in smsc.events("submit_sm")]

    first, again, other = [
        await fates(seed, tmp_path / str(number)) for number, seed in enumerate((7, 7, 8))
    ]
    assert first == again
    assert first != other
    assert {kind for acts in first for kind in acts} == {"throttle", "duplicate", "refuse"}
