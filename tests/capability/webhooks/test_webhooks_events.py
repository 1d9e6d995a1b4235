"""Events are written with the change that they tell of: once each, for those who want to
hear of it, and for nobody else.
"""

from collections.abc import Callable
from typing import Any

import pytest

from heliograph import accounts, wallet
from heliograph.base import clock, ids
from heliograph.base.errors import Unavailable
from heliograph.carriers import ReceiptState, SubmitOutcome, current_rates
from heliograph.messages.read.message import as_record, message_of
from heliograph.messages.sweeps import fail_expired
from heliograph.messages.tables import messages
from heliograph.wallet import ledger
from heliograph.webhooks import endpoints
from heliograph.webhooks.tables import webhook_events
from tests.support.capability.sending import House, ScriptedLink
from tests.support.capability.webhooks import endpoint, events, outcomes, waiting
from tests.support.factories import PHONE, awaited, open_account, open_route, phones

Story = Callable[[ScriptedLink], None]


def accepted(link: ScriptedLink) -> str:
    return link.answer(*link.open.values())[0]


def accepted_and(state: ReceiptState) -> Story:
    return lambda link: void(link.receive(accepted(link), PHONE, state))


def void(_: object) -> None:
    """A story has no answer."""


def refused(link: ScriptedLink) -> None:
    link.answer(*link.open.values(), outcome=SubmitOutcome.REFUSED, command_status=0x0B)


STORIES: dict[str, tuple[Story, list[str]]] = {
    "accepted": (lambda link: void(accepted(link)), ["message.sent"]),
    "delivered": (accepted_and(ReceiptState.DELIVRD), ["message.sent", "message.delivered"]),
    "not delivered": (accepted_and(ReceiptState.UNDELIV), ["message.sent", "message.failed"]),
    "on its way": (accepted_and(ReceiptState.ENROUTE), ["message.sent"]),
    "refused": (refused, ["message.failed"]),
}


@awaited
@pytest.mark.parametrize("story", STORIES)
async def test_each_state_that_a_message_reaches_is_one_event_with_its_record(
    house: House, story: str
) -> None:
    tell, kinds = STORIES[story]
    endpoint(house.db, house.amina_id)
    link = await house.submitted(reference="order 7")
    tell(link)
    await link.turn.run_once()
    for receipt in link.acknowledged:  # what is said twice changes nothing the second time
        link.turn.on_receipts([receipt])
    await link.turn.run_once()
    told = events(house.db)
    assert sorted(event["event"] for event in told) == sorted(kinds)
    with house.db.read() as tx:
        [message] = house.messages()
        last = as_record(
            message_of(tx, house.amina_id, ids.text_of_raw("msg", message.id), sandbox=False)
        )
        shown = accounts.text_id(accounts.by_id(tx, house.amina_id))
    for event in told:
        status = event["event"].removeprefix("message.")
        assert event["id"].startswith("evt_")
        assert (event["account_id"], event["sandbox"], event["data"]["status"]) == (
            shown,
            False,
            status,
        )
        assert event["timestamp"] == event["data"][f"{status}_at"] == last[f"{status}_at"]
        assert event["data"] == last or (
            status == "sent" and event["data"]["reference"] == "order 7"
        )
    assert len(waiting(house.db)) == len(kinds)


@awaited
async def test_a_receipt_that_came_before_its_answer_is_two_events(house: House) -> None:
    endpoint(house.db, house.amina_id)
    link = await house.submitted()
    link.receive("7a", PHONE)
    await link.turn.run_once()
    assert events(house.db) == []
    link.answer(*link.open.values(), ref="7a")
    await link.turn.run_once()
    assert [event["event"] for event in events(house.db)] == ["message.sent", "message.delivered"]
    assert [event["data"]["delivered_at"] is None for event in events(house.db)] == [True, False]


@awaited
async def test_the_end_of_validity_is_an_event(house: House) -> None:
    endpoint(house.db, house.amina_id)
    await house.send(phones(2), validity_s=60)
    clock.move(by_ms=61_000)
    await fail_expired(house.db, clock.now_ms())
    assert [(event["event"], event["data"]["error"]["code"]) for event in events(house.db)] == [
        ("message.failed", "expired")
    ] * 2


