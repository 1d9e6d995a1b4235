"""Data may be erased at any moment of a message's life: money and states go on as if nothing were
erased, and what is on its way keeps what it needs.
"""

from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from heliograph.audit.audit import audit
from heliograph.jobs.retention import retain
from heliograph.messages.retention.retention import UNDER_WAY_MS, RetentionTimes
from heliograph.messages.tables import messages
from tests.support.property.lives import lives
from tests.support.property.money import Money

AT_ONCE = RetentionTimes(0, None)


class Erasing(Money):
    """Erases everything that is not under way, whenever the machine likes."""

    erased = 0

    @precondition(lambda self: self.link.submitted)
    @rule()
    def what_is_over_is_erased(self) -> None:
        self.move(UNDER_WAY_MS)  # so that whatever is sent from now on is newer than what is erased
        self.run(retain(self.house.db, AT_ONCE))
        self.erased = self.house.count(messages, messages.c.recipient.is_(None))

    @invariant()
    def whatever_waits_has_its_number(self) -> None:
        assert not self.house.count(
            messages, messages.c.recipient.is_(None), messages.c.status == "queued"
        )
        assert all(submission.recipient.isdigit() for submission in self.link.submitted)
        with self.house.db.read() as tx:
            assert not [finding for finding in audit(tx).findings if finding.kind == "lost"]

    def settle_everything(self) -> None:
        super().settle_everything()
        self.what_is_over_is_erased()
        assert self.erased == len(self.house.messages())
        self.the_ledger_proves_the_balance()
        self.the_books_agree()


def test_the_ledger_agrees_whatever_is_erased_whenever(
    database_url: str, emptied: Callable[[], str]
) -> None:
    erased: Counter[bool] = Counter()

    class ErasingHere(Erasing):
        def __init__(self) -> None:
            super().__init__(emptied())

        def teardown(self) -> None:
            super().teardown()
            erased[self.erased > 0] += 1

    run_state_machine_as_test(
        ErasingHere,
        settings=settings(
            max_examples=lives(database_url, 8),
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert erased[True]
