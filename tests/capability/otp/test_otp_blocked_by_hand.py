"""An operator blocks a range of numbers, as the guard would."""

import pytest

from heliograph import otp
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from heliograph.otp.range_guard import BLOCKED_MS
from tests.support.capability.commands import Run
from tests.support.capability.passwords import OtpHouse, Sent
from tests.support.factories import PHONE, awaited

DIGITS = PHONE[:8]


def block(house: OtpHouse, digits: str = DIGITS) -> None:
    house.db.transact(lambda tx: otp.block(tx, house.amina, digits, clock.now_ms()))


@awaited
async def test_a_range_that_is_blocked_by_hand_is_refused_for_a_day_or_until_it_is_unblocked(
    house: OtpHouse,
) -> None:
    assert isinstance(await house.ask(PHONE), Sent)
    clock.move(by_ms=60_000)
    block(house)
    refused = await house.ask(PHONE)
    assert not isinstance(refused, Sent)
    assert refused[0] == "otp_range_blocked"
    assert isinstance(await house.ask("233541234567"), Sent)
    with house.db.write() as tx:
        [there] = otp.blocked(tx, clock.now_ms(), limit=10)
        assert (there.digits, there.sends) == (DIGITS, 1)
        otp.unblock(tx, house.amina, DIGITS, clock.now_ms())
    assert isinstance(await house.ask(PHONE), Sent)
    block(house)
    clock.move(by_ms=BLOCKED_MS)
    assert isinstance(await house.ask(PHONE), Sent)


@awaited
async def test_a_range_without_a_send_is_blocked_and_counted_from_none(house: OtpHouse) -> None:
    block(house)
    with house.db.read() as tx:
        assert [each.sends for each in otp.blocked(tx, clock.now_ms(), limit=10)] == [0]
    refused = await house.ask(PHONE)
    assert not isinstance(refused, Sent)
    assert refused[0] == "otp_range_blocked"
    clock.move(by_ms=BLOCKED_MS)
    assert isinstance(await house.ask(PHONE), Sent)


def test_what_is_no_range_and_what_is_blocked_are_refused(house: OtpHouse) -> None:
    for digits in ("", "2332012", "233201234", "23320a23", "２３３２０１２３"):
        with pytest.raises(InvalidRequest):
            block(house, digits)
    block(house)
    with pytest.raises(InvalidRequest) as refused:
        block(house)
    assert "blocked" in refused.value.fields[0].message


def test_the_command_blocks_a_range(house: OtpHouse, run: Run) -> None:
    made = run("otp", "block", DIGITS, "--account", "amina", "--json").json
    assert (made["range"], made["sends"]) == (DIGITS, 0)
    assert DIGITS in run("otp", "blocked").out
