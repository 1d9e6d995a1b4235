"""The database changes the state of an account as its table of transitions says, and refuses
whatever else it is told.
"""

from itertools import product

import pytest
import sqlalchemy as sa

from heliograph import accounts
from heliograph.accounts.account import AccountClosed
from heliograph.accounts.states import ACCOUNT, ACTIVE, CLOSED, SUSPENDED
from heliograph.accounts.tables import accounts as table
from heliograph.base import clock
from heliograph.database.database import Database
from tests.support.factories import open_account

STORED = {ACTIVE: (ACTIVE, None), SUSPENDED: (SUSPENDED, None), CLOSED: (SUSPENDED, 77)}


def test_an_account_comes_to_the_states_that_its_table_allows_and_to_no_other(
    db: Database,
) -> None:
    for was, to in product(ACCOUNT.states, ACCOUNT.states):
        account_id = open_account(db, f"{was} to {to}")
        with db.write() as tx:
            status, closed_at_ms = STORED[was]
            tx.execute(
                sa.update(table)
                .where(table.c.id == account_id)
                .values(status=status, closed_at_ms=closed_at_ms)
            )
        with db.write() as tx:
            if not ACCOUNT.allows(was, to):
                with pytest.raises(AccountClosed):
                    _change(tx, account_id, to)
            else:
                _change(tx, account_id, to)
            found = accounts.by_id(tx, account_id)
        assert found.shown_status == (to if ACCOUNT.allows(was, to) else was)
        assert found.status == STORED[found.shown_status][0]


def _change(tx: sa.Connection, account_id: str, to: str) -> None:
    if to == CLOSED:
        accounts.close(tx, account_id, now_ms=clock.now_ms())
    else:
        {ACTIVE: accounts.resume, SUSPENDED: accounts.suspend}[to](tx, account_id)


def test_the_conditions_of_the_states_of_an_account_tell_each_from_the_others(
    db: Database,
) -> None:
    for name, (status, closed_at_ms) in STORED.items():
        account_id = open_account(db, name)
        with db.write() as tx:
            tx.execute(
                sa.update(table)
                .where(table.c.id == account_id)
                .values(status=status, closed_at_ms=closed_at_ms)
            )
            found = [
                state
                for state in ACCOUNT.states
                if tx.execute(
                    sa.select(table.c.id).where(
                        table.c.id == account_id, sa.text(ACCOUNT.is_in(state))
                    )
                ).one_or_none()
            ]
        assert found == [name]
