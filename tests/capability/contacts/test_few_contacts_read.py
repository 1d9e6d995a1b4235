"""Whoever asks for the contacts with some phones reads these contacts alone, and no opt-out of
others, also where PostgreSQL has counted no contact of that account, or of that mode.
"""

from collections.abc import Iterator
from typing import Final

import pytest
import sqlalchemy as sa

from heliograph import contacts
from heliograph.base import clock
from heliograph.contacts import ContactOwner
from heliograph.database.database import Database
from heliograph.opt_outs import OptOutOwner, OptOutSource, suppress
from tests.support.capability.campaigns import add_contacts
from tests.support.capability.sending import House
from tests.support.factories import open_account, phones

COUNTED: Final = phones(3_000)
LATER: Final = phones(2_000, first=5_000)
ASKED: Final = (*LATER[::50], *phones(10, first=9_000))  # 10 of them are nobody's
# far fewer than all that the owner has, once for each phone: 100,000
READ_MAX: Final = 3 * len(ASKED)
# a driver prepares a statement, and PostgreSQL keeps its plan, within so many times
OFTEN: Final = 15

_READ: Final = sa.text("""SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
    FROM pg_stat_xact_user_tables WHERE relname IN ('contacts', 'suppressions')""")


@pytest.fixture(params=[0, len(COUNTED)])
def counted(request: pytest.FixtureRequest, postgresql_house: House) -> Iterator[House]:
    """Yields a house whose live contacts were counted when there were so many, and never again. In
    another account many have opted out.
    """
    db = postgresql_house.db
    with db.write() as tx:
        owner = OptOutOwner(open_account(db, "others"), False)
        suppress(tx, owner, COUNTED, source=OptOutSource.API, now_ms=clock.now_ms())
    with db.write() as tx:
        tx.exec_driver_sql("ALTER TABLE contacts SET (autovacuum_enabled = off)")
    if request.param:
        add_contacts(db, postgresql_house.amina_id, COUNTED)
    with db.write() as tx:
        tx.exec_driver_sql("ANALYZE contacts, suppressions")
    yield postgresql_house
    with db.write() as tx:  # the next test may have the same database
        tx.exec_driver_sql("ALTER TABLE contacts RESET (autovacuum_enabled)")


def _asked(db: Database, owner: ContactOwner) -> tuple[list[str], int]:
    """Returns the phones that were found, and how many rows were read for it."""
    with db.read() as tx:
        before = tx.execute(_READ).scalar_one()
        found = contacts.by_phones(tx, owner, ASKED)
        assert [contact.phone for contact in found.values()] == list(found)
        return sorted(found), tx.execute(_READ).scalar_one() - before


@pytest.mark.parametrize("is_of_new_account", [False, True])
def test_contacts_that_were_never_counted_are_found_without_reading_the_others(
    counted: House, is_of_new_account: bool
) -> None:
    db, account_id = counted.db, counted.amina_id
    owner = ContactOwner(open_account(db, "new") if is_of_new_account else account_id, True)
    for _ in range(OFTEN):
        assert _asked(db, owner)[0] == []
    add_contacts(db, owner.account_id, LATER, sandbox=True)
    for _ in range(OFTEN):
        found, rows_read = _asked(db, owner)
        assert found == sorted(set(ASKED) & set(LATER))
        assert rows_read <= READ_MAX


def test_a_phone_of_another_account_or_mode_is_not_found(counted: House) -> None:
    db, amina_id = counted.db, counted.amina_id
    stranger = open_account(db, "chidi")
    add_contacts(db, stranger, LATER, sandbox=True)
    add_contacts(db, amina_id, LATER[:5])
    for owner in (ContactOwner(amina_id, True), ContactOwner(stranger, False)):
        assert _asked(db, owner)[0] == []
    assert _asked(db, ContactOwner(amina_id, False))[0] == [LATER[0]]
