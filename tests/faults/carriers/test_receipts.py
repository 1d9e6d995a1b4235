"""Receipts come too early, too often, with another word, or for a part (docs/reliability.md, rows
19 to 22).
"""

import time
from datetime import datetime
from typing import Any

import pytest

from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long

LONG_TEXT = 400  # octets: three segments


def statuses(message: dict[str, Any]) -> list[str]:
    return [step["status"] for step in message["timeline"]]


def ended_ms(message: dict[str, Any]) -> int:
    """Returns when the message came to its last state."""
    return round(datetime.fromisoformat(message["timeline"][-1]["at"]).timestamp() * 1_000)


@pytest.mark.fault(19)
def test_a_receipt_before_its_answer_is_kept_until_the_answer_comes(deployment: Deployment) -> None:
    carrier = deployment.carrier("--chaos", "early=1", "--answer-delay-ms", "300")
    deployment.start()
    deployment.clients.send(int(quick_or_long(40, 400)))
    deployment.settle()
    order = {
        (event["event"], event["message_id"]): number
        for number, event in enumerate(carrier.events("acknowledged", "answer"))
    }
    early = [
        message_id
        for kind, message_id in order
        if kind == "acknowledged" and order[kind, message_id] < order["answer", message_id]
    ]
    assert len(early) == len(carrier.submits())
    deployment.holds(
        how=(
            f"the SMSC sends each receipt 300 ms before submit_sm_resp: {len(early)} acknowledged,"
            " so stored, before the answer named the id"
        )
    )


@pytest.mark.fault(20)
def test_a_receipt_that_comes_1000_times_changes_a_message_once(deployment: Deployment) -> None:
    count, copies = int(quick_or_long(3, 20)), 1_000
    carrier = deployment.carrier("--chaos", f"duplicate:{copies}=1")
    deployment.start()
    delivered, failed = deployment.clients.send(count), deployment.clients.send(count, ending="000")
    deployment.settle()
    before = {message_id: deployment.message(message_id) for message_id in (*delivered, *failed)}
    acknowledged = carrier.wait_for("acknowledged", 2 * count * copies, 60)
    # the first of each
    stored_ms = {event["message_id"]: event["at_ms"] for event in reversed(acknowledged)}
    ids = {submit["recipient"]: submit["message_id"] for submit in carrier.submits()}
    assert all(
        ended_ms(message) <= stored_ms[ids[message["recipient"]]] for message in before.values()
    ), "the last of them counts"
    assert {message_id: deployment.message(message_id) for message_id in before} == before
    assert {tuple(statuses(before[message_id])) for message_id in delivered} == {
        ("queued", "sent", "delivered")
    }
    assert {tuple(statuses(before[message_id])) for message_id in failed} == {
        ("queued", "sent", "failed")
    }
    deployment.holds(
        failed=count,
        how=(
            f"{2 * count * copies:,} receipts of {2 * count} messages, DELIVRD and UNDELIV, all"
            " acknowledged"
        ),
    )


@pytest.mark.fault(21)
def test_a_last_word_stays_whatever_is_said_after_it(deployment: Deployment) -> None:
    count = int(quick_or_long(20, 200))
    carrier = deployment.carrier(
        "--chaos", "contradict=1", script="every 2 submits: contradict:UNDELIV"
    )
    deployment.start()
    delivered, failed = deployment.clients.send(count), deployment.clients.send(count, ending="000")
    deployment.settle()
    carrier.wait_for("acknowledged", 4 * count)
    assert {tuple(statuses(deployment.message(message_id))) for message_id in delivered} == {
        ("queued", "sent", "delivered")
    }
    assert {tuple(statuses(deployment.message(message_id))) for message_id in failed} == {
        ("queued", "sent", "failed")
    }
    deployment.holds(
        failed=count,
        how="0.2 s after DELIVRD and UNDELIV the SMSC says ACCEPTD, of every second one UNDELIV",
    )


@pytest.mark.fault(22)
def test_a_message_whose_second_part_fails_has_failed_and_was_never_delivered(
    deployment: Deployment,
) -> None:
    deployment.carrier(
        script=(
            "after 1 submits: fail\nafter 4 submits: fail, late:1s\nafter 7 submits: refuse:0x0b\n"
        )
    )
    deployment.start()
    seen: dict[str, list[str]] = {}
    for _ in range(3):
        [message_id] = deployment.clients.send(1, octets=LONG_TEXT)
        polled = seen[message_id] = []
        until_s = time.monotonic() + 40
        while not polled or polled[-1] not in ("failed", "delivered"):
            assert time.monotonic() < until_s, polled
            polled.append(deployment.message(message_id)["status"])
    told = [deployment.message(message_id) for message_id in seen]
    assert not any("delivered" in polled for polled in seen.values())
    assert [statuses(message)[-1] for message in told] == ["failed"] * 3
    assert [(message["error"]["code"], message["credits_refunded"]) for message in told] == [
        ("undeliverable", 0),
        ("undeliverable", 0),
        ("carrier_rejected", 1),
    ]
    deployment.holds(
        failed=3,
        how=(
            "part 2 of 3: UNDELIV at once; UNDELIV 1 s after the others' DELIVRD; refused 0x0B, its"
            " credit refunded"
        ),
    )
