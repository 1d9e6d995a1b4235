"""A process whose work others have taken over, and which does not know it yet: it claims nothing more, writes nothing more to the wire, and takes
nothing back. What it still learns of what it had sent counts."""

from heliograph.base import clock
from heliograph.base.leases import Lease
from heliograph.carriers import LinkState, Outcome, Outgoing, Submission
from heliograph.messages import take_over
from heliograph.messages.tables import inflight, queue
from tests.capability.sending import SUCCESSOR, House, ScriptedLink
from tests.factories import awaited, phones

TEN_SEGMENTS = "x" * 1_530


def begun(house: House, *, alone: bool) -> int:
    lease = Lease(house.db, "serve")
    lease.begin(["serve", "worker"] if alone else [])
    return lease.epoch


@awaited
async def test_who_was_retired_claims_nothing(house: House) -> None:
    older, newer = begun(house, alone=True), begun(house, alone=True)
    await house.send(phones(3))
    late, link = house.turn(worker=older), house.turn(worker=newer)
    await late.turn.once()
    assert (late.submitted, house.count(queue)) == ([], 1)
    await link.turn.once()
    assert len(link.submitted) == 3


@awaited
async def test_what_the_living_have_on_the_wire_is_nobody_elses_to_take_over(house: House) -> None:
    first, second = begun(house, alone=True), begun(house, alone=False)
    await house.send(phones(3))
    await house.turn(worker=second).turn.once()
    assert await take_over(house.db, first, clock.now_ms()) == 0
    assert house.count(inflight, inflight.c.state == "submitting", inflight.c.worker == second) == 3


class StoppedLink(ScriptedLink):
    """The process is stopped while it claims, and goes on long after."""

    house: House

    def prepare(self, message: Outgoing) -> list[Submission]:
        self.house.may_write = False
        return super().prepare(message)


@awaited
async def test_who_was_stopped_since_it_claimed_writes_nothing(house: House) -> None:
    await house.send(phones(3))
    link = house.turn(kind=StoppedLink)
    assert isinstance(link, StoppedLink)
    link.house = house
    await link.turn.once()
    assert (link.submitted, house.count(inflight, inflight.c.state == "submitting")) == ([], 3)
    for _ in range(3):
        await link.turn.once()
    assert (link.submitted, house.count(inflight), house.count(queue)) == ([], 0, 3)  # given back, and nothing claimed
    house.may_write = True
    successor = house.turn()
    await successor.turn.once()
    assert len(successor.submitted) == 3


@awaited
async def test_what_the_retired_give_back_or_lose_is_the_successors(house: House) -> None:
    """The wire took half of a long message; the other half was claimed only, and has the same number of try again at the successor's."""
    late = await house.submitted(phones(1), TEN_SEGMENTS, window=5)
    assert await house.succeeded() == 1  # message
    successor = house.turn(worker=SUCCESSOR)
    await successor.turn.once()
    assert [submission.part for submission in successor.submitted] == [6, 7, 8, 9, 10]
    late.state = LinkState.BACKING_OFF
    await late.turn.once()  # gives back what it thinks it has claimed
    late.answer(*successor.submitted, outcome=Outcome.UNANSWERED)  # and were it to think that it has lost them
    await late.turn.once()
    assert house.count(inflight, inflight.c.worker == SUCCESSOR, inflight.c.state == "submitting") == 5
    assert house.count(queue) == 0
    late.answer(*late.submitted)  # of what is in doubt, anybody may learn
    await late.turn.once()
    successor.answer(*successor.submitted)
    await successor.turn.once()
    assert (house.count(inflight), house.statuses()) == (0, ["sent"])
    house.assert_sound()
