"""Some carriers' receipts print small ids in another base than their answers: what one reading
gives to a message, another gives to another one.
"""

import asyncio
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from heliograph import carriers
from heliograph.base import clock
from heliograph.carriers import ReceiptState
from heliograph.carriers.tables import carriers as carriers_table
from heliograph.messages.carrier import CarrierFacts, facts_of
from heliograph.messages.carrier.match import rematch
from heliograph.messages.carrier.refs import AS_IS
from heliograph.messages.tables import carrier_refs, unmatched_receipts
from heliograph.processes.running_carrier import Running
from heliograph.processes.sweeps import KNOWN_EVERY_LOOKS, Sweeps
from tests.support.capability.sending import WORKER, House, ScriptedLink, lease_of
from tests.support.capability.turning import learnt
from tests.support.factories import PHONE, SECRET_KEY, awaited, phones

pytestmark = pytest.mark.judged_in_python

MAJORITY = 10  # so many times what speaks for all other readings
Print = Callable[[int], str]
HEX_ANSWERED: tuple[Print, Print] = ("{:x}".format, "{:d}".format)
DECIMAL_ANSWERED: tuple[Print, Print] = ("{:d}".format, "{:X}".format)
BASES = pytest.mark.parametrize(
    ("id_format", "prints"), [("dec", HEX_ANSWERED), ("hex", DECIMAL_ANSWERED)], ids=["dec", "hex"]
)
ORDER = pytest.mark.parametrize("early", [False, True], ids=["answers first", "receipts first"])


def truth(number: int) -> ReceiptState:
    """Returns what the receipt of the carrier's k-th message says, so that a wrong match shows."""
    return ReceiptState.UNDELIV if number % 3 == 0 else ReceiptState.DELIVRD


def told(numbers: range) -> list[str]:
    return [
        "failed/undeliverable" if truth(number) is ReceiptState.UNDELIV else "delivered"
        for number in numbers
    ]


async def traffic(
    house: House,
    link: ScriptedLink,
    numbers: range,
    prints: tuple[Print, Print],
    *,
    to: str | None = None,
    early: bool = False,
    known: bool = True,
) -> None:
    """Sends messages with the carrier's ids of these numbers, to one handset or each to another,
    and takes a turn for every few answers and receipts.
    """
    if to is None:
        await house.send(phones(len(numbers), first=numbers[0]))
    else:
        for _ in numbers:
            await house.send(to)
    await link.turn.run_once()
    answer, receipt = prints
    pairs = list(zip(numbers, link.submitted[-len(numbers) :], strict=True))
    for few in (pairs[k : k + 7] for k in range(0, len(pairs), 7)):
        for step in (1, 0) if early else (0, 1):
            for number, submission in few:
                if step == 0:
                    link.answer(submission, ref=answer(number))
                else:
                    link.receive(
                        receipt(number), submission.recipient if known else None, truth(number)
                    )
            await link.turn.run_once()


async def read_anew(house: House, id_format: str) -> int:
    return await rematch(
        house.db, CarrierFacts(house.carrier_id, "carrier", id_format=id_format), clock.now_ms()
    )


def count_unmatched(house: House) -> int:
    return house.count(carrier_refs, carrier_refs.c.message_id.is_(None)) + house.count(
        unmatched_receipts
    )


@awaited
@ORDER
@BASES
async def test_small_dense_ids_to_many_handsets_are_learnt_and_all_that_was_unmatched_is_matched(
    house: House, id_format: str, prints: tuple[Print, Print], early: bool
) -> None:
    link = house.turn(window=400)
    numbers = range(100, 400)
    await traffic(house, link, numbers, prints, early=early)
    assert "sent" in house.statuses()
    assert await learnt(house, link) == id_format
    await read_anew(house, id_format)
    assert house.statuses() == told(numbers)
    assert count_unmatched(house) == 0
    house.assert_sound()


@awaited
@ORDER
@BASES
async def test_what_two_readings_give_to_one_handset_waits_until_the_format_is_learnt(
    house: House, id_format: str, prints: tuple[Print, Print], early: bool
) -> None:
    link = house.turn(window=400)
    numbers = range(1, 300)
    await traffic(house, link, numbers, prints, to=PHONE, early=early)
    assert all(
        status in ("sent", right)
        for status, right in zip(house.statuses(), told(numbers), strict=True)
    )
    assert await learnt(house, link) == id_format
    await read_anew(house, id_format)
    assert house.statuses() == told(numbers)
    assert count_unmatched(house) == 0


@awaited
@pytest.mark.parametrize("anew", [False, True], ids=["as it came", "read anew"])
async def test_a_receipt_that_waits_leaves_no_word_for_the_message_whose_id_it_seemed_to_name(
    house: House, anew: bool
) -> None:
    link = house.turn(id_format="auto")
    await traffic(
        house, link, range(0x102, 0x103), ("{:x}".format, lambda number: "none"), to=PHONE
    )
    # the first one's, decimal: it says UNDELIV
    await traffic(house, link, range(0x258, 0x259), ("{:x}".format, lambda number: "258"), to=PHONE)
    assert house.statuses() == ["sent", "sent"]
    if anew:
        await read_anew(house, "auto")
    link.turn.carrier = house.turn(id_format="dec").turn.carrier
    link.receive(str(0x258), PHONE)
    await link.turn.run_once()
    assert house.statuses() == ["sent", "delivered"]
    await read_anew(house, "dec")
    assert house.statuses() == ["failed/undeliverable", "delivered"]


