"""Campaigns are expanded and sent by processes that are killed half way (docs/reliability.md, row
27).
"""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import pytest

from heliograph import campaigns
from heliograph.base import clock
from tests.support.capability.campaigns import written
from tests.support.crash.processes import ServerProcess
from tests.support.faults.campaigning import OWN_TEXTS, REFUSED, Under, all_sent, check_all
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.deployment import ALONE, Deployment
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.faults.receivers import OPEN, hearing

WINDOW = 10
KILLS = int(quick_or_long(2, 20))
SEVERAL = (("api",), ("scheduler",), ("carrier", "run", "carrier"))
AGAIN_WITHIN_S = 45.0  # until others take a scheduler for dead
# kills of several processes: then the carrier's goes on, and the next scheduler waits for half a
# minute
SCHEDULER_ALONE_EVERY = 7
RATE = 100  # a second, of the one that shall be under way all the while
ENDED = ["campaign.completed"]


class Reaper:
    """Kills what expands and what sends, and starts it again."""

    def __init__(self, deployment: Deployment, commands: Sequence[Sequence[str]]) -> None:
        self._deployment = deployment
        self._commands = commands
        self.kills = 0

    def kill(self) -> None:
        self.kills += 1
        doomed = [
            server
            for server in self._deployment.servers
            if server.process.poll() is None and server.name != "api"
        ]
        if self.kills % SCHEDULER_ALONE_EVERY == 0 and len(doomed) > 1:
            doomed = [server for server in doomed if server.name == "scheduler"]
        for server in doomed:
            server.process.kill()
            server.process.wait()
        self._start({server.name for server in doomed})

    def _start(self, names: set[str]) -> None:
        started: list[ServerProcess] = [
            self._deployment.run(*command) for command in self._commands if command[0] in names
        ]
        if started[0].name == "serve":
            started[0].wait_until_ready()


@pytest.mark.fault(27)
@pytest.mark.parametrize(
    ("kind", "commands"),
    [
        pytest.param("sqlite", ALONE, id="sqlite"),
        pytest.param("postgresql", ALONE, id="postgresql"),
        pytest.param("postgresql", SEVERAL, id="postgresql-several", marks=pytest.mark.long),
    ],
)
def test_campaigns_killed_again_and_again_reach_everybody_once(
    new_deployment: Callable[[str], Deployment], kind: str, commands: Sequence[Sequence[str]]
) -> None:
    """One has a text for all, and goes as fast as the carrier takes it; one has a text for each,
    and a rate of its own.
    """
    deployment, chance = new_deployment(kind), random.Random(27)
    deployment.env |= OPEN
    carrier = deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    both = [
        Under(deployment, "fast", int(quick_or_long(200, 8_000)), "The shop is open"),
        Under(
            deployment,
            "slow",
            int(quick_or_long(150, 3_000)),
            OWN_TEXTS,
            first=5_000_000,
            rate=RATE,
        ),
    ]
    with hearing(deployment, kinds=ENDED) as receiver:
        deployment.start(commands)
        reaper = Reaper(deployment, commands)
        for under in both:
            under.launch()
        recovered_s = 0.0
        while reaper.kills < KILLS and not all(under.is_over for under in both):
            recovered_s = max(recovered_s, _some_more(deployment, carrier, both, chance))
            time.sleep(chance.uniform(0, 0.3))  # the moment is the test
            reaper.kill()
        recovered_s = max(recovered_s, _some_more(deployment, carrier, both, chance))
        all_sent(deployment, both)
        check_all(deployment, carrier, both, receiver)
        assert not LONG or reaper.kills == KILLS, "they were over too early"
        killed = (
            "`serve`"
            if commands is ALONE
            else (
                f"scheduler and carrier process, each {SCHEDULER_ALONE_EVERY}th of the scheduler"
                " alone,"
            )
        )
        deployment.holds(
            repeated_max=reaper.kills * WINDOW,
            failed=sum(under.refused for under in both),
            recovered_s=recovered_s,
            how=(
                f"{reaper.kills} kill -9 of {killed} while two campaigns are expanded and sent, one"
                f" with a text for each at {RATE} a second: nobody is left out, each end is told"
                " once; until the next chunk or submit_sm"
            ),
        )


def _some_more(
    deployment: Deployment,
    carrier: CarrierUnderTest,
    all_of: Sequence[Under],
    chance: random.Random,
) -> float:
    """Waits until a chunk was stored, or some were submitted. Returns how many seconds it took
    until the first of it.
    """
    cursors, seen, wanted = (
        [under.now.cursor for under in all_of],
        len(carrier.submits()),
        chance.choice([0, chance.randint(1, 60)]),
    )

    def is_over() -> bool:
        return all(under.is_over for under in all_of)

    def moved() -> bool:
        return (
            [under.now.cursor for under in all_of] != cursors
            or len(carrier.submits()) > seen
            or is_over()
        )

    first_s = deployment.until(
        moved, f"it goes on: {deployment.sender.log[-2_000:]}", AGAIN_WITHIN_S
    )
    deployment.until(
        lambda: len(carrier.submits()) >= seen + wanted or is_over(),
        f"some more: {deployment.sender.log[-2_000:]}",
        AGAIN_WITHIN_S,
    )
    return first_s


# Launches a campaign by pieces of 30 people, and waits after each until it is told to go on.
_LAUNCH = """
import sys
from heliograph import campaigns
from heliograph.database.database import Database
from heliograph.campaigns.audience import audience_lock
audience_lock.PEOPLE_PER_TRANSACTION = audience_lock.PEOPLE_PER_TRANSACTION_SQLITE = 30
def tell(people):
    print(people, flush=True)
    sys.stdin.readline()
campaigns.launch(Database(sys.argv[1]), sys.argv[2], tell=tell)
"""


