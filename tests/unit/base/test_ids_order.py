"""Lists are newest first by id, so ids must be in the order in which they were made, also within a
millisecond.
"""

import multiprocessing
from multiprocessing.connection import Connection

from hypothesis import given
from hypothesis import strategies as st

from heliograph.base import ids


@given(st.integers(0, (1 << 48) - 1), st.integers(2, 200))
def test_ids_of_one_millisecond_are_in_the_order_in_which_they_were_made(
    at_ms: int, count: int
) -> None:
    made = [ids.new_number(at_ms) for _ in range(count)]
    assert made == sorted(made)
    assert {ids.made_at_ms(number) for number in made} == {at_ms}
    assert all(number >> 76 & 0xF == 7 and number >> 62 & 0b11 == 0b10 for number in made), (
        "RFC 9562: version and variant"
    )
    assert all((number + ids.SERIES_MAX) >> 62 == number >> 62 for number in made), (
        "a run never reaches the variant"
    )


def make_when_asked(asked: Connection) -> None:
    while asked.recv():
        asked.send(ids.new_number())


def test_ids_that_processes_make_one_after_the_other_are_in_that_order() -> None:
    """The ids of a wallet's entries are made in this way, under its lock. Many of them share a
    millisecond.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=make_when_asked, args=(there,))
    process.start()
    made = []
    try:
        for _ in range(1_000):
            here.send(True)
            made += [here.recv(), ids.new_number()]
        here.send(False)
    finally:
        process.join(5)
        process.kill()
    assert made == sorted(made)
    assert len({ids.made_at_ms(number) for number in made}) < len(made)