@awaited
@ORDER
@pytest.mark.parametrize("known", [True, False], ids=["with the handset", "without"])
async def test_small_ids_as_they_are_to_one_handset_are_learnt_as_such(
    house: House, early: bool, known: bool
) -> None:
    link = house.turn(window=400)
    numbers = range(1, 100)
    await traffic(house, link, numbers, (str, str), to=PHONE, early=early, known=known)
    assert await learnt(house, link) == AS_IS
    await read_anew(house, AS_IS)
    assert house.statuses() == told(numbers)
    assert count_unmatched(house) == 0


@awaited
@pytest.mark.parametrize(
    ("first", "prints"),
    [
        (8_000_000, (str, str)),
        (0xABCDE0, ("{:x}".format, "{:X}".format)),
        (1, ("m{:d}".format,) * 2),
    ],
    ids=["long", "letters", "no numbers"],
)
async def test_ordinary_ids_settle_at_once_and_one_is_evidence_enough(
    house: House, first: int, prints: tuple[Print, Print]
) -> None:
    link = house.turn()
    await traffic(house, link, range(first, first + 1), prints)
    assert house.statuses() == told(range(first, first + 1))
    assert await learnt(house, link) == AS_IS
    await traffic(house, link, range(first + 1, first + 20), prints, to=PHONE)
    assert house.statuses() == told(range(first, first + 20))
    assert count_unmatched(house) == 0


@awaited
async def test_what_agrees_by_chance_now_and_then_does_not_keep_the_format_from_being_learnt(
    house: House,
) -> None:
    link = house.turn(window=400)
    await traffic(house, link, range(0x100, 0x101), HEX_ANSWERED, to=PHONE)
    link.receive("100", PHONE)  # decimal, of a message of before whose answer was lost
    await link.turn.run_once()
    assert link.turn.matched == 1
    # with the first one's own receipt one too few, and then just enough
    await traffic(house, link, range(1_002, 1_000 + MAJORITY), HEX_ANSWERED)
    assert await learnt(house, link) is None
    await traffic(house, link, range(1_000 + MAJORITY, 1_001 + MAJORITY), HEX_ANSWERED)
    assert await learnt(house, link) == "dec"


@awaited
@pytest.mark.parametrize("wrong", ["hex", "dec", AS_IS])
@pytest.mark.parametrize(
    ("right", "prints"),
    [("dec", HEX_ANSWERED), ("hex", DECIMAL_ANSWERED), (AS_IS, (str, str))],
    ids=["dec", "hex", AS_IS],
)
@pytest.mark.parametrize("first", [100, 70_000])
async def test_what_was_read_in_a_wrong_format_is_found_again_in_the_right_one(
    house: House, wrong: str, right: str, prints: tuple[Print, Print], first: int
) -> None:
    numbers = range(first, first + 60)
    await traffic(house, house.turn(window=400, id_format=wrong), numbers, prints)
    assert (house.statuses() == told(numbers)) == (wrong == right)
    for id_format in ("auto", wrong, right):
        await read_anew(house, id_format)
    assert house.statuses() == told(numbers)
    assert count_unmatched(house) == 0


@awaited
async def test_a_receipt_that_is_read_anew_keeps_its_age_and_waits_where_its_answer_will_look(
    house: House,
) -> None:
    await house.send(PHONE)
    link = house.turn(id_format="hex")
    await link.turn.run_once()
    link.receive("00256", PHONE, reference=0x17)
    await link.turn.run_once()
    came_ms = clock.now_ms()
    clock.move(by_ms=60_000)
    for _ in range(2):
        assert await read_anew(house, "dec") == 0
    with house.db.read() as tx:
        row = tx.execute(sa.select(carrier_refs)).one()
    assert (row.ref, row.printed, row.user_message_reference) == ("100", "00256", 0x17)
    assert row.created_at_ms <= came_ms
    link.answer(*link.open.values(), ref="100")
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]


@awaited
async def test_ids_that_differ_only_in_case_are_two_unless_they_are_numbers(house: House) -> None:
    link = await house.submitted([PHONE] * 1 + phones(3))
    for submission, ref in zip(link.submitted, ("Gh2a", "gH2A", "0A1F", "0000gh2a"), strict=True):
        link.answer(submission, ref=ref)
    for submission, ref in zip(link.submitted, ("Gh2a", "gH2A", "a1f", "0000gh2a"), strict=True):
        link.receive(ref, submission.recipient)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"] * 4


