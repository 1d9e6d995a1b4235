"""A campaign goes through its life in any order, under any loss: nobody gets it twice, nobody is
left out but who opts out, who then gets nothing more; each credit is accounted for, and its end is
told once.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from heliograph import campaigns, wallet
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits
from heliograph.campaigns.lifecycle import NoRecipients
from heliograph.campaigns.states import WrongState
from heliograph.carriers import ReceiptState, SubmitOutcome
from heliograph.messages.groups import GroupTally, tally_of
from heliograph.messages.sweeps import fail_expired, settle_doubts
from heliograph.messages.tables import inflight, messages, queue
from heliograph.opt_outs.tables import opt_outs
from heliograph.wallet import ledger
from heliograph.webhooks.tables import webhook_events
from tests.support.books import BOOKS_EVERY, assert_books_agree
from tests.support.capability.campaigns import add_contacts, write_down, write_down_file
from tests.support.property.lives import lives
from tests.support.property.one_campaign import AHEAD, OneCampaign

FATES = st.lists(st.sampled_from(["", "", "", "lost", "reply lost"]), max_size=4)
STORE_ENDED = st.lists(
    st.sampled_from(
        [
            *[SubmitOutcome.ACCEPTED] * 6,
            SubmitOutcome.REFUSED,
            SubmitOutcome.THROTTLED,
            SubmitOutcome.RETRY,
            SubmitOutcome.UNANSWERED,
        ]
    ),
    max_size=8,
)
FIRST = 233_200_000_000
TEXTS = ("the same for all", "hello {name|you}")
ENDED = {"completed", "canceled"}
# What its lives come through; what befalls one more rarely has tests of its own.
SITUATIONS = {
    "completed",
    "paused by the operator",
    "out of credits",
    "went on after a top-up",
    "another process",
    "opted out while to come",
    "opted out while queued",
}


class Campaigning(OneCampaign):
    """The machine is operator, carrier, clock, network and whoever kills the process; there is one
    account and carrier.
    """

    # what may happen

    @initialize(
        people=st.integers(1, 30),
        opted_out=st.sets(st.integers(0, 29), max_size=5),
        text=st.sampled_from(TEXTS),
        credits=st.integers(0, 12),
        as_far=st.sampled_from([True, True, False]),
        audience=st.sampled_from(["all", "numbers"]),
    )
    def begin(
        self, people: int, opted_out: set[int], text: str, credits: int, as_far: bool, audience: str
    ) -> None:
        self.people, self.as_far = people, as_far
        add_contacts(
            self.house.db,
            self.house.amina_id,
            [
                {
                    "phone": str(FIRST + place),
                    "name": f"N{place % 3}" if place % 4 else None,
                    "opted_out": place in opted_out,
                }
                for place in range(people)
            ],
        )
        with self.house.db.write() as tx:
            ledger.adjust_credits(
                tx, self.house.amina_id, credits - 1_000, "to begin with", now_ms=clock.now_ms()
            )
        self.listed = set(range(FIRST, FIRST + people)) if audience == "numbers" else set()
        write = (
            partial(
                write_down_file,
                lines=[f"{number},N" for number in self.listed],
                columns="phone,name",
            )
            if self.listed
            else write_down
        )
        campaign = write(self.house.db, self.house.amina_id, message=text, validity_s=172_800)
        self.campaign_id, self.group_id = campaign.id, campaign.group_id
        self.launch(as_far)

    @rule(as_far=st.booleans())
    def launch(self, as_far: bool) -> None:
        wanted = self.opting_out.wanted(self.listed)
        try:
            campaigns.launch(self.house.db, self.campaign_id, as_far_as_credits_reach=as_far)
            frozen, self.opted_out_before = self.frozen(), self.row().opted_out
            assert (frozen, self.opted_out_before) == wanted
            self.opting_out.launched(frozen)
        except InsufficientCredits:
            assert self.status() == "draft"
            self.seen.add("refused for its price")
        except WrongState:
            assert self.status() != "draft"
        except NoRecipients:
            assert self.status() == "draft"

    @rule(fates=FATES, writes_lost=st.integers(0, 2))
    def look(self, fates: list[str], writes_lost: int) -> None:
        """Looks once as whoever has the campaigns. Some of its transactions are lost, or only their
        replies.
        """
        self.house.db.fates, self.house.db.writes_lost = list(fates), writes_lost
        self.run(self.refreshed(self.advancer.once()))
        self.house.db.fates, self.house.db.writes_lost = [], 0
        if not any(fates) and not writes_lost:
            self.opting_out.looked()
        if self.row().status_reason == "insufficient_credits":
            self.seen.add("out of credits")

    @rule(outcomes=STORE_ENDED, receipts=st.integers(0, 6))
    def turn(self, outcomes: list[SubmitOutcome], receipts: int) -> None:
        """Gives the carrier its turn: what it has answered and reported is stored, and what waits
        is handed to it.
        """
        for submission, outcome in zip(list(self.link.open.values()), outcomes, strict=False):
            [ref] = self.link.answer(submission, outcome=outcome)
            if outcome is SubmitOutcome.ACCEPTED:
                self.unreceipted.append((ref, submission.recipient))
        for _ in range(min(receipts, len(self.unreceipted))):
            self.link.receive(*self.unreceipted.pop(0), ReceiptState.DELIVRD)
        held = self.held()
        before = len(self.link.submitted)
        self.run(self.link.turn.run_once())
        assert (
            not {int(submission.message_id, 16) for submission in self.link.submitted[before:]}
            & held
        ), "what is held stays"
        assert (
            not {int(submission.recipient) for submission in self.link.submitted[before:]}
            & self.opting_out.blocked
        ), "they have opted out"

    @rule(how=st.sampled_from(["pause", "resume", "pause", "resume", "cancel"]), sure=st.booleans())
    def command(self, how: str, sure: bool) -> None:
        if how == "cancel" and not sure:
            return
        before = self.status()
        try:
            with self.house.db.write() as tx:
                if how == "cancel":
                    campaigns.cancel(tx, self.campaign_id, now_ms=clock.now_ms())
                    self.seen |= {"canceled while sending"} if before == "sending" else set()
                else:
                    {"pause": campaigns.pause, "resume": campaigns.resume}[how](
                        tx, self.campaign_id
                    )
                    self.seen |= {"paused by the operator"} if how == "pause" else set()
        except WrongState:
            assert self.status() == before

    @rule(credits=st.integers(1, 40))
    def top_up(self, credits: int) -> None:
        with self.house.db.write() as tx:
            ledger.grant(tx, self.house.amina_id, credits, "more", now_ms=clock.now_ms())

    @rule(place=st.integers(0, 29), then=st.sampled_from(["", "", "removed", "back"]))
    def opt_out(self, place: int, then: str) -> None:
        self.opting_out.opts_out(FIRST + place, then)
        self.seen |= self.opting_out.situations

    @rule(place=st.integers(0, 29))
    def opt_in(self, place: int) -> None:
        if self.status() == "draft":
            self.opting_out.opts_in(FIRST + place)

    @rule()
    def killed(self) -> None:
        """Another process begins where this one was killed."""
        self.worker += 1
        self.run(self.house.succeeded(self.worker))
        self.link, self.advancer = (
            self.house.turn(window=5, worker=self.worker),
            self.new_advancer(),
        )
        self.unreceipted = []
        self.seen.add("another process")

    # what holds at any time

    @invariant()
    def nobody_gets_it_twice(self) -> None:
        assert max(Counter(self.recipients()).values(), default=0) <= 1

    @invariant()
    def the_tally_is_the_count(self) -> None:
        with self.house.db.read() as tx:
            rows = tx.execute(
                sa.select(
                    messages.c.status, messages.c.segments, messages.c.credits - messages.c.refunded
                )
            ).all()
            statuses = Counter(row[0] for row in rows)
            counted = GroupTally(
                statuses["queued"],
                statuses["sent"],
                statuses["delivered"],
                statuses["failed"],
                sum(row[1] for row in rows),
                sum(row[2] for row in rows),
            )
            assert tally_of(tx, self.group_id) == counted
        assert counted.queued <= AHEAD

    @invariant()
    def the_books_agree_every_few_steps(self) -> None:
        self.steps += 1
        if self.steps % BOOKS_EVERY == 0:
            self.the_books_agree()

    def the_books_agree(self) -> None:
        self.house.assert_sound()
        assert_books_agree(self.house.db)

    @invariant()
    def its_end_is_told_once(self) -> None:
        assert self.house.count(webhook_events) == (self.status() == "completed")

    # how it ends

    def teardown(self) -> None:
        try:
            self.settle_everything()
        finally:
            self.run(self.house.close())
            self.loop.close()
            clock.move(by_ms=-self.moved_ms)

    def settle_everything(self) -> None:
        """Settles everything: credits come, whoever paused the campaign resumes it, and the carrier
        takes all. Then it has ended, and nobody was left out.
        """
        if not hasattr(self, "campaign_id"):
            return
        self.run_out_of_credits()
        self.top_up(100)
        self.launch(False)
        self.look([], 0)
        if self.people % 2:
            self.command("pause", True)
            self.look([], 0)
        for place in (*range(0, self.people, 4), self.people - 1):
            self.opt_out(place, "removed" if place % 8 else "")
        for again in range(60):
            # what was in doubt when its recipient opted out is not sent again, and ends with its
            # validity
            if again == 40:
                self.move(by_ms=172_800_000)
            if self.status() == "paused":
                self.command("resume", True)
            self.look([], 0)
            self.turn([SubmitOutcome.ACCEPTED] * 8, 6)
            self.run(fail_expired(self.house.db, clock.now_ms()))
            self.move(by_ms=121_000)  # what is in doubt is sent once more
            self.run(
                settle_doubts(self.house.db, self.house.carrier_id, clock.now_ms(), resend=True)
            )
            if self.row().ended_at_ms is not None:
                break
        status = self.status()
        if status == "draft":  # all have opted out
            assert self.house.count(messages) == 0
            return
        assert status in ENDED
        assert self.row().ended_at_ms is not None
        self.seen |= {"completed"} if status == "completed" else set()
        assert (
            self.house.count(messages, messages.c.status == "queued")
            == self.house.count(queue)
            == self.house.count(inflight)
            == 0
        )
        reached = set(self.recipients())
        assert reached <= self.opting_out.audience
        if status == "completed":
            missing = self.opting_out.audience - reached
            assert missing <= self.opting_out.left_out
            assert self.row().recipients_total == len(self.opting_out.audience)
            assert self.row().opted_out == self.opted_out_before + len(missing)
            assert self.house.count(opt_outs) == 0
        for check in (
            self.nobody_gets_it_twice,
            self.the_tally_is_the_count,
            self.the_books_agree,
            self.its_end_is_told_once,
        ):
            check()

    def run_out_of_credits(self) -> None:
        """Takes all credits away while somebody is left to be sent to. The campaign then waits for
        credits, and goes on by itself when there are some.
        """
        if self.status() == "paused":
            self.command("resume", True)
        with self.house.db.write() as tx:
            if held := wallet.wallet_of(tx, self.house.amina_id).sms_credits:
                ledger.adjust_credits(
                    tx, self.house.amina_id, -held, "taken away", now_ms=clock.now_ms()
                )
        for _ in range(10):  # what is in doubt counts as queued, and may leave no room
            self.look([], 0)
            self.turn([SubmitOutcome.ACCEPTED] * 8, 6)
        if self.row().status_reason == "insufficient_credits":
            self.top_up(100)
            self.look([], 0)
            assert self.status() == "sending"
            self.seen.add("went on after a top-up")


def test_a_campaign_reaches_everybody_once_whatever_happens(
    database_url: str, emptied: Callable[[], str]
) -> None:
    reached: Counter[str] = Counter()

    class Here(Campaigning):
        def __init__(self) -> None:
            super().__init__(emptied())

        def teardown(self) -> None:
            super().teardown()
            reached.update(self.seen)

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=lives(database_url, 8),
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert set(reached) >= SITUATIONS, "what the machine must have come through"
