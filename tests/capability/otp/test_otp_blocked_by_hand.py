"""An operator blocks a range of numbers, as the guard would."""

import pytest

from heliograph import otp
from heliograph.base import clock
from heliograph.base.errors import DoneAlready, InvalidRequest
from heliograph.otp.range_guard import BLOCKED_MS
from tests.support.capability.commands import Run
from tests.support.capability.passwords import OtpHouse, Sent
from tests.support.factories import PHONE, awaited

DIGITS = PHONE[:8]


def block(otp_house: OtpHouse, digits: str = DIGITS) -> None:
    otp_house.db.transact(lambda tx: otp.block(tx, otp_house.amina_id, digits, clock.now_ms()))


@awaited
async def test_a_range_that_is_blocked_by_hand_is_refused_for_a_day_or_until_it_is_unblocked(
    otp_house: OtpHouse,
) -> None:
    assert isinstance(await otp_house.ask(PHONE), Sent)
    clock.move(by_ms=60_000)
    block(otp_house)
    refused = await otp_house.ask(PHONE)
    assert not isinstance(refused, Sent)
    assert refused[0] == "otp_range_blocked"
    assert isinstance(await otp_house.ask("233541234567"), Sent)
    with otp_house.db.write() as tx:
        [there] = otp.find_blocked(tx, clock.now_ms(), limit=10)
        assert (there.digits, there.sends) == (DIGITS, 1)
        otp.unblock(tx, otp_house.amina_id, DIGITS, clock.now_ms())
    assert isinstance(await otp_house.ask(PHONE), Sent)
    block(otp_house)
    clock.move(by_ms=BLOCKED_MS)
    assert isinstance(await otp_house.ask(PHONE), Sent)


@awaited
async def test_a_range_without_a_send_is_blocked_and_counted_from_none(otp_house: OtpHouse) -> None:
    block(otp_house)
    with otp_house.db.read() as tx:
        assert [each.sends for each in otp.find_blocked(tx, clock.now_ms(), limit=10)] == [0]
    refused = await otp_house.ask(PHONE)
    assert not isinstance(refused, Sent)
    assert refused[0] == "otp_range_blocked"
    clock.move(by_ms=BLOCKED_MS)
    assert isinstance(await otp_house.ask(PHONE), Sent)


def test_what_is_no_range_and_what_is_blocked_are_refused(otp_house: OtpHouse) -> None:
    for digits in ("", "2332012", "233201234", "23320a23", "２３３２０１２３"):
        with pytest.raises(InvalidRequest):
            block(otp_house, digits)
    block(otp_house)
    with pytest.raises(DoneAlready, match="is blocked for this account already"):
        block(otp_house)


def test_the_command_blocks_a_range(otp_house: OtpHouse, run: Run) -> None:
    made = run("otp", "block", DIGITS, "--account", "amina", "--json").json
    assert (made["range"], made["sends"]) == (DIGITS, 0)
    assert DIGITS in run("otp", "blocked").out
