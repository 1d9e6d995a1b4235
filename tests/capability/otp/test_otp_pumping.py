"""Pumping that is spread over many ranges and countries is stopped by what is not
verified; an account that grows is not, on both databases.
"""

import asyncio
import random

import uvloop

from heliograph import accounts
from heliograph.accounts import notices
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.jobs.pruning import prune_all
from heliograph.otp.tables import ALL_COUNTRIES, TALLIES_KEPT_MS, otp_tallies
from heliograph.otp.unverified_allowance import ACCOUNT_FLOOR
from tests.support.capability.commands import Run
from tests.support.capability.passwords import OtpHouse, Refusal, Sent, went_out
from tests.support.capability.pumping import attack
from tests.support.factories import awaited, open_account

COUNTRY_FLOOR = 75


def why_not(outcomes: list[Sent | Refusal]) -> set[str]:
    return {outcome[0] for outcome in outcomes if not isinstance(outcome, Sent)}


async def pump(otp_house: OtpHouse, each: int, first: int = 0) -> list[Sent | Refusal]:
    return await otp_house.asked(*(otp_house.request(phone) for phone in attack(each, first)))


def align() -> None:
    """Moves the clock to the beginning of an hour: what a test does in a second then happens in
    one.
    """
    clock.move(HOUR_MS - clock.now_ms() % HOUR_MS + 1_000)


@awaited
async def test_pumping_over_200_ranges_of_eight_countries_is_stopped_in_the_hour_and_in_the_day(
    otp_house: OtpHouse,
) -> None:
    align()
    outcomes = await pump(otp_house, 6)
    assert (went_out(outcomes), why_not(outcomes)) == (ACCOUNT_FLOOR, {"otp_too_many_unverified"})
    assert otp_house.credits() == 1_000 - ACCOUNT_FLOOR, "who is refused pays nothing"
    passed = went_out(outcomes)
    for hour in range(1, 23, 3):
        clock.move(3 * HOUR_MS if hour > 1 else HOUR_MS)
        passed += went_out(await pump(otp_house, 1, 10 + hour))
    assert passed == 2 * ACCOUNT_FLOOR, "without this bound 50 pass in each range: 10,000"
    assert isinstance(await otp_house.ask("233201234567", sandbox=True), Sent)
    assert isinstance(
        await otp_house.ask(
            "233201234567", account_id=open_account(otp_house.db, "chidi", credits=1)
        ),
        Sent,
    )
    otp_house.assert_sound()


@awaited
async def test_one_country_is_held_back_before_all_and_a_verification_frees_it(
    otp_house: OtpHouse,
) -> None:
    align()
    with otp_house.db.write() as tx:
        accounts.change(tx, otp_house.amina_id, otp_unverified=100)
    numbers = [f"23320{number % 25:03d}{number:04d}" for number in range(COUNTRY_FLOOR + 5)]
    outcomes = await otp_house.asked(*(otp_house.request(phone) for phone in numbers))
    assert went_out(outcomes) == COUNTRY_FLOOR
    last = outcomes[COUNTRY_FLOOR - 1]
    assert isinstance(last, Sent)
    assert isinstance(await otp_house.ask("254712345678"), Sent), "another country"
    assert (await otp_house.ask("233202999999"))[0] == "otp_too_many_unverified"
    assert await otp_house.give(last.code, numbers[COUNTRY_FLOOR - 1]) == "verified"
    assert await otp_house.give(last.code, numbers[COUNTRY_FLOOR - 1]) == ("otp_not_found", None), (
        "a code is verified, and counted, once"
    )
    assert (
        went_out(
            await otp_house.asked(
                *(otp_house.request(f"2332029{number:05d}") for number in range(4))
            )
        )
        == 1
    )
    with otp_house.db.read() as tx:
        kinds = [
            (notice.kind, notice.text[:60]) for notice in notices.of_account(tx, otp_house.amina_id)
        ]
    assert kinds == [
        ("otp_too_many_unverified", "75 one-time passwords to GH in this hour, and 75 in 24 hours")
    ], "told once an hour"


