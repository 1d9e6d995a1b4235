"""Every limit of what a phone may be sent, and of what becomes of the codes that are given back, is
tried at its edge, on both databases.
"""

import pytest

from heliograph.base import clock
from heliograph.messages.tables import messages, queue
from heliograph.otp.tables import otps
from tests.support.capability.passwords import OtpHouse, Sent, wrong
from tests.support.factories import PHONE, awaited, open_account, phones

SECOND_MS, MINUTE_MS, HOUR_MS = 1_000, 60_000, 3_600_000


@pytest.fixture(autouse=True)
def minute_begins() -> None:
    clock.move(MINUTE_MS - clock.now_ms() % MINUTE_MS)


def until(at_ms: int) -> int:
    """Returns the whole seconds from now."""
    return (at_ms - clock.now_ms()) // 1_000


async def is_refused(otp_house: OtpHouse, reason: str, until_ms: int, phone: str = PHONE) -> bool:
    """Returns whether a send is refused so, until that moment, give or take the seconds that the
    test takes.
    """
    before, outcome = until(until_ms), await otp_house.ask(phone)
    return outcome[0] == reason and before - 5 <= int(outcome[1] or 0) <= before + 5


async def edge(otp_house: OtpHouse, reason: str, until_ms: int) -> None:
    """Asserts that a send is refused seconds before that moment, and accepted then."""
    clock.move(until_ms - clock.now_ms() - 6 * SECOND_MS)
    assert await is_refused(otp_house, reason, until_ms)
    clock.move(until_ms - clock.now_ms())
    assert isinstance(await otp_house.ask(), Sent)


@awaited
async def test_one_in_thirty_seconds(otp_house: OtpHouse) -> None:
    await otp_house.sent()
    first_ms = clock.now_ms()
    assert await is_refused(otp_house, "otp_too_soon", first_ms + 30 * SECOND_MS)
    assert isinstance(await otp_house.ask(phones(1)[0]), Sent)
    await edge(otp_house, "otp_too_soon", first_ms + 30 * SECOND_MS)
    assert (
        otp_house.count(otps),
        otp_house.count(messages),
        otp_house.count(queue),
        otp_house.credits(),
    ) == (
        3,
        3,
        3,
        997,
    )
    otp_house.assert_sound()


@awaited
async def test_three_in_ten_minutes_verified_or_not(otp_house: OtpHouse) -> None:
    first_ms = clock.now_ms()
    for _ in range(3):
        assert await otp_house.give((await otp_house.sent()).code) == "verified"
        clock.move(31 * SECOND_MS)
    await edge(otp_house, "otp_too_often", first_ms + 10 * MINUTE_MS + SECOND_MS)
    assert otp_house.credits() == 996


@awaited
async def test_seconds_after_the_third_it_is_the_longer_wait_that_is_told(
    otp_house: OtpHouse,
) -> None:
    first_ms = clock.now_ms()
    for _ in range(3):
        await otp_house.sent()
        clock.move(30 * SECOND_MS)
    clock.move(-29 * SECOND_MS)
    assert await is_refused(otp_house, "otp_too_often", first_ms + 10 * MINUTE_MS)


@awaited
async def test_ten_unverified_in_a_day(otp_house: OtpHouse) -> None:
    verified = await otp_house.sent()
    assert await otp_house.give(verified.code) == "verified"
    clock.move(20 * MINUTE_MS)
    sent_ms = []
    for _ in range(10):
        await otp_house.sent()
        sent_ms.append(clock.now_ms())
        clock.move(20 * MINUTE_MS)
    assert await is_refused(otp_house, "otp_too_often", sent_ms[0] + 24 * HOUR_MS)
    await edge(otp_house, "otp_too_often", sent_ms[0] + 24 * HOUR_MS)
    assert await is_refused(otp_house, "otp_too_often", sent_ms[1] + 24 * HOUR_MS)


