"""An audience changes while it is frozen: all figures are of those who were written down."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits
from heliograph.campaigns.advance import Advancer
from heliograph.campaigns.lifecycle import NoRecipients
from heliograph.contacts import OPERATOR, ContactOwner, ContactPatch, upsert
from heliograph.database.database import Database
from heliograph.messages.accept import Chunker
from heliograph.text import Phone
from tests.support.capability.campaigns import (
    add_contacts,
    now,
    set_opted_out,
    write_down,
    write_down_file,
    written,
)
from tests.support.capability.sending import House
from tests.support.factories import awaited, open_account, open_route, phones

MANY = 20_000


@pytest.mark.parametrize("audience", ["all", "numbers"])
@pytest.mark.parametrize(("who", "opts_out"), [(0, False), (1, True)])
def test_whoever_opts_out_or_in_while_the_audience_is_frozen_is_counted_as_he_was_read(
    postgresql_url: str, audience: str, who: int, *, opts_out: bool
) -> None:
    """The change comes between any two statements of a launch. The notes of opt-outs, which
    `Advancer` heeds, take out afterwards who is still to come.
    """
    db = Database(postgresql_url)
    open_route(db)
    account_id, steps = open_account(db, credits=1_000), 0
    people = [int(phone) for phone in phones(10)]
    add_contacts(db, account_id, map(str, people))
    while True:
        campaign = (
            write_down(db, account_id)
            if audience == "all"
            else write_down_file(db, account_id, people)
        )
        _opt(db, account_id, {people[0]: True, people[1]: False})
        with _after_statement(steps, lambda: _opt(db, account_id, {people[who]: opts_out})) as done:
            quote = campaigns.launch(db, campaign.id).quote
        if not done:
            break
        frozen, found = set(written(db, campaign)), now(db, campaign)
        assert set(people[2:]) <= frozen
        here, left_out = len(frozen), 10 - len(frozen)
        assert (quote.recipients, quote.opted_out) == (here, left_out), f"after statement {steps}"
        assert (found.recipients_total, found.opted_out, found.credits_estimated) == (
            here,
            left_out,
            here,
        ), f"after statement {steps}"
        steps += 1
    db.close()
    assert steps >= 5


@pytest.mark.parametrize("audience", ["all", "numbers"])
def test_a_refused_launch_leaves_a_campaign_as_it_was(db: Database, audience: str) -> None:
    """It is refused for want of credits, then of anybody; whoever opts in after it is reached by
    the next one, whoever opts out is not.
    """
    open_route(db)
    account_id = open_account(db, credits=3)
    people = [int(phone) for phone in phones(6)]
    add_contacts(db, account_id, map(str, people))
    campaign = (
        write_down(db, account_id) if audience == "all" else write_down_file(db, account_id, people)
    )
    before = now(db, campaign)
    for out, refusal in (
        (people[:2], InsufficientCredits),
        (people, NoRecipients),
        ([], InsufficientCredits),
        (people[4:], InsufficientCredits),
    ):
        _opt(db, account_id, {person: person in out for person in people})
        with pytest.raises(refusal):
            campaigns.launch(db, campaign.id)
        assert now(db, campaign) == before
        assert campaigns.estimate(db, campaign)[:2] == (6 - len(out), len(out))
    _opt(db, account_id, {person: person in people[1:4] for person in people})
    assert (
        campaigns.estimate(db, campaign)
        == campaigns.launch(db, campaign.id).quote
        == (3, 3, {}, {}, 3, 3, 3)
    )
    assert set(written(db, campaign)) == {people[0], *people[4:]}
    assert (now(db, campaign).recipients_total, now(db, campaign).opted_out) == (3, 3)


def test_of_a_scheduled_one_that_failed_it_is_known_who_had_opted_out(db: Database) -> None:
    open_route(db)
    account_id, people = open_account(db, credits=2), [int(phone) for phone in phones(6)]
    add_contacts(db, account_id, map(str, people))
    for out, why in (people[:2], "insufficient_credits"), (people, "no_recipients"):
        campaign = write_down_file(db, account_id, people)
        _opt(db, account_id, {person: person in out for person in people})
        with db.write() as tx:
            campaigns.schedule(tx, campaign.id, clock.now_ms())
        assert campaigns.start_due(db) == []
        failed = now(db, campaign)
        assert (failed.status, failed.status_reason, failed.opted_out, failed.recipients_total) == (
            "failed",
            why,
            len(out),
            0,
        )


def test_a_file_is_frozen_though_more_have_opted_out_than_fit_into_the_servers_memory(
    new_database: Callable[[str], str],
) -> None:
    """Then an `IN` that is not a join compares each of them with each of the file, which the
    time for a statement is too short for.
    """
    url = new_database("postgresql")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {urlsplit(url).path[1:]} SET work_mem = '64kB'")
    db = Database(url)
    open_route(db)
    account_id = open_account(db, credits=100_000)
    add_contacts(db, account_id, [{"phone": phone, "opted_out": True} for phone in phones(MANY)])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE contacts")
    campaign = write_down_file(db, account_id, phones(MANY, first=MANY - 5))
    assert campaigns.estimate(db, campaign)[:2] == (MANY - 5, 5)
    assert campaigns.launch(db, campaign.id).quote[:2] == (MANY - 5, 5)
    db.close()


@awaited
async def test_who_was_left_out_when_a_file_was_frozen_stays_so_and_is_counted_once(
    house: House,
) -> None:
    """It does not matter what he wishes afterwards: to be back in, and out again."""
    people = [int(phone) for phone in phones(5)]
    add_contacts(house.db, house.amina_id, map(str, people))
    campaign = write_down_file(house.db, house.amina_id, people)
    _opt(house.db, house.amina_id, {people[0]: True, people[4]: True})
    campaigns.launch(house.db, campaign.id)
    for opted_out in (False, True):
        changes = [
            ContactPatch(Phone(str(person), "GH"), {"opted_out": opted_out})
            for person in people[::4]
        ]
        with house.db.write() as tx:
            upsert(
                tx, ContactOwner(house.amina_id, False), changes, by=OPERATOR, now_ms=clock.now_ms()
            )
    await house.cache.refresh()
    await Advancer(house.db, Chunker(house.cache, house.queue), house.woken.append, chunk=2).once()
    assert sorted(message.recipient for message in house.messages()) == people[1:4]
    row = now(house.db, campaign)
    assert (row.recipients_total, row.opted_out, row.expanded, row.cursor) == (
        3,
        2,
        True,
        people[3],
    )


def _opt(db: Database, account_id: str, out: dict[int, bool]) -> None:
    with db.write() as tx:
        set_opted_out(tx, account_id, out)


@contextmanager
def _after_statement(number: int, act: Callable[[], None]) -> Iterator[list[int]]:
    """Acts once, after the statement with this number, from 0. What it yields tells whether there
    were so many statements.
    """
    seen, done = itertools.count(), list[int]()

    def after(*_: object) -> None:
        if not done and next(seen) == number:
            done.append(number)
            act()

    sa.event.listen(sa.Engine, "after_cursor_execute", after)
    try:
        yield done
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", after)