@awaited
async def test_an_account_that_grows_threefold_is_refused_nothing(otp_house: OtpHouse) -> None:
    align()
    dice, place = random.Random(16), 0
    for per_slot in [3] * 12 + [9] * 12:  # 5 minutes each: 36 an hour, then 108
        numbers = [f"23320{(place + k) % 200:03d}{(place + k):04d}" for k in range(per_slot)]
        place += per_slot
        outcomes = await otp_house.asked(*(otp_house.request(phone) for phone in numbers))
        assert went_out(outcomes) == per_slot
        tried = [
            otp_house.given(outcome.code, phone)
            for outcome, phone in zip(outcomes, numbers, strict=True)
            if isinstance(outcome, Sent) and dice.random() < 0.6
        ]
        assert set(await otp_house.given_together(*tried)) <= {"verified"}
        clock.move(300_000)
    with otp_house.db.read() as tx:
        assert notices.of_account(tx, otp_house.amina_id) == []


@awaited
async def test_two_processes_at_once_send_no_more_than_one(postgresql_url: str) -> None:
    align()
    otp_house = OtpHouse(postgresql_url)
    other = OtpHouse(postgresql_url, like=otp_house)
    try:
        both = await asyncio.gather(pump(otp_house, 2), pump(other, 2, 50))
        assert sum(map(went_out, both)) == ACCOUNT_FLOOR
        first = [
            (outcome.code, phone)
            for outcome, phone in zip(both[0], attack(2), strict=True)
            if isinstance(outcome, Sent)
        ]
        second = [
            (outcome.code, phone)
            for outcome, phone in zip(both[1], attack(2, 50), strict=True)
            if isinstance(outcome, Sent)
        ]
        verified = await asyncio.gather(
            otp_house.given_together(*(otp_house.given(*one) for one in first[:20])),
            other.given_together(*(other.given(*one) for one in second[:20])),
        )
        with otp_house.db.read() as tx:
            text = tx.execute(
                otp_tallies.select().where(otp_tallies.c.country_code == ALL_COUNTRIES)
            ).one()
        count = sum(map(len, verified))
        assert count >= 20
        assert (text.sent.split(",")[-1], text.verified.split(",")[-1]) == (
            str(ACCOUNT_FLOOR),
            str(count),
        ), "none is lost"
    finally:
        await other.close()
        await otp_house.close()


@awaited
async def test_a_partner_and_its_customers_count_together(otp_house: OtpHouse) -> None:
    """A key makes customers: each has a tally of its own, and all of them the partner's."""
    align()
    customers = [
        open_account(otp_house.db, f"customer {number}", credits=100, parent_id=otp_house.amina_id)
        for number in range(3)
    ]
    to = list(attack(2))
    outcomes = await otp_house.asked(
        *(
            otp_house.request(phone, account_id=customers[place % 3])
            for place, phone in enumerate(to)
        )
    )
    assert (went_out(outcomes), why_not(outcomes)) == (ACCOUNT_FLOOR, {"otp_too_many_unverified"})
    assert why_not([await otp_house.ask("233209999999")]) == {"otp_too_many_unverified"}, (
        "the partner's own count with them"
    )
    assert isinstance(
        await otp_house.ask("233209999999", account_id=customers[0], sandbox=True), Sent
    )
    first = next(place for place, outcome in enumerate(outcomes) if isinstance(outcome, Sent))
    sent = outcomes[first]
    assert isinstance(sent, Sent)
    assert await otp_house.give(sent.code, to[first], account_id=customers[first % 3]) == "verified"
    assert isinstance(await otp_house.ask("233209999999", account_id=customers[1]), Sent), (
        "and so do verifications"
    )
    with otp_house.db.read() as tx:
        assert [notice.kind for notice in notices.of_account(tx, otp_house.amina_id)] == [
            "otp_too_many_unverified"
        ], "its partner is told"
    otp_house.assert_sound()


