"""A process is killed while it writes down a campaign's audience, or a file of numbers; and several
do so at once.

Nobody is written down twice, nobody is missing, and those who opted out are counted once.
"""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.base import clock
from heliograph.campaigns import Campaign
from heliograph.campaigns.audience import audience_lock
from heliograph.campaigns.states import WrongState
from heliograph.campaigns.tables import campaigns as table
from heliograph.database.database import Database
from heliograph.opt_outs.tables import suppressions
from tests.support.capability.campaigns import (
    add_contacts,
    now,
    set_opted_out,
    write_down,
    write_down_file,
    written,
)
from tests.support.capability.cast import at_once
from tests.support.factories import open_account, open_route, phones

# What the killed process does: with chunks of ten people, and it stays where it is after three of
# them.
LAUNCHES = "campaigns.launch(db, sys.argv[2], tell=stay)"
STARTS = "campaigns.start_due(db, tell=stay)"
READS = """
request = campaigns.read_campaign_request({
    "name": "Owed", "sender": "AMINA", "message": "You owe {amount}", "audience": "numbers"})
file = io.StringIO("phone,amount\\n" + "".join(f"{233200000000 + k},{k}\\n" for k in range(100)))
numbers = campaigns.Numbers(file, None)
campaigns.create_listed(db, sys.argv[2], request, numbers, sandbox=False, tell=stay)
"""
PROGRAM = """
import io, sys, time
from heliograph import campaigns
from heliograph.database.database import Database
from heliograph.campaigns.audience import audience_lock
audience_lock.PEOPLE_PER_TRANSACTION = audience_lock.PEOPLE_PER_TRANSACTION_SQLITE = 10
told = []
def stay(people):
    told.append(people)
    if len(told) == 3:
        print("there", flush=True)
        time.sleep(600)
db = Database(sys.argv[1])
"""
PEOPLE = [{"phone": phone, "opted_out": k % 7 == 0} for k, phone in enumerate(phones(100))]
REACHED = {int(str(person["phone"])) for person in PEOPLE if not person["opted_out"]}


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    open_route(database)
    yield database
    database.close()


@pytest.fixture
def campaigner(db: Database) -> str:
    account_id = open_account(db, credits=1_000)
    add_contacts(db, account_id, PEOPLE)
    return account_id


def killed_half_way(db: Database, does: str, *args: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + does, db.url, *args], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
    finally:
        process.kill()
        process.communicate()


def is_whole(db: Database, campaign: Campaign) -> bool:
    found = now(db, campaign)
    return (
        set(written(db, campaign)),
        found.status,
        found.recipients_total,
        found.opted_out,
        found.freezing,
    ) == (REACHED, "sending", len(REACHED), len(PEOPLE) - len(REACHED), None)


def test_a_launch_that_was_killed_is_begun_anew(db: Database, campaigner: str) -> None:
    campaign = write_down(db, campaigner)
    killed_half_way(db, LAUNCHES, campaign.id)
    assert (now(db, campaign).status, 0 < len(written(db, campaign)) < len(REACHED)) == (
        "draft",
        True,
    )
    campaigns.launch(db, campaign.id)
    assert is_whole(db, campaign)


def test_a_start_that_was_killed_is_begun_anew_when_it_has_been_silent(
    db: Database, campaigner: str
) -> None:
    campaign = write_down(db, campaigner, message="Hi {name}{phone}")
    with db.write() as tx:
        campaigns.schedule(tx, campaign.id, clock.now_ms())
    killed_half_way(db, STARTS)
    assert campaigns.start_due(db) == []
    assert now(db, campaign).status == "scheduled"
    clock.move(by_ms=audience_lock.SILENT_MS + 1_000)
    assert campaigns.start_due(db) == [campaign.id]
    assert is_whole(db, campaign)


def test_a_campaign_whose_file_was_being_read_when_its_process_was_killed_is_never_sent(
    db: Database, campaigner: str
) -> None:
    killed_half_way(db, READS, campaigner)
    with db.read() as tx:
        half = campaigns.page(tx, limit=2)
    assert [(campaign.status, len(written(db, campaign))) for campaign in half] == [("draft", 30)]
    with pytest.raises(WrongState, match="was not read to its end"):
        campaigns.launch(db, half[0].id)


def test_a_file_campaign_whose_launch_was_killed_leaves_out_and_counts_the_same(
    db: Database, campaigner: str
) -> None:
    """The outcome is that of a launch that has come to its end: whoever has opted in since the one
    that was killed is reached.
    """
    campaign = write_down_file(db, campaigner, [person["phone"] for person in PEOPLE])
    late = [int(str(person["phone"])) for person in PEOPLE[1:20]]
    with db.write() as tx:
        as_they_were = set(tx.execute(sa.select(suppressions.c.phone)).scalars())
        set_opted_out(tx, campaigner, dict.fromkeys(late, True))
    killed_half_way(db, LAUNCHES, campaign.id)
    assert (now(db, campaign).status, now(db, campaign).opted_out) == ("draft", 0)
    with db.write() as tx:
        set_opted_out(tx, campaigner, {phone: phone in as_they_were for phone in late})
    campaigns.launch(db, campaign.id)
    assert is_whole(db, campaign)


def test_of_several_at_once_one_launches_and_the_others_are_told(
    db: Database, campaigner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in ("PEOPLE_PER_TRANSACTION", "PEOPLE_PER_TRANSACTION_SQLITE"):
        monkeypatch.setattr(audience_lock, size, 10)
    campaign = write_down(db, campaigner)
    done = at_once(4, lambda k: campaigns.launch(db, campaign.id))
    assert sorted(type(each).__name__ for each in done if not isinstance(each, WrongState)) == [
        "Launched"
    ]
    assert is_whole(db, campaign)


def test_of_several_processes_that_look_one_starts_what_is_due(
    db: Database, campaigner: str
) -> None:
    due = [write_down(db, campaigner) for _ in range(3)]
    with db.write() as tx:
        for campaign in due:
            campaigns.schedule(tx, campaign.id, clock.now_ms())
    started = at_once(3, lambda k: campaigns.start_due(db))
    assert sorted(
        campaign_id for found in started if isinstance(found, list) for campaign_id in found
    ) == sorted(each.id for each in due), started
    assert all(is_whole(db, campaign) for campaign in due)
    with db.read() as tx:
        assert (
            tx.execute(
                sa.select(sa.func.count()).where(table.c.started_at_ms.is_not(None))
            ).scalar_one()
            == 3
        )
