"""A server that another one has taken over from, and does not know it yet: it claims nothing more, and takes nothing back."""

from heliograph.base import clock
from heliograph.entry.dispatch import register_worker
from heliograph.messages import take_over
from heliograph.messages.tables import inflight, queue
from tests.capability.sending import House
from tests.factories import awaited, phones


def _starts(house: House) -> int:
    with house.db.write() as tx:
        return register_worker(tx, "serve", clock.now_ms())


@awaited
async def test_only_the_newest_server_claims(house: House) -> None:
    older, newer = _starts(house), _starts(house)
    await house.send(phones(3))
    late, link = house.turn(worker=older), house.turn(worker=newer)
    await late.turn.once()
    assert (late.submitted, house.count(queue)) == ([], 1)
    await link.turn.once()
    assert len(link.submitted) == 3


@awaited
async def test_what_the_newest_server_has_on_the_wire_is_nobody_elses_to_take_over(house: House) -> None:
    older, newer = _starts(house), _starts(house)
    await house.send(phones(3))
    await house.turn(worker=newer).turn.once()
    assert await take_over(house.db, older, clock.now_ms()) == 0
    assert house.count(inflight, inflight.c.state == "submitting", inflight.c.worker == newer) == 3
