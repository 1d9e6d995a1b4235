"""Guards work against pumping: many codes go to ranges of numbers where nobody verifies them. The
operator sees that and does something about it.
"""

import uvloop

from heliograph import accounts
from heliograph.accounts import notices
from heliograph.base import clock, ids
from heliograph.jobs.pruning import prune_all
from heliograph.otp.range_guard import BLOCKED_MS, SENDS_MAX, WINDOW_MS
from heliograph.otp.tables import otp_ranges, otps
from tests.support.capability.commands import Run
from tests.support.capability.passwords import OtpHouse, Refusal, Sent, went_out
from tests.support.factories import awaited, open_account, phones

RANGE = "23320000"  # of all `phones`


async def sends(
    otp_house: OtpHouse, count: int, first: int = 0, **more: str
) -> list[Sent | Refusal]:
    wanted = phones(count, first=first)
    return await otp_house.asked(
        *(otp_house.request(phone, **more) for phone in wanted)  # type: ignore[arg-type]
    )


@awaited
async def test_after_fifty_unverified_in_an_hour_a_range_is_blocked_for_that_account_alone(
    otp_house: OtpHouse,
) -> None:
    chidi = open_account(otp_house.db, "chidi", credits=100)
    outcomes = await sends(otp_house, SENDS_MAX + 5)
    assert went_out(outcomes) == SENDS_MAX
    assert [
        (outcome[0], round(int(outcome[1] or 0) / 3_600)) for outcome in outcomes[SENDS_MAX:]
    ] == [("otp_range_blocked", 24)] * 5
    assert otp_house.credits() == 1_000 - SENDS_MAX
    with otp_house.db.read() as tx:
        [notice] = notices.of_account(tx, otp_house.amina_id)
        assert (notice.kind, notice.text[:69]) == (
            "otp_range_blocked",
            f"50 one-time passwords went to numbers that begin with {RANGE} within",
        )
        assert notices.of_account(tx, chidi) == []
    assert isinstance(await otp_house.ask("233201234567"), Sent), "another range"
    assert isinstance(await otp_house.ask(phones(1)[0], account_id=chidi), Sent), "another account"
    assert isinstance(await otp_house.ask(phones(1)[0], sandbox=True), Sent)
    clock.move(BLOCKED_MS - 60_000)
    assert went_out(await sends(otp_house, 1, 100)) == 0
    clock.move(60_000)
    assert went_out(await sends(otp_house, SENDS_MAX + 1, 100)) == SENDS_MAX
    otp_house.assert_sound()


@awaited
async def test_a_slower_trickle_is_none_and_one_verification_shows_people(
    otp_house: OtpHouse,
) -> None:
    with otp_house.db.write() as tx:
        # or its country would be held back first
        accounts.change(tx, otp_house.amina_id, otp_unverified=1_000)
    for start in range(0, 3 * SENDS_MAX, SENDS_MAX - 1):
        assert went_out(await sends(otp_house, SENDS_MAX - 1, start)) == SENDS_MAX - 1
        clock.move(WINDOW_MS)
    outcomes = await sends(otp_house, SENDS_MAX, 1_000)
    last = outcomes[-1]
    assert isinstance(last, Sent)
    assert went_out(await sends(otp_house, 1, 2_000)) == 0
    assert await otp_house.give(last.code, phones(1, first=1_000 + SENDS_MAX - 1)[0]) == "verified"
    assert went_out(await sends(otp_house, SENDS_MAX + 1, 2_000)) == SENDS_MAX


@awaited
async def test_countries_and_daily_credits_hold_for_codes_as_for_all_else(
    otp_house: OtpHouse,
) -> None:
    with otp_house.db.write() as tx:
        accounts.change(tx, otp_house.amina_id, countries=["KE"], daily_credits=1)
    assert (await otp_house.ask())[0] == "no_valid_recipient"
    assert isinstance(await otp_house.ask("254712345678"), Sent)
    assert (await otp_house.ask("254712345679"))[0] == "daily_cap_reached"
    assert otp_house.credits() == 999


@awaited
async def test_a_day_later_nothing_of_it_is_kept(otp_house: OtpHouse) -> None:
    await sends(otp_house, SENDS_MAX)
    await prune_all(otp_house.db)
    assert (otp_house.count(otps), otp_house.count(otp_ranges)) == (SENDS_MAX, 1)
    clock.move(26 * 3_600_000)
    await prune_all(otp_house.db)
    assert (otp_house.count(otps), otp_house.count(otp_ranges)) == (0, 0)


def test_the_operator_lists_blocked_ranges_and_lets_one_go(otp_house: OtpHouse, run: Run) -> None:
    async def blocked() -> None:
        assert went_out(await sends(otp_house, SENDS_MAX)) == SENDS_MAX
        await otp_house.sent("233201234567")
        await otp_house.db.close_hot()

    uvloop.run(blocked())
    (listed,) = run("otp", "blocked", "--json").json
    assert listed == {
        "account_id": ids.text_of_raw("acc", otp_house.amina_id),
        "range": RANGE,
        "country": None,
        "sends": SENDS_MAX,
        "blocked_at": listed["blocked_at"],
        "until": listed["until"],
    }
    assert run("otp", "blocked", "--account", "amina").out.splitlines()[1].split()[1] == RANGE
    assert "23320123 is not blocked" in run(
        "otp", "unblock", "23320123", "--account", "amina"
    ).err.replace("'", "")
    assert run("otp", "unblock", RANGE, "--account", "amina", "--json").json["unblocked"] is True
    assert run("otp", "blocked", "--json").json == []

    async def free() -> None:
        assert went_out(await sends(otp_house, 1, 500)) == 1
        await otp_house.close()

    uvloop.run(free())
