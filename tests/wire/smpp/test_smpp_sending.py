"""An SMSC that others wrote reads the texts, addresses and references of our submit_sm, and limits
are kept.
"""

from collections import Counter, defaultdict
from typing import Any

import pytest

from heliograph.carriers.link import LinkState, SubmitOutcome
from heliograph.carriers.smpp import user_message_reference
from heliograph.text import segments
from tests.support.wire.recorder import bound, opened, outgoing, prepared, submit_all
from tests.support.wire.smsc_peer import Smsc

GSM_LONG = "Dear customer, [your] order {4711} costs 20€ | à demain! " * 7
UCS2_LONG = "Заказ № 4711 готов 🎉🎉 " * 13
LATIN1_LONG = "Ihre Bestellung über 20 £ ist an Größe gewachsen. " * 8


def reassembled(submits: list[dict[str, Any]]) -> list[str]:
    """Returns the texts as a handset would show them, put together by user data header or sar_*
    TLVs, whichever is there.
    """
    texts: dict[object, dict[int, str]] = defaultdict(dict)
    for number, submit in enumerate(submits):
        reference, part = number, 1
        if submit["udh"]:
            element, length, reference, _, part = bytes.fromhex(submit["udh"])
            assert (element, length) == (0, 3)
        elif "sar_msg_ref_num" in submit:
            reference, part = submit["sar_msg_ref_num"], submit["sar_segment_seqnum"]
        texts[submit["recipient"], reference][part] = submit["text"]
    return ["".join(parts[part] for part in sorted(parts)) for parts in texts.values()]


@pytest.mark.parametrize("long", ["udh", "payload", "sar"])
@pytest.mark.parametrize(
    ("text", "encoding", "alphabet", "data_coding"),
    [
        (GSM_LONG, "GSM-7", "gsm", 0),
        (UCS2_LONG, "UCS-2", "gsm", 8),
        (LATIN1_LONG, "GSM-7", "latin1", 3),
        ("Your order 4711 has left our house. " * 9, "GSM-7", "ascii", 1),
        (GSM_LONG, "GSM-7", "latin1", 8),  # Latin-1 has no euro sign
        ("short", "GSM-7", "gsm", 0),
        ("a short one costs 1€", "GSM-7", "ascii", 8),
    ],
)
async def test_a_text_arrives_as_it_was_written(
    smsc: Smsc, long: str, text: str, encoding: str, alphabet: str, data_coding: int
) -> None:
    counted = len(segments.split(text, encoding))
    async with bound(smsc.settings(long=long, alphabet=alphabet, window=20)) as (link, inbox):
        submissions = link.prepare(outgoing(text, encoding=encoding, segments=counted))
        await submit_all(link, inbox, submissions)
    submits = (await smsc.log())["submits"]
    assert reassembled(submits) == [text]
    assert {submit["data_coding"] for submit in submits} == {data_coding}
    # each segment is carried once
    assert sum(submission.parts for submission in submissions) == 2**counted - 1
    assert set(inbox.outcomes()) == {SubmitOutcome.ACCEPTED}


@pytest.mark.parametrize(
    ("long", "forms"), [("udh", {"udh"}), ("payload", {"in_payload"}), ("sar", {"sar_msg_ref_num"})]
)
async def test_a_long_message_takes_one_form_only(smsc: Smsc, long: str, forms: set[str]) -> None:
    async with bound(smsc.settings(long=long)) as (link, inbox):
        await submit_all(link, inbox, link.prepare(outgoing(GSM_LONG)))
    for submit in (await smsc.log())["submits"]:
        assert {
            form for form in ("udh", "in_payload", "sar_msg_ref_num") if submit.get(form)
        } == forms
        assert bool(submit["esm_class"] & 0x40) == (long == "udh")