@awaited
async def test_of_two_processes_at_once_no_customer_loses_what_is_counted_for_its_partner(
    postgresql_url: str,
) -> None:
    align()
    otp_house = OtpHouse(postgresql_url)
    other = OtpHouse(postgresql_url, like=otp_house)
    try:
        customers = [
            open_account(
                otp_house.db, f"customer {number}", credits=200, parent_id=otp_house.amina_id
            )
            for number in range(2)
        ]
        both = await asyncio.gather(
            *(
                one.asked(*(one.request(phone, account_id=customer) for phone in attack(1, first)))
                for one, customer, first in (
                    (otp_house, customers[0], 0),
                    (other, customers[1], 50),
                )
            )
        )
        assert sum(map(went_out, both)) == ACCOUNT_FLOOR
        tries = [
            [
                one.given(outcome.code, phone, account_id=customer)
                for outcome, phone in zip(outcomes, attack(1, first), strict=True)
                if isinstance(outcome, Sent)
            ]
            for one, customer, first, outcomes in (
                (otp_house, customers[0], 0, both[0]),
                (other, customers[1], 50, both[1]),
            )
        ]
        verified = await asyncio.gather(
            otp_house.given_together(*tries[0]), other.given_together(*tries[1])
        )
        assert [set(outcomes) for outcomes in verified if outcomes] == [{"verified"}] * sum(
            bool(outcomes) for outcomes in verified
        )
        with otp_house.db.read() as tx:
            (row,) = tx.execute(
                otp_tallies.select().where(
                    otp_tallies.c.country_code == ALL_COUNTRIES,
                    otp_tallies.c.account_id == otp_house.amina_id,
                )
            ).all()
        assert (row.sent.split(",")[-1], row.verified.split(",")[-1]) == (
            str(ACCOUNT_FLOOR),
            str(ACCOUNT_FLOOR),
        ), "none is lost"
    finally:
        await other.close()
        await otp_house.close()


@awaited
async def test_a_lost_reply_counts_nothing_twice(otp_house: OtpHouse) -> None:
    align()
    otp_house.db.fates = ["reply lost"]
    [sent] = await otp_house.asked(otp_house.request("233201234567"))
    assert isinstance(sent, Sent)
    otp_house.db.fates = ["reply lost"]
    assert await otp_house.give(sent.code, "233201234567") == "verified"
    with otp_house.db.read() as tx:
        for row in tx.execute(otp_tallies.select()):
            assert (row.sent.split(",")[-1], row.verified.split(",")[-1]) == ("1", "1")


@awaited
async def test_counts_are_kept_as_long_as_they_count(otp_house: OtpHouse) -> None:
    await otp_house.sent()
    clock.move(TALLIES_KEPT_MS - DAY_MS)
    await prune_all(otp_house.db)
    assert otp_house.count(otp_tallies) == 2
    clock.move(DAY_MS + 60_000)
    await prune_all(otp_house.db)
    assert otp_house.count(otp_tallies) == 0


def test_the_operator_lists_who_is_held_back_lets_them_go_and_sets_the_bound(
    otp_house: OtpHouse, run: Run
) -> None:
    align()

    async def held_back(expected: int, first: int) -> None:
        assert went_out(await pump(otp_house, 3, first)) == expected
        await otp_house.db.close_hot()

    uvloop.run(held_back(ACCOUNT_FLOOR, 0))
    (listed,) = run("otp", "blocked", "--account", "amina", "--json").json
    assert listed == {
        "account_id": ids.text_of_raw("acc", otp_house.amina_id),
        "range": None,
        "country": "all",
        "sends": ACCOUNT_FLOOR,
        "blocked_at": listed["blocked_at"],
        "until": listed["until"],
    }
    assert "otp unverified" in run("doctor").out
    assert "are not held back" in run("otp", "unblock", "GH", "--account", "amina").err
    assert run("otp", "unblock", "all", "--account", "amina", "--json").json == {
        "account_id": listed["account_id"],
        "country": "all",
        "unblocked": True,
    }
    assert run("otp", "blocked", "--json").json == []
    uvloop.run(held_back(ACCOUNT_FLOOR, 10))
    assert (
        run("account", "set", "amina", "--otp-unverified", "250", "--json").json["otp_unverified"]
        == 250
    )
    assert run("otp", "blocked", "--json").json == []
    uvloop.run(held_back(150, 20))
    assert (
        run("account", "set", "amina", "--otp-unverified", "default", "--json").json[
            "otp_unverified"
        ]
        is None
    )
    assert "of 1 or more" in run("account", "set", "amina", "--otp-unverified", "0").err

    async def close() -> None:
        await otp_house.close()

    uvloop.run(close())