@pytest.mark.fault(27)
def test_a_launch_killed_while_it_freezes_the_audience_is_made_again_whole(
    deployment: Deployment,
) -> None:
    deployment.env |= OPEN
    chance, kills = random.Random(27), int(quick_or_long(1, 20))
    carrier = deployment.carrier(window=WINDOW)
    with hearing(deployment, kinds=ENDED) as receiver:
        deployment.start()
        under = Under(deployment, "frozen", int(quick_or_long(300, 1_000)), OWN_TEXTS)
        for _ in range(kills):
            with subprocess.Popen(
                [sys.executable, "-c", _LAUNCH, deployment.db.url, under.draft.id],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            ) as launching:
                assert launching.stdin is not None
                assert launching.stdout is not None
                for _ in range(chance.randint(1, 7)):
                    assert launching.stdout.readline()
                    launching.stdin.write("\n")
                time.sleep(chance.uniform(0, 0.02))  # the moment is the test
                launching.kill()
            assert under.now.status == "draft"
            assert written(deployment.db, under.draft), "nothing was written down yet"
        under.launch()
        assert sorted(map(str, written(deployment.db, under.draft))) == under.people
        all_sent(deployment, [under])
        check_all(deployment, carrier, [under], receiver)
        deployment.holds(
            failed=under.refused,
            how=(
                f"{kills} kill -9 of a launch that was writing down its audience: still a draft,"
                " and the last launch reached the very audience"
            ),
        )


@pytest.mark.fault(27)
def test_a_campaign_canceled_by_a_process_that_is_killed_is_paid_back_once(
    deployment: Deployment,
) -> None:
    carrier = deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    deployment.start(ALONE)
    under = Under(deployment, "canceled", int(quick_or_long(1_500, 9_000)), OWN_TEXTS)
    under.launch()
    carrier.wait_for("submit_sm", 3 * WINDOW)
    under.do(lambda tx: campaigns.cancel(tx, under.draft.id, now_ms=clock.now_ms()))
    reaper, half_way = Reaper(deployment, ALONE), 0
    for _ in range(int(quick_or_long(1, 5))):
        before = deployment.count("failed")
        deployment.until(
            lambda before=before: deployment.count("failed") > before or under.now.ended_at_ms,  # type: ignore[misc]
            "some are canceled",
        )
        reaper.kill()
        half_way += under.now.ended_at_ms is None
    all_sent(deployment, [under])
    rows = under.rows()
    canceled = [row for row in rows if row.error_code == "canceled"]
    others = [row for row in rows if row.error_code != "canceled"]
    assert canceled
    assert all(row.refunded == row.credits for row in canceled)
    assert {row.status for row in others if not str(row.recipient).endswith(REFUSED)} <= {
        "delivered"
    }
    assert len({row.recipient for row in rows}) == len(rows)
    assert not {str(row.recipient) for row in canceled} & {
        submit["recipient"] for submit in carrier.submits()
    }
    under.know(rows)
    deployment.holds(
        repeated_max=reaper.kills * WINDOW,
        failed=deployment.count("failed"),
        how=(
            f"{reaper.kills} kill -9 after a cancel, {half_way} of them with some of it still"
            f" queued: {len(canceled):,} of {len(rows):,} failed (canceled), none of them at the"
            " carrier, each paid back once"
        ),
    )


@pytest.mark.fault(27)
def test_a_campaign_paused_by_a_process_that_is_killed_loses_and_sends_nothing_meanwhile(
    deployment: Deployment,
) -> None:
    deployment.env |= OPEN
    carrier = deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    with hearing(deployment, kinds=ENDED) as receiver:
        deployment.start(ALONE)
        under, reaper = (
            Under(deployment, "paused", int(quick_or_long(500, 5_000)), OWN_TEXTS),
            Reaper(deployment, ALONE),
        )
        under.launch()
        carrier.wait_for("submit_sm", 3 * WINDOW)
        for _ in range(int(quick_or_long(1, 5))):
            under.do(lambda tx: campaigns.pause(tx, under.draft.id))
            deployment.until(lambda: under.held()[1], "some of it is held")
            reaper.kill()
            deployment.until(lambda: under.held()[0], "all of it is held")
            deployment.until(
                lambda: (
                    not under.held()[2]
                    and not deployment.in_flight("claimed")
                    and not deployment.in_flight()
                ),
                "nothing is on the wire",
            )
            assert not under.is_over
            _others_go_out_and_it_does_not(deployment, carrier, under)
            under.do(lambda tx: campaigns.resume(tx, under.draft.id))
            seen = len(carrier.submits())
            deployment.until(lambda: under.held()[2], "some of it is let go")
            reaper.kill()
            deployment.until(lambda seen=seen: len(carrier.submits()) > seen + WINDOW, "it goes on")  # type: ignore[misc]
        all_sent(deployment, [under])
        assert under.held()[0] is False
        check_all(deployment, carrier, [under], receiver)
        deployment.holds(
            repeated_max=reaper.kills * WINDOW,
            failed=under.refused,
            how=(
                f"{reaper.kills} kill -9 while what is queued is being held or let go: nothing left"
                " while all of it was held, and others' messages did"
            ),
        )


def _others_go_out_and_it_does_not(
    deployment: Deployment, carrier: CarrierUnderTest, under: Under
) -> None:
    of_it = set(under.people)

    def submitted() -> list[str]:
        return [submit["recipient"] for submit in carrier.submits()]

    before = [recipient for recipient in submitted() if recipient in of_it]
    others = {
        deployment.clients.accepted[message_id].recipient
        for message_id in deployment.clients.send(5)
    }
    deployment.until(lambda: others <= set(submitted()), "others' messages go out")
    assert [recipient for recipient in submitted() if recipient in of_it] == before
