"""A process whose work others have taken over, and which does not know it yet: it claims nothing more, and takes nothing back."""

from heliograph.base import clock
from heliograph.base.leases import Lease
from heliograph.messages import take_over
from heliograph.messages.tables import inflight, queue
from tests.capability.sending import House
from tests.factories import awaited, phones


def begun(house: House, *, alone: bool) -> int:
    lease = Lease(house.db, "serve")
    lease.begin(["serve", "test"] if alone else [])
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