@awaited
async def test_nobody_else_hears_of_it_and_without_a_listener_nothing_is_written(
    house: House,
) -> None:
    other = open_account(house.db, "kofi", sender=None)
    endpoint(house.db, other)
    endpoint(house.db, house.amina_id, sandbox=True)
    endpoint(house.db, house.amina_id, kinds=["message.failed", "wallet.low_balance"])
    link = await house.submitted()
    accepted_and(ReceiptState.DELIVRD)(link)
    await link.turn.run_once()
    assert (house.statuses(), house.count(webhook_events), waiting(house.db)) == (
        ["delivered"],
        0,
        [],
    )


@awaited
async def test_a_partner_hears_of_its_customers_if_it_wants_to(house: House) -> None:
    customer = open_account(house.db, "customer", credits=10, parent_id=house.amina_id)
    for account_id, include in ((house.amina_id, True), (house.amina_id, False), (customer, False)):
        endpoint(house.db, account_id, kinds=["message.sent"], include_customers=include)
    await house.send(account_id=customer)
    await house.send()
    link = house.turn()
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
    told = events(house.db)
    assert sorted(event["account_id"][:4] for event in told) == ["acc_", "cus_"]
    assert len(waiting(house.db)) == 2 + 2  # two events, each of which two endpoints hear


@awaited
@pytest.mark.parametrize(("fate", "written"), [("lost", 0), ("reply lost", 1)])
async def test_an_event_stands_and_falls_with_its_change(
    house: House, fate: str, written: int
) -> None:
    endpoint(house.db, house.amina_id)
    link = await house.submitted()
    accepted(link)
    link.turn.claiming = False
    house.db.fates = [fate]
    with pytest.raises(Unavailable):
        await link.turn.run_once()
    assert (
        house.count(webhook_events) == written == house.count(messages, messages.c.status == "sent")
    )
    await link.turn.run_once()
    assert house.count(webhook_events) == 1


@awaited
async def test_low_credits_are_told_once_until_there_are_enough_again(house: House) -> None:
    endpoint(house.db, house.amina_id, kinds=["wallet.low_balance"])
    await house.send(phones(900))
    assert events(house.db) == []
    for _ in range(2):
        await house.send(phones(1))
    [event] = events(house.db)
    assert event["data"] == {
        "account_id": event["account_id"],
        "kind": "credits",
        "sms_credits": 99,
        "threshold": 100,
        "wallet": {"balance": 0, "currency": "GHS"},
    }
    with house.db.write() as tx:
        ledger.grant(tx, house.amina_id, 10, "more", now_ms=clock.now_ms())
        ledger.adjust_credits(tx, house.amina_id, -50, "a mistake", now_ms=clock.now_ms())
    assert [event["data"]["sms_credits"] for event in events(house.db)] == [99, 58]


@awaited
async def test_a_send_that_costs_nothing_fires_no_alarm(house: House) -> None:
    with house.db.write() as tx:
        current_rates.store(tx, "233", 0)
        wallet.set_low_balance(tx, house.amina_id, wallet.Thresholds(5_000, None))
    endpoint(house.db, house.amina_id, kinds=["wallet.low_balance"])
    await house.cache.refresh()
    await house.send()
    assert events(house.db) == []
    with house.db.write() as tx:
        current_rates.store(tx, "233", 1)
    await house.cache.refresh()
    await house.send()
    assert [event["data"]["sms_credits"] for event in events(house.db)] == [999]


@awaited
async def test_what_a_disabled_endpoint_misses_is_kept(house: House) -> None:
    made, _ = endpoint(house.db, house.amina_id)
    with house.db.write() as tx:
        endpoints.disable(tx, ids.text_of_raw(endpoints.PREFIX, made.id), now_ms=clock.now_ms())
    link = await house.submitted()
    accepted(link)
    await link.turn.run_once()
    assert (len(events(house.db)), waiting(house.db), outcomes(house.db)) == (
        1,
        [],
        [("missed", 0, None)],
    )


@awaited
async def test_sandbox_is_told_to_sandbox(house: House) -> None:
    endpoint(house.db, house.amina_id, sandbox=True)
    endpoint(house.db, house.amina_id)
    open_route(house.db, "carrier")
    result: Any = await house.send(sandbox=True, sender="SANDBOX")
    link = house.turn(carrier_id=1)
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
    assert result.send.sandbox
    assert [event["sandbox"] for event in events(house.db)] == [True]
    assert len(waiting(house.db)) == 1