class AtWork:
    """Holds a carrier that this process serves, as `carrier set` and the sweeps see it."""

    def __init__(self, house: House, link: ScriptedLink) -> None:
        self._house, self._link = house, link
        self._running: dict[int, Running] = {}
        self._sweeps = Sweeps(
            house.db,
            lease_of(house.db, WORKER),
            house.queue,
            self._running,
            lambda carrier_ids: None,
        )

    def set_format(self, id_format: str) -> None:
        with self._house.db.write() as tx:
            carriers.set_carrier(tx, "carrier", {"id_format": id_format}, secret_key=SECRET_KEY)
        self._follow()

    async def sweep(self) -> str:
        """Returns the format in the end. It is learnt, then all is read anew, then nothing happens:
        a format that is known is judged at every tenth look.
        """
        for _ in range(3 * KNOWN_EVERY_LOOKS):
            await self._sweeps.sweep()
        self._follow()
        return self._link.turn.carrier.id_format

    def _follow(self) -> None:
        with self._house.db.read() as tx:
            carrier = carriers.carrier_named(tx, "carrier")
        self._link.turn.follow(facts_of(carrier))
        nothing_ends_it = asyncio.get_running_loop().create_future()
        self._running[self._house.carrier_id] = Running(
            carrier,
            None,
            self._link.turn,
            self._link,
            nothing_ends_it,  # type: ignore[arg-type]
        )


@awaited
async def test_a_format_that_the_operator_sets_is_used_for_what_is_unmatched(house: House) -> None:
    link = house.turn(window=400)
    at_work = AtWork(house, link)
    at_work.set_format("hex")
    await traffic(house, link, numbers := range(100, 130), HEX_ANSWERED)
    assert await at_work.sweep() == "hex"
    assert house.statuses() == ["sent"] * 30
    at_work.set_format("dec")
    assert await at_work.sweep() == "dec"
    assert house.statuses() == told(numbers)
    with house.db.read() as tx:
        assert (
            tx.execute(
                sa.select(carriers_table.c.parked_read_as).where(
                    carriers_table.c.id == house.carrier_id
                )
            ).scalar_one()
            == "dec"
        )


@awaited
@pytest.mark.parametrize(
    ("is_set", "prints", "right"),
    [
        ("hex", ("{:x}".format, "{:X}".format), "as_is"),
        ("hex", ("{:d}".format, "{:d}".format), "as_is"),
        ("hex", HEX_ANSWERED, "dec"),
        ("dec", ("{:x}".format, "{:x}".format), "as_is"),
        ("dec", ("{:d}".format, "{:d}".format), "as_is"),
        ("dec", DECIMAL_ANSWERED, "hex"),
    ],
)
async def test_a_format_that_was_set_wrongly_is_put_right_by_three_receipts_that_prove_another(
    house: House, is_set: str, prints: tuple[Print, Print], right: str
) -> None:
    link = house.turn(window=400)
    at_work = AtWork(house, link)
    numbers = range(1_234_567, 1_234_569)
    at_work.set_format(is_set)
    await traffic(house, link, numbers, prints)
    assert await at_work.sweep() == is_set
    numbers = range(numbers[0], numbers[0] + 30)
    await traffic(house, link, numbers[2:], prints)
    # a number with letters is no decimal one, so it is read as it is
    if house.statuses() != told(numbers):
        assert await at_work.sweep() == right
    assert house.statuses() == told(numbers)
    assert count_unmatched(house) == 0
    house.assert_sound()


@awaited
@BASES
async def test_a_format_that_was_set_rightly_stays_whatever_agrees_by_chance(
    house: House, id_format: str, prints: tuple[Print, Print]
) -> None:
    """The ids are those of answers that were lost, all to one handset: many receipts are unmatched
    whose id is another message's as it is.
    """
    link = house.turn(window=4_000)
    at_work = AtWork(house, link)
    at_work.set_format(id_format)
    numbers = range(100, 700)
    await traffic(house, link, numbers, (prints[0], lambda number: "-"), to=PHONE)
    for number in range(700, 3_000):
        link.receive(prints[1](number), PHONE)
    await link.turn.run_once()
    assert count_unmatched(house) > 2_000
    assert await at_work.sweep() == id_format


@awaited
@pytest.mark.parametrize(
    ("before", "after", "right"),
    [
        (HEX_ANSWERED, ("{:d}".format, "{:d}".format), "as_is"),
        (("{:d}".format, "{:d}".format), DECIMAL_ANSWERED, "hex"),
        (HEX_ANSWERED, DECIMAL_ANSWERED, "hex"),
        (("{:x}".format, "{:x}".format), HEX_ANSWERED, "dec"),
    ],
)
async def test_a_carrier_that_changes_how_it_prints_its_ids_is_learnt_anew(
    house: House, before: tuple[Print, Print], after: tuple[Print, Print], right: str
) -> None:
    link = house.turn(window=400, id_format="auto")
    at_work = AtWork(house, link)
    at_work.set_format("auto")
    numbers = range(1_234_567, 1_234_697)
    await traffic(house, link, numbers[:100], before)
    assert await at_work.sweep() != right
    assert house.statuses() == told(numbers[:100])
    await traffic(house, link, numbers[100:], after)
    assert await at_work.sweep() == right
    assert house.statuses() == told(numbers)
    assert count_unmatched(house) == 0
    house.assert_sound()
