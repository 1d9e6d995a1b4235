"""Handsets send texts whose process or database goes, or a flood of them (docs/reliability.md, rows
44, 45 and 46).
"""

import time
from collections.abc import Callable

import pytest

from heliograph.inbound.receive.receiver import ANSWER_WITHIN_S
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.deployment import ALONE, Deployment
from tests.support.faults.handsets import TextsSeen, compared, own_number, stored, taken
from tests.support.faults.matrix import quick_or_long

TEXTS_A_SECOND = int(quick_or_long(50, 200))
FLOOD_A_SECOND = int(quick_or_long(200, 1_000))
WINDOW = 10


def ended(deployment: Deployment, carrier: CarrierUnderTest) -> TextsSeen:
    """Returns what has become of all texts once the processes are stopped: none may be lost."""
    deployment.settle()
    deployment.stop()
    seen = compared(deployment, carrier)
    assert (seen.lost, seen.twice) == (0, 0), seen
    return seen


def until_taken(deployment: Deployment, carrier: CarrierUnderTest, phones: set[str]) -> float:
    return deployment.until(lambda: phones <= set(taken(carrier)), "these texts are taken")


@pytest.mark.fault(44)
def test_a_process_killed_between_a_text_and_its_answer_stores_it_once(
    deployment: Deployment,
) -> None:
    carrier = deployment.carrier("--mo-rate", str(TEXTS_A_SECOND))
    own_number(deployment, carrier)
    deployment.start()
    deployment.clients.send(20)
    deployment.settle()
    carrier.wait_for("text_answered", 10)
    carrier.proxy.swallow("client")  # what is answered from now on does not arrive
    deployment.until(
        lambda: len(set(stored(deployment)) - set(taken(carrier))) >= 10,
        "texts are stored whose answers the carrier has not heard",
    )
    unanswered = set(stored(deployment)) - set(taken(carrier))
    deployment.sender.process.kill()
    deployment.sender.process.wait()
    carrier.proxy.swallow_no_more()
    deployment.run(deployment.sender.name)
    recovered_s = until_taken(deployment, carrier, unanswered)
    seen = ended(deployment, carrier)
    assert seen.again >= len(unanswered)
    deployment.holds(
        recovered_s=recovered_s,
        how=(
            f"kill -9 when {len(unanswered)} texts were stored and not answered; of {seen.stored}"
            f" texts 0 lost, 0 twice, {seen.again} sent again; from a process started then until"
            " those were answered"
        ),
    )


@pytest.mark.fault(45)
def test_texts_that_come_while_the_database_is_away_are_stored_once(
    new_deployment: Callable[[str], Deployment],
) -> None:
    """In the long form it is away for longer than texts wait for it: they are sent back, or the
    bind is closed because the process's lease has ended.
    """
    deployment = new_deployment("postgresql")
    carrier = deployment.carrier("--mo-rate", str(TEXTS_A_SECOND))
    database = deployment.database_proxy()
    own_number(deployment, carrier)
    deployment.start(ALONE)
    deployment.clients.send(20)
    deployment.settle()
    carrier.wait_for("text_answered", 10)
    database.refuse()
    before, away_s = len(taken(carrier)), quick_or_long(4, ANSWER_WITHIN_S + 5)
    time.sleep(away_s)  # how long it is away is the fault
    meanwhile = {event["sender"] for event in carrier.events("text")} - set(taken(carrier))
    sent_back = sum(event["status"] != 0 for event in carrier.events("text_answered"))
    assert len(meanwhile) > TEXTS_A_SECOND
    assert len(taken(carrier)) - before <= TEXTS_A_SECOND, "answered, and not stored"
    closed = len(carrier.events("lost"))
    assert bool(sent_back or closed) == (away_s > ANSWER_WITHIN_S)
    database.accept()
    recovered_s = until_taken(deployment, carrier, meanwhile)
    seen = ended(deployment, carrier)
    deployment.holds(
        recovered_s=recovered_s,
        how=(
            f"connections refused for {away_s:.0f} s, {len(meanwhile)} texts meanwhile, {sent_back}"
            f" answers 0x64, {closed} binds closed; of {seen.stored} texts 0 lost, 0 twice;"
            " from its return until those were answered"
        ),
    )


@pytest.mark.fault(46)
def test_a_flood_of_texts_holds_up_no_slow_sending(deployment: Deployment) -> None:
    answers_s = 0.5
    carrier = deployment.carrier(
        "--mo-rate",
        str(FLOOD_A_SECOND),
        "--answer-delay-ms",
        f"{answers_s * 1_000:.0f}",
        window=WINDOW,
    )
    own_number(deployment, carrier)
    deployment.start()
    carrier.wait_for("text_answered", FLOOD_A_SECOND)
    count = int(quick_or_long(60, 400))
    texts, began_s = len(taken(carrier)), time.monotonic()
    deployment.clients.send(count)
    deployment.settle()
    took_s = time.monotonic() - began_s
    per_second = (len(taken(carrier)) - texts) / took_s
    assert carrier.waiting()[1] == WINDOW
    assert per_second > 0
    seen = ended(deployment, carrier)
    allowed_s = count * answers_s / WINDOW
    deployment.holds(
        how=(
            f"{per_second:.0f} texts a second beside {count} messages through a window of"
            f" {WINDOW} answered after {answers_s} s: {took_s:.0f} s instead of {allowed_s:.0f};"
            f" of {seen.stored} texts 0 lost, 0 twice"
        )
    )