async def test_a_second_try_carries_the_same_references(smsc: Smsc) -> None:
    message = outgoing(GSM_LONG)
    async with bound(smsc.settings()) as (link, inbox):
        for _ in range(2):
            await submit_all(link, inbox, link.prepare(message))
    submits = (await smsc.log())["submits"]
    first, second = submits[: len(submits) // 2], submits[len(submits) // 2 :]
    assert [submit["udh"] for submit in first] == [submit["udh"] for submit in second]
    references = [submit["user_message_reference"] for submit in first]
    assert references == [submit["user_message_reference"] for submit in second]
    assert references == [
        user_message_reference(message.message_id, part) for part in range(1, len(first) + 1)
    ]


@pytest.mark.parametrize(
    ("sender", "given", "ton_npi"),
    [
        ("AMINA", {}, [5, 0]),
        ("233201234567", {}, [1, 1]),
        ("1234", {}, [3, 0]),
        ("AMINA", {"source_ton_npi": (0, 9)}, [0, 9]),
    ],
)
async def test_addresses_validity_and_flags_are_read_back(
    smsc: Smsc, sender: str, given: dict[str, Any], ton_npi: list[int]
) -> None:
    async with bound(smsc.settings(dest_ton_npi=(2, 8), **given)) as (link, inbox):
        await submit_all(
            link,
            inbox,
            link.prepare(outgoing(sender=sender, validity_s=86_400 + 3_723, priority=1)),
        )
    submit = (await smsc.log())["submits"][0]
    assert (submit["sender"], submit["recipient"]) == (sender, "233201234567")
    assert (submit["source_ton_npi"], submit["dest_ton_npi"]) == (ton_npi, [2, 8])
    assert submit["validity_s"] == pytest.approx(86_400 + 3_723, abs=5)
    assert (submit["priority_flag"], submit["replace_if_present"]) == (1, 0)


@pytest.mark.parametrize(
    ("receipts", "wanted"), [("all", [1, 1, 1]), ("last", [0, 0, 1]), ("none", [0, 0, 0])]
)
async def test_receipts_are_asked_for_as_the_setting_says(
    smsc: Smsc, receipts: str, wanted: list[int]
) -> None:
    async with bound(smsc.settings(receipts=receipts)) as (link, inbox):
        submissions = link.prepare(outgoing("x" * 400))
        await submit_all(link, inbox, submissions)
    assert [submit["registered_delivery"] for submit in (await smsc.log())["submits"]] == wanted
    assert [submission.wants_receipt for submission in submissions] == [
        bool(asked) for asked in wanted
    ]


async def test_the_window_is_never_exceeded(smsc: Smsc) -> None:
    await smsc.behave(delay_ms=5)
    async with bound(smsc.settings(window=5, binds=3)) as (link, inbox):
        await inbox.until(lambda: inbox.states[-1][1] == "3 of 3 binds")
        assert link.room() == 15
        await submit_all(link, inbox, prepared(link, 150))
    assert (await smsc.log())["window_peak"] == 5


async def test_work_is_spread_evenly_over_the_binds(smsc: Smsc) -> None:
    async with bound(smsc.settings(binds=3)) as (link, inbox):
        await inbox.until(lambda: inbox.states[-1][1] == "3 of 3 binds")
        for count in (6, 1, 1, 1):
            link.submit(prepared(link, count))
        await inbox.until_answered(9)
    submits = (await smsc.log())["submits"]
    assert sorted(Counter(submit["session"] for submit in submits).values()) == [3, 3, 3]


async def test_ten_parts_go_through_a_window_of_five(smsc: Smsc) -> None:
    text = "x" * 1_530
    async with bound(smsc.settings(window=5)) as (link, inbox):
        await submit_all(link, inbox, link.prepare(outgoing(text, segments=10)))
    assert reassembled((await smsc.log())["submits"]) == [text]


async def test_no_second_sees_more_than_the_rate(smsc: Smsc) -> None:
    async with bound(smsc.settings(tps=40, window=100, binds=2)) as (link, inbox):
        assert link.room() == 10  # a quarter second's worth
        await submit_all(link, inbox, prepared(link, 80))
    arrivals = [submit["at_ms"] for submit in (await smsc.log())["submits"]]
    # a few milliseconds less than a second: what left a second apart may arrive a little closer
    assert max(sum(at <= other < at + 950 for other in arrivals) for at in arrivals) <= 40
    assert arrivals[-1] - arrivals[0] >= 1_000 * (80 - 10) / 40 - 200


async def test_what_there_is_no_room_for_is_unspent(smsc: Smsc) -> None:
    await smsc.behave(mute=True)
    async with bound(smsc.settings(window=3)) as (link, inbox):
        submissions = prepared(link, 5)
        link.submit(submissions)
        assert inbox.answers == []  # never from within submit
        await inbox.until_answered(2)
        assert inbox.outcomes() == [SubmitOutcome.UNSPENT] * 2
        assert {answer.message_id for answer in inbox.answers} == {
            submission.message_id for submission in submissions[3:]
        }
        await smsc.until("submits", 3)
    assert inbox.outcomes() == [SubmitOutcome.UNSPENT] * 2 + [SubmitOutcome.UNANSWERED] * 3


async def test_an_unbound_link_has_no_room(smsc: Smsc) -> None:
    await smsc.behave(bind_statuses=[0x08] * 100)
    async with opened(smsc.settings()) as (link, inbox):
        await inbox.until_state(LinkState.BACKING_OFF)
        link.submit(prepared(link, 1))
        await inbox.until_answered(1)
        assert link.room() == 0
        assert inbox.outcomes() == [SubmitOutcome.UNSPENT]
