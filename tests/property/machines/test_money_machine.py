"""The books are right whatever happens, in whatever order: the ledger's sum is the balance, what
was charged less what was paid back is what carriers took, and nothing goes out twice that was not
in doubt.
"""

from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    run_state_machine_as_test,
)

from tests.support.property.lives import lives
from tests.support.property.money import Money
from tests.support.property.situations import SITUATIONS


def test_the_ledger_agrees_whatever_happens(database_url: str, emptied: Callable[[], str]) -> None:
    reached: Counter[str] = Counter()

    class MoneyHere(Money):
        def __init__(self) -> None:
            super().__init__(emptied())

        def teardown(self) -> None:
            super().teardown()
            reached.update(self.seen)

    run_state_machine_as_test(
        MoneyHere,
        settings=settings(
            max_examples=lives(database_url, 10),
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert set(reached) == SITUATIONS, "what the machine must have come through"
