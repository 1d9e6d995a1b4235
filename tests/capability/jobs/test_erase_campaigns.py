"""`heliograph erase` runs beside campaigns: what is still to be sent stays as it was written, and
whom it was for is forgotten with it.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import campaigns
from heliograph.base import clock
from heliograph.campaigns import Campaign
from heliograph.campaigns.advance import Advancer
from heliograph.campaigns.audience.audience_lock import SILENT_MS, AudienceLock, AudienceTaken
from heliograph.campaigns.lifecycle import NoRecipients
from heliograph.campaigns.tables import campaign_recipients
from heliograph.campaigns.tables import campaigns as table
from heliograph.contacts.tables import contacts
from heliograph.jobs import erase_number
from heliograph.jobs.retention import retain
from heliograph.jobs.row_changes import RowChange
from heliograph.messages.accept import Chunker
from heliograph.messages.retention.retention import RetentionTimes
from heliograph.text.phones_in_text import ERASED
from tests.support.capability.campaigns import (
    add_contacts,
    now,
    write_down,
    write_down_file,
    written,
)
from tests.support.capability.commands import Run
from tests.support.capability.sending import House
from tests.support.factories import PHONE, awaited

LOCAL = "020 123-4567"
OTHER = "233201234568"
LAST = "233201234569"
DAY_MS = 86_400_000


def listed(house: House, lines: dict[str, str]) -> Campaign:
    """Writes down a draft from a file, with its own text to each number."""
    return write_down_file(
        house.db,
        house.amina_id,
        [f"{phone},{about}" for phone, about in lines.items()],
        columns="phone,about",
        message="{about}",
    )


def erase(run: Run) -> tuple[int, str]:
    said = run("erase", PHONE, "--account", "amina", "--yes")
    return said.status, said.err


def erased(run: Run) -> dict[str, int]:
    counts: dict[str, int] = run("erase", PHONE, "--account", "amina", "--yes", "--json").json[
        "erased"
    ]
    return counts


@awaited
async def test_a_text_that_quotes_the_number_keeps_it_until_its_campaign_has_ended(
    house: House, run: Run
) -> None:
    campaign = listed(house, {OTHER: f"call {LOCAL}", LAST: "hello"})
    before = written(house.db, campaign)

    def written_down() -> None:
        pass

    def launched() -> None:
        campaigns.launch(house.db, campaign.id)

    def scheduled() -> None:
        with house.db.write() as tx:
            campaigns.schedule(tx, campaign.id, clock.now_ms() + DAY_MS)

    def paused() -> None:
        with house.db.write() as tx:
            campaigns.pause(tx, campaign.id)

    for moves_on, status in (
        (written_down, "draft"),
        (scheduled, "scheduled"),
        (launched, "sending"),
        (paused, "paused"),
    ):
        moves_on()
        assert now(house.db, campaign).status == status
        exit_status, said = erase(run)
        assert (exit_status, written(house.db, campaign)) == (1, before)
        assert campaigns.text_id(campaign) in said
    with house.db.write() as tx:
        campaigns.cancel(tx, campaign.id, now_ms=clock.now_ms())
    await house.cache.refresh()
    await Advancer(house.db, Chunker(house.cache, house.queue), house.woken.append).once()
    assert now(house.db, campaign).ended_at_ms is not None
    assert erased(run) == {"campaign_recipients": 1}
    assert {text for text, _ in written(house.db, campaign).values()} == {"…", "hello"}


def test_a_campaign_that_has_not_begun_loses_the_number_and_reaches_the_others(
    house: House, run: Run
) -> None:
    campaign = listed(house, {PHONE: f"we call {LOCAL}", OTHER: "hello"})
    assert erased(run) == {"campaign_recipients": 1}
    assert written(house.db, campaign) == {int(OTHER): ("hello", 1)}
    assert campaigns.launch(house.db, campaign.id).campaign.recipients_total == 1


def test_who_was_left_out_of_a_campaign_need_not_wait_for_its_end(house: House, run: Run) -> None:
    """This holds also for whoever is named in the text of somebody who was left out."""
    add_contacts(
        house.db,
        house.amina_id,
        [{"phone": PHONE, "opted_out": True}, {"phone": LAST, "opted_out": True}],
    )
    campaign = listed(house, {PHONE: "hi", OTHER: "hello", LAST: f"we call {LOCAL}"})
    campaigns.launch(house.db, campaign.id)
    assert erased(run) == {"campaign_recipients": 2, "contacts": 1}
    assert (written(house.db, campaign), now(house.db, campaign).opted_out) == (
        {int(OTHER): ("hello", 1)},
        2,
    )
    with house.db.read() as tx:
        assert sorted(tx.execute(sa.select(campaign_recipients.c.text)).scalars()) == [
            "hello",
            ERASED,
        ]


def test_a_text_that_names_the_number_waits_while_its_recipient_may_opt_in_again(
    house: House, run: Run
) -> None:
    add_contacts(house.db, house.amina_id, [{"phone": LAST, "opted_out": True}])
    campaign = listed(house, {LAST: f"we call {LOCAL}"})
    with pytest.raises(NoRecipients):
        campaigns.launch(house.db, campaign.id)
    exit_status, said = erase(run)
    assert (exit_status, campaigns.text_id(campaign) in said) == (1, True)


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("is_scheduled", [False, True])
def test_a_campaign_whose_audience_is_just_being_written_down_is_waited_for(
    house: House, run: Run, is_scheduled: bool, is_killed: bool
) -> None:
    add_contacts(house.db, house.amina_id, [PHONE])
    campaign = write_down(house.db, house.amina_id)
    if is_scheduled:
        with house.db.write() as tx:
            campaigns.schedule(tx, campaign.id, clock.now_ms() + DAY_MS)
    lock = AudienceLock(house.db, campaign.id)
    lock.take(lambda tx: None)
    exit_status, said = erase(run)
    assert (exit_status, f"{campaigns.text_id(campaign)} is just being launched" in said) == (
        1,
        True,
    )
    with house.db.read() as tx:
        assert tx.execute(sa.select(contacts.c.phone)).scalars().all() == [int(PHONE)]
    if is_killed:
        clock.move(by_ms=SILENT_MS + 1)
    else:
        lock.finish(lambda tx: None)
    assert erased(run) == {"contacts": 1}
    if is_killed:
        with pytest.raises(AudienceTaken):
            lock.step(lambda tx: None)


def test_a_launch_that_begins_while_the_number_is_erased_is_told(
    house: House, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_contacts(house.db, house.amina_id, [PHONE, OTHER])
    campaign, batches = write_down(house.db, house.amina_id), erase_number.batches

    def late(found: Sequence[RowChange]) -> Iterator[Callable[[Connection], None]]:
        campaigns.launch(house.db, campaign.id)
        return batches(found)

    monkeypatch.setattr(erase_number, "batches", late)
    exit_status, said = erase(run)
    assert (
        exit_status,
        said.startswith("heliograph: 1 rows were erased, but something new"),
        campaigns.text_id(campaign) in said,
    ) == (1, True, True)
    assert set(written(house.db, campaign)) == {int(PHONE), int(OTHER)}
    with house.db.write() as tx:
        campaigns.cancel(tx, campaign.id, now_ms=clock.now_ms())
        tx.execute(table.update().values(ended_at_ms=clock.now_ms()))
    monkeypatch.undo()
    assert erased(run) == {"campaign_recipients": 1}


@awaited
async def test_whom_an_ended_campaign_reached_last_is_forgotten_with_the_others(
    house: House,
) -> None:
    old, young = (listed(house, {PHONE: "hi", OTHER: "hello"}) for _ in range(2))
    with house.db.write() as tx:
        for campaign, age_days in ((old, 8), (young, 6)):
            tx.execute(
                table.update()
                .where(table.c.id == campaign.id)
                .values(
                    status="completed",
                    cursor=int(OTHER),
                    ended_at_ms=clock.now_ms() - age_days * DAY_MS,
                )
            )
    await retain(house.db, RetentionTimes(7 * DAY_MS, None))
    assert [
        (now(house.db, campaign).cursor, len(written(house.db, campaign)))
        for campaign in (old, young)
    ] == [(0, 0), (int(OTHER), 2)]
