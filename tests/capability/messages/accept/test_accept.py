"""Accepting sends refuses some with a reason and stores the others, and one bad request never takes
its neighbours down.
"""

from collections import Counter

import pytest

from heliograph import accounts, carriers
from heliograph.base import clock
from heliograph.base.errors import Conflict, InsufficientCredits, RateLimited
from heliograph.carriers import current_rates, routing
from heliograph.messages.accept.acceptor import LARGE_SEND
from heliograph.messages.accept.batch import SendResult as Accepted
from heliograph.messages.accept.response import response_of_send
from heliograph.messages.tables import messages, queue, sends
from heliograph.requests.stored_keys import KEPT_MS
from heliograph.requests.tables import idempotency_keys
from tests.support.capability.accepting import answer, at_once, reasons
from tests.support.capability.sending import House
from tests.support.factories import PHONE, SENDER, awaited, phones, send_request

NIGERIA, KENYA, LONDON = "2348021234567", "254712345678", "442079460123"
DAY_MS = 86_400_000


# what is judged


@awaited
async def test_recipients_are_sorted_into_accepted_duplicate_and_rejected_each_at_its_place(
    house: House,
) -> None:
    with house.db.write() as tx:
        accounts.change(tx, house.amina_id, countries=["GH", "NG", "KE"])
        routing.remove_route(tx, "")
        routing.set_route(tx, "233", ["carrier"])
        routing.set_route(tx, "254", ["simulator"])
        current_rates.store(tx, "254", 3)
        current_rates.store(tx, "2332099", None)
    accepted = await house.send(
        [
            PHONE,
            "nonsense",
            KENYA,
            "+233 20 123 4567",
            NIGERIA,
            LONDON,
            "233209912345",
            "nonsense",
            NIGERIA,
        ],
        reference="r-1",
    )
    told = response_of_send(accepted.send)
    first, kenyan = (
        f"msg_{text}" for text in (told["message_ids"][0][4:], told["message_ids"][2][4:])
    )
    assert told["message_ids"] == [first, None, kenyan, first, None, None, None, None, None]
    assert told["rejected"] == [
        {"index": 1, "recipient": "nonsense", "reason": "invalid_number"},
        {"index": 4, "recipient": NIGERIA, "reason": "no_route"},
        {"index": 5, "recipient": LONDON, "reason": "country_not_allowed"},
        {"index": 6, "recipient": "233209912345", "reason": "no_rate"},
        {"index": 7, "recipient": "nonsense", "reason": "invalid_number"},
        {"index": 8, "recipient": NIGERIA, "reason": "no_route"},
    ]
    figures = {
        "accepted": 2,
        "duplicates": 1,
        "credits_required": 4,
        "credits_used": 4,
        "credits_remaining": 996,
        "message_id": None,
    }
    assert {name: told[name] for name in figures} == figures
    assert [(row.recipient, row.credits) for row in house.messages()] == [
        (int(PHONE), 1),
        (int(KENYA), 3),
    ]
    assert house.woken == [{house.carrier_id, carriers.SIMULATOR_ID}]
    house.assert_sound()


@awaited
async def test_nothing_is_stored_when_no_recipient_can_be_sent_to(house: House) -> None:
    results = await at_once(
        house,
        send_request(house.amina_id, ["nonsense", "1"]),
        send_request(house.amina_id, PHONE, sender="NOBODY"),
    )
    assert reasons(results) == ["no_valid_recipient", "sender_not_approved"]
    assert (house.sends(), house.count(messages), house.credits()) == (0, 0, 1_000)


@awaited
async def test_a_sender_is_compared_without_case_and_sent_as_approved(house: House) -> None:
    link = await house.submitted(sender="amina")
    assert link.submitted[0].sender == SENDER


@awaited
async def test_a_dry_run_judges_and_prices_and_stores_nothing(house: House) -> None:
    accepted = await house.send([PHONE, PHONE, "nonsense"], "x" * 161, dry_run=True, key="k-1")
    told = response_of_send(accepted.send, dry_run=True)
    assert (told["status"], told["send_id"], told["message_id"], told["message_ids"]) == (
        "dry_run",
        None,
        None,
        [None] * 3,
    )
    assert (
        told["accepted"],
        told["duplicates"],
        told["segments"],
        told["credits_required"],
        told["credits_used"],
    ) == (1, 1, 2, 2, 0)
    poor = await house.send(phones(600), "x" * 161, dry_run=True)
    assert (poor.send.credits_required, poor.send.credits_remaining) == (1_200, 1_000)
    assert [house.count(table) for table in (sends, messages, queue, idempotency_keys)] == [0] * 4
    assert (house.credits(), house.woken) == (1_000, [])
    assert not (await house.send(PHONE, "the same key", key="k-1")).replayed


