"""An audience that changes while it is frozen: all figures are of those who were written down."""

import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.base.db import Database
from heliograph.contacts.tables import contacts
from tests.capability.campaigns import add_contacts, now, write_down, written
from tests.factories import SENDER, open_account, open_route, phones


@pytest.mark.parametrize("audience", ["all", "numbers"])
@pytest.mark.parametrize(("who", "opts_out"), [(0, False), (1, True)])
def test_whoever_opts_out_or_in_while_the_audience_is_frozen_is_counted_as_he_was_read(postgresql_url: str, audience: str, who: int, *,
                                                                                      opts_out: bool) -> None:
    """Between any two statements of a launch. The notes of opt-outs, which `jobs` heeds, take out afterwards who is still to come."""
    db = Database(postgresql_url)
    open_route(db)
    account_id, steps = open_account(db, credits=1_000), 0
    people = [int(phone) for phone in phones(10)]
    add_contacts(db, account_id, map(str, people))
    wish = campaigns.read_wish({"name": "All", "sender": SENDER, "message": "Hello", "audience": "numbers"})
    while True:
        campaign = write_down(db, account_id) if audience == "all" else campaigns.create_listed(
            db, account_id, wish, campaigns.Numbers(io.StringIO("\n".join(map(str, people))), None), sandbox=False).campaign
        _opt(db, {people[0]: True, people[1]: False})
        with _after_statement(steps, lambda: _opt(db, {people[who]: opts_out})) as done:
            quote = campaigns.launch(db, campaign.id).quote
        if not done:
            break
        frozen, found = set(written(db, campaign)), now(db, campaign)
        assert set(people[2:]) <= frozen
        here, left_out = len(frozen), 10 - len(frozen)
        assert (quote.recipients, quote.opted_out) == (here, left_out), f"after statement {steps}"
        assert (found.recipients_total, found.opted_out, found.credits_estimated) == (here, left_out, here), f"after statement {steps}"
        steps += 1
    db.close()
    assert steps >= 5


def _opt(db: Database, out: dict[int, bool]) -> None:
    with db.write() as tx:
        for phone, is_out in out.items():
            tx.execute(sa.update(contacts).where(contacts.c.phone == phone).values(opted_out=is_out))


@contextmanager
def _after_statement(number: int, act: Callable[[], None]) -> Iterator[list[int]]:
    """Acts once, after the statement with this number, from 0; told by what comes out of it whether there were so many."""
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
