"""Things go wrong or come together with codes: two right ones at once, lost commits, another key,
and what is left of a text.
"""

import asyncio
from collections import Counter

import pytest
import sqlalchemy as sa

from heliograph.audit.charges import verify_charges
from heliograph.base import clock
from heliograph.carriers import SubmitOutcome
from heliograph.messages.tables import sends
from heliograph.otp import Eraser
from heliograph.otp.erase import ERASED_AFTER_MS
from heliograph.otp.sealed_text import text_sealer
from heliograph.otp.tables import otps
from tests.support.capability.passwords import OtpHouse, Sent, wrong
from tests.support.factories import PHONE, awaited, phones


@pytest.fixture
def another(postgresql_otp_house: OtpHouse) -> OtpHouse:
    """Returns a second process on the same database."""
    return OtpHouse(postgresql_otp_house.db.url, postgresql_otp_house)


def texts(otp_house: OtpHouse) -> list[str | None]:
    with otp_house.db.read() as tx:
        return list(tx.execute(sa.select(sends.c.text).order_by(sends.c.id)).scalars())


@awaited
async def test_of_right_codes_at_once_in_two_processes_one_succeeds(
    postgresql_otp_house: OtpHouse, another: OtpHouse
) -> None:
    for round_ in range(10):
        phone = phones(10)[round_]
        sent = await postgresql_otp_house.sent(phone)
        outcomes = await asyncio.gather(
            *(
                otp_house.give(sent.code, phone)
                for _ in range(8)
                for otp_house in (postgresql_otp_house, another)
            )
        )
        assert Counter(outcomes) == {"verified": 1, ("otp_not_found", None): 15}


@awaited
async def test_wrong_codes_at_once_in_two_processes_are_five_and_sends_one(
    postgresql_otp_house: OtpHouse, another: OtpHouse
) -> None:
    for round_ in range(5):
        phone = phones(5)[round_]
        outcomes = await asyncio.gather(
            *(
                otp_house.ask(phone)
                for _ in range(3)
                for otp_house in (postgresql_otp_house, another)
            )
        )
        (sent,) = [outcome for outcome in outcomes if isinstance(outcome, Sent)]
        tried = await asyncio.gather(
            *(
                otp_house.give(wrong(sent.code), phone)
                for _ in range(8)
                for otp_house in (postgresql_otp_house, another)
            )
        )
        assert {outcome[1] for outcome in tried if outcome[0] == "otp_incorrect"} == {0, 1, 2, 3, 4}
        assert Counter(outcome[0] for outcome in tried) == {
            "otp_incorrect": 5,
            "otp_attempts_exceeded": 11,
        }
    postgresql_otp_house.assert_sound()


@awaited
@pytest.mark.parametrize("fates", [["reply lost"], ["lost"], ["lost", "reply lost", "reply lost"]])
async def test_a_lost_commit_is_run_again_sent_once_and_verified_once(
    otp_house: OtpHouse, fates: list[str]
) -> None:
    await otp_house.cache.refresh()
    otp_house.db.fates = fates.copy()
    outcomes = await otp_house.asked(
        *(otp_house.request(phone) for phone in phones(3)), otp_house.request(phones(1)[0])
    )
    assert [outcome[0] if not isinstance(outcome, Sent) else "sent" for outcome in outcomes] == [
        "sent"
    ] * 3 + ["otp_too_soon"]
    assert (otp_house.count(otps), otp_house.credits()) == (3, 997)
    first, second, _, _ = outcomes
    otp_house.db.fates = fates.copy()
    tries = [otp_house.given(str(first[1]), phones(1)[0]) for _ in range(2)] + [
        otp_house.given(str(second[1]), phones(2)[1])
    ]
    assert await otp_house.given_together(*tries) == [
        "verified",
        ("otp_not_found", None),
        "verified",
    ]
    otp_house.assert_sound()


@awaited
async def test_the_text_is_sealed_until_a_carrier_takes_it_and_erased_then(
    otp_house: OtpHouse,
) -> None:
    sent = await otp_house.sent()
    await otp_house.send("233201234568", "an ordinary text")
    sealed, plain = texts(otp_house)
    assert sealed is not None
    assert sent.code not in sealed
    assert (sealed.startswith("sealed:"), plain) == (True, "an ordinary text")
    link = otp_house.turn()
    await link.turn.run_once()
    assert [submission.data.text for submission in link.submitted] == [
        f"{sent.code} is your code",
        "an ordinary text",
    ]
    eraser = Eraser(otp_house.db)
    await eraser.erase()
    assert texts(otp_house) == [sealed, plain]
    clock.move(ERASED_AFTER_MS + 1_000)
    await otp_house.sent(phones(1)[0])
    for each in (eraser, Eraser(otp_house.db)):
        await each.erase()
        assert [text is None for text in texts(otp_house)] == [True, False, False]


@awaited
async def test_more_texts_than_one_transaction_takes_are_erased(
    otp_house: OtpHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.otp.erase.ROWS_AT_ONCE", 3)
    await otp_house.asked(
        *(otp_house.request(phone, sandbox=True, sender="SANDBOX") for phone in phones(8, first=10))
    )
    clock.move(ERASED_AFTER_MS + 1_000)
    await Eraser(otp_house.db).erase()
    assert texts(otp_house) == [None] * 8


@awaited
async def test_a_code_that_cannot_be_read_is_not_sent_and_paid_back(otp_house: OtpHouse) -> None:
    request, _ = otp_house.request(PHONE)
    request.text = text_sealer("another key").seal("123456")
    await otp_house.asked((request, ""))
    link = otp_house.turn()
    for _ in range(2):
        await link.turn.run_once()
    assert (link.submitted, otp_house.statuses(), otp_house.credits()) == (
        [],
        ["failed/carrier_rejected"],
        1_000,
    )
    otp_house.assert_sound()


@awaited
async def test_codes_go_before_all_bulk_and_are_never_sent_twice(otp_house: OtpHouse) -> None:
    await otp_house.send(phones(300))
    await otp_house.sent()
    link = otp_house.turn(window=10)
    await link.turn.run_once()
    first = link.submitted[0]
    assert (first.recipient, first.data.priority, first.data.validity_s // 10) == (PHONE, 1, 29)
    link.answer(first, outcome=SubmitOutcome.UNANSWERED)
    clock.move(200_000)
    for _ in range(3):
        await link.turn.run_once()
    assert [submission.recipient for submission in link.submitted].count(PHONE) == 1
    with otp_house.db.read() as tx:
        assert verify_charges(tx) == []