@awaited
async def test_in_sandbox_the_price_is_told_and_nothing_charged(house: House) -> None:
    accepted = await house.send([PHONE, KENYA], sandbox=True, sender="sandbox")
    assert (
        accepted.send.credits_required,
        accepted.send.credits_used,
        accepted.send.credits_remaining,
    ) == (2, 0, 1_000)
    assert house.woken == [{carriers.SIMULATOR_ID}]
    assert [row.credits for row in house.messages()] == [0, 0]
    refused = await house.tried([PHONE, "233200000004"], sandbox=True)
    assert isinstance(refused, InsufficientCredits)
    assert (house.sends(), house.credits(), house.entries("sms_charge")) == (1, 1_000, [])


@awaited
async def test_the_daily_cap_holds_until_midnight_utc(house: House) -> None:
    with house.db.write() as tx:
        accounts.change(tx, house.amina_id, daily_credits=10)
    # a second after midnight: all of it is one day
    clock.move(by_ms=DAY_MS - clock.now_ms() % DAY_MS + 1_000)
    results = await at_once(house, *(send_request(house.amina_id, phones(3)) for _ in range(4)))
    assert reasons(results) == ["accepted"] * 3 + ["daily_cap_reached"]
    refused = results[3]
    assert isinstance(refused, RateLimited)
    assert DAY_MS // 1_000 - 120 < (refused.retry_after_s or 0) <= DAY_MS // 1_000
    await house.send()
    assert isinstance(await house.tried(), RateLimited)
    await house.send(sandbox=True)  # costs nothing
    clock.move(by_ms=DAY_MS)
    await house.send(phones(10))
    assert isinstance(await house.tried(), RateLimited)
    assert house.credits() == 980
    house.assert_sound()


# one key, one send


@awaited
async def test_a_key_replays_its_answer_to_the_byte_and_conflicts_with_another_body(
    house: House,
) -> None:
    body = ([PHONE, "nonsense", PHONE, KENYA], "hello")
    first = await house.send(*body, key="k-1", reference="r")
    house.carrier_is_removed_from_routes()
    clock.move(by_ms=3_600_000)
    replay = await house.send(*body, key="k-1", reference="r")
    assert (first.replayed, replay.replayed) == (False, True)
    assert answer(replay) == answer(first)
    assert isinstance(await house.tried(PHONE, "other", key="k-1"), Conflict)
    assert house.sends() == 1


@awaited
async def test_equal_keys_in_one_batch_are_one_send(house: House) -> None:
    results = await at_once(
        house,
        *(send_request(house.amina_id, key="k-1") for _ in range(50)),
        send_request(house.amina_id, text="other", key="k-1"),
        send_request(house.amina_id, key="k-2"),
    )
    assert Counter(result.replayed for result in results if isinstance(result, Accepted)) == {
        True: 49,
        False: 2,
    }
    assert reasons(results)[50] == "idempotency_key_reused"
    assert (house.sends(), house.credits()) == (2, 998)
    house.assert_sound()


@awaited
@pytest.mark.parametrize("at_once_too", [False, True], ids=["one after the other", "in one batch"])
async def test_a_key_is_another_one_on_another_path(house: House, at_once_too: bool) -> None:
    first, second = (
        send_request(house.amina_id, key="k-1"),
        send_request(house.amina_id, text="other", key="k-1"),
    )
    second.path = "POST /otp/send"
    results = (
        await at_once(house, first, second)
        if at_once_too
        else [*await at_once(house, first), *await at_once(house, second)]
    )
    again = send_request(house.amina_id, text="other", key="k-1")
    again.path = second.path
    assert reasons(results) == ["accepted", "accepted"]
    assert [
        result.replayed
        for result in [*results, *await at_once(house, again)]
        if isinstance(result, Accepted)
    ] == [False, False, True]
    assert (house.sends(), house.credits()) == (2, 998)


@awaited
async def test_a_refused_request_leaves_its_key_to_the_next_one_in_the_same_batch(
    house: House,
) -> None:
    results = await at_once(
        house,
        send_request(house.amina_id, phones(400), "x" * 400, key="k-1"),
        send_request(house.amina_id, key="k-1"),
    )
    assert reasons(results) == ["insufficient_credits", "accepted"]


@awaited
async def test_equal_keys_in_both_lanes_are_one_send(house: House) -> None:
    large, small = phones(LARGE_SEND + 1), phones(1)
    results = await at_once(
        house, *(send_request(house.amina_id, to, key="k-1") for to in (large, small) * 5)
    )
    assert Counter(reasons(results)) == {"accepted": 5, "idempotency_key_reused": 5}
    assert house.sends() == 1
    house.assert_sound()


@awaited
async def test_a_key_is_free_again_after_72_hours(house: House) -> None:
    await house.send(key="k-1")
    clock.move(by_ms=KEPT_MS - 60_000)
    assert (await house.send(key="k-1")).replayed
    clock.move(by_ms=60_000)
    assert not (await house.send(text="another", key="k-1")).replayed
    assert (await house.send(text="another", key="k-1")).replayed
    assert isinstance(await house.tried(key="k-1"), Conflict)
    assert (house.sends(), house.count(idempotency_keys)) == (2, 1)