@awaited
async def test_five_wrong_tries_across_codes_lock_the_phone_for_ten_minutes(
    otp_house: OtpHouse,
) -> None:
    first = await otp_house.sent()
    assert [await otp_house.give(wrong(first.code, by)) for by in (1, 2, 3)] == [
        ("otp_incorrect", 4),
        ("otp_incorrect", 3),
        ("otp_incorrect", 2),
    ]
    clock.move(30 * SECOND_MS)
    second = await otp_house.sent(code=wrong(first.code))
    assert [await otp_house.give(code) for code in (first.code, wrong(first.code, 2))] == [
        ("otp_incorrect", 1),
        ("otp_incorrect", 0),
    ]
    locked_ms = clock.now_ms() + 10 * MINUTE_MS
    assert (await otp_house.give(second.code))[0] == "otp_attempts_exceeded"
    assert await is_refused(otp_house, "otp_attempts_exceeded", locked_ms)
    assert await otp_house.give(second.code, account_id=open_account(otp_house.db, "chidi")) == (
        "otp_not_found",
        None,
    )
    await edge(otp_house, "otp_attempts_exceeded", locked_ms)
    assert otp_house.credits() == 997
    assert (await otp_house.give("x"))[1] == 4, "the lock has paid for those before it"


@awaited
async def test_a_success_sets_the_count_back(otp_house: OtpHouse) -> None:
    for _ in range(3):
        sent = await otp_house.sent()
        assert [await otp_house.give(wrong(sent.code, by)) for by in (1, 2, 3, 4)] == [
            ("otp_incorrect", left) for left in (4, 3, 2, 1)
        ]
        assert await otp_house.give(sent.code) == "verified"
        clock.move(5 * MINUTE_MS)


@awaited
async def test_a_code_is_valid_for_five_minutes_and_used_once_and_only_the_last_one_is(
    otp_house: OtpHouse,
) -> None:
    assert await otp_house.give("123456") == ("otp_not_found", None)
    first = await otp_house.sent(code="111111")
    clock.move(5 * MINUTE_MS - 3 * SECOND_MS)
    second = await otp_house.sent(code="222222")
    assert await otp_house.give(first.code) == ("otp_incorrect", 4)
    clock.move(5 * MINUTE_MS - 3 * SECOND_MS)
    assert await otp_house.give(second.code) == "verified"
    assert await otp_house.give(second.code) == ("otp_not_found", None)
    third = await otp_house.sent(code="333333")
    clock.move(5 * MINUTE_MS)
    assert [await otp_house.give(code) for code in (third.code, "000000")] == [
        ("otp_expired", None)
    ] * 2
    clock.move(24 * HOUR_MS)
    assert await otp_house.give(third.code) == ("otp_not_found", None)


@awaited
async def test_what_comes_together_is_judged_one_after_the_other(otp_house: OtpHouse) -> None:
    outcomes = await otp_house.asked(*(otp_house.request() for _ in range(5)))
    (sent,) = [outcome for outcome in outcomes if isinstance(outcome, Sent)]
    assert [outcome[0] for outcome in outcomes if outcome is not sent] == ["otp_too_soon"] * 4
    tries = (
        [otp_house.given(wrong(sent.code)) for _ in range(2)]
        + [otp_house.given(sent.code) for _ in range(2)]
        + [otp_house.given("")]
    )
    assert await otp_house.given_together(*tries) == [
        ("otp_incorrect", 4),
        ("otp_incorrect", 3),
        "verified",
        ("otp_not_found", None),
        ("otp_not_found", None),
    ]
    otp_house.assert_sound()


@awaited
async def test_what_is_refused_for_another_reason_leaves_nothing_behind(
    otp_house: OtpHouse,
) -> None:
    poor = open_account(otp_house.db, "poor", credits=1)
    assert (await otp_house.ask(account_id=poor, sender="NOBODY"))[0] == "sender_not_approved"
    await otp_house.sent(account_id=poor)
    assert (await otp_house.ask(phones(1)[0], account_id=poor))[0] == "insufficient_credits"
    assert (await otp_house.ask(account_id=poor))[0] == "otp_too_soon", "the price is judged last"
    otp_house.carrier_is_removed_from_routes()
    assert (await otp_house.ask(phones(1)[0]))[0] == "no_valid_recipient"
    assert (otp_house.count(otps), otp_house.count(messages)) == (1, 1)
    otp_house.assert_sound()
