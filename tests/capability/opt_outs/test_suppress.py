"""Opt-outs are stored and lifted, by both kinds of transactions."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.opt_outs.events import ChangedOptOut
from heliograph.opt_outs.read import (
    find_suppressed,
    is_suppressed,
    opt_out_page,
    opt_outs_of,
)
from heliograph.opt_outs.suppress import delete_opt_outs, lift, store_opt_outs, suppress
from heliograph.opt_outs.suppression import (
    WHOLE_ACCOUNT,
    OptOutOwner,
    OptOutScope,
    scope_of_sender,
)
from heliograph.opt_outs.tables import OptOutSource, suppressions
from tests.support.factories import PHONE, open_account, phones

SALES: Final = scope_of_sender(" Amina ")


class _Ordinary:
    """Opts out and in within ordinary transactions."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def suppress(self, owner: OptOutOwner, *phones: str, **more: Any) -> set[str]:
        with self._db.write() as tx:
            return suppress(tx, owner, phones, now_ms=clock.now_ms(), **more)

    def lift(self, owner: OptOutOwner, *phones: str, **more: Any) -> set[str]:
        with self._db.write() as tx:
            return lift(tx, owner, phones, now_ms=clock.now_ms(), **more)


class _Awaited:
    """Opts out and in within awaited transactions."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def suppress(self, owner: OptOutOwner, *phones: str, **more: Any) -> set[str]:
        return self._run(store_opt_outs, owner, phones, now_ms=clock.now_ms(), **more)

    def lift(self, owner: OptOutOwner, *phones: str, **more: Any) -> set[str]:
        return self._run(delete_opt_outs, owner, phones, **more)

    def _run(
        self, use: Callable[..., Awaitable[list[ChangedOptOut]]], *given: Any, **more: Any
    ) -> set[str]:
        async def run() -> set[str]:
            try:
                async with self._db.hot() as tx:
                    return {each.phone for each in await use(tx, *given, **more)}
            finally:
                await self._db.close_hot()

        return asyncio.run(run())


Way = _Ordinary | _Awaited


@pytest.fixture(params=[_Ordinary, _Awaited])
def way(request: pytest.FixtureRequest, db: Database) -> Way:
    made: Way = request.param(db)
    return made


def holds(db: Database, owner: OptOutOwner, phone: str, scope: OptOutScope = WHOLE_ACCOUNT) -> bool:
    with db.read() as tx:
        return is_suppressed(tx, owner, phone, scope)


def test_an_opt_out_holds_for_one_account_and_mode_alone(db: Database, way: Way) -> None:
    owner, stranger = (OptOutOwner(open_account(db, name), False) for name in ("amina", "chidi"))
    assert way.suppress(owner, PHONE, source=OptOutSource.API) == {PHONE}
    assert way.suppress(owner, PHONE, source=OptOutSource.API) == set()
    assert holds(db, owner, PHONE)
    assert not holds(db, owner._replace(sandbox=True), PHONE)
    assert not holds(db, stranger, PHONE)
    assert way.lift(stranger, PHONE, by=OptOutSource.API) == set()
    assert way.lift(owner, PHONE, by=OptOutSource.API) == {PHONE}
    assert not holds(db, owner, PHONE)


def test_an_opt_out_of_one_sender_holds_for_that_sender_alone(db: Database, way: Way) -> None:
    owner = OptOutOwner(open_account(db), False)
    way.suppress(owner, PHONE, source=OptOutSource.KEYWORD, scope=SALES)
    assert holds(db, owner, PHONE, scope_of_sender("AMINA"))
    assert not holds(db, owner, PHONE, scope_of_sender("OTHER"))
    assert not holds(db, owner, PHONE)
    assert way.lift(owner, PHONE, by=OptOutSource.API) == set()  # that of the account
    way.suppress(owner, PHONE, source=OptOutSource.API)
    assert holds(db, owner, PHONE, scope_of_sender("OTHER"))
    with db.read() as tx:
        found = opt_outs_of(tx, owner, PHONE)
    assert [(each.scope, each.source) for each in found] == [
        (WHOLE_ACCOUNT, OptOutSource.API),
        (SALES, OptOutSource.KEYWORD),
    ]
    assert way.lift(owner, PHONE, by=OptOutSource.API, scope=None) == {PHONE}
    assert not holds(db, owner, PHONE, SALES)


@pytest.mark.parametrize("source", [each for each in OptOutSource if each != "keyword"])
def test_a_keyword_lifts_only_what_a_keyword_made(
    db: Database, way: Way, source: OptOutSource
) -> None:
    owner = OptOutOwner(open_account(db), False)
    by_keyword, by_both, by_other = phones(3)
    way.suppress(owner, by_keyword, by_both, source=OptOutSource.KEYWORD)
    assert way.suppress(owner, by_both, by_other, source=source) == {by_other}
    assert way.suppress(owner, by_other, source=OptOutSource.KEYWORD) == set()
    everybody = (by_keyword, by_both, by_other)
    assert way.lift(owner, *everybody, by=OptOutSource.KEYWORD) == {by_keyword}
    with db.read() as tx:
        assert find_suppressed(tx, owner, everybody) == {by_both: source, by_other: source}
    assert way.lift(owner, *everybody, by=OptOutSource.API) == {by_both, by_other}


def read_of_opt_outs(tx: Connection) -> int:
    """Returns how many rows of the table this transaction has read so far, on PostgreSQL."""
    read = sa.text(
        "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables"
        " WHERE relname = 'suppressions'"
    )
    return int(tx.execute(read).scalar_one())


@pytest.fixture
def new_db(db: Database, new_database: Callable[[str], str]) -> Iterator[Database]:
    """Yields a database that no test has had before, so that its rows were never counted."""
    made = Database(new_database("postgresql" if db.postgresql else "sqlite"))
    yield made
    made.close()


def test_of_many_opt_outs_only_those_of_the_phones_are_read(new_db: Database) -> None:
    """The database has never counted the rows of the table, as in a new installation."""
    db = new_db
    owner, out = OptOutOwner(open_account(db), False), phones(2_000)
    with db.write() as tx:
        suppress(tx, owner, out, source=OptOutSource.IMPORT, now_ms=clock.now_ms())
    asked = [*out[:150], *(f"23324{number:07}" for number in range(150))]
    with db.read() as tx:
        before = read_of_opt_outs(tx) if db.postgresql else 0
        assert find_suppressed(tx, owner, asked) == dict.fromkeys(out[:150], OptOutSource.IMPORT)
        assert not db.postgresql or read_of_opt_outs(tx) - before == 150


def test_opt_outs_are_listed_newest_first_page_by_page(db: Database) -> None:
    owner = OptOutOwner(open_account(db), False)
    stranger = OptOutOwner(open_account(db, "chidi"), False)
    some = phones(5)
    for phone in some:
        _Ordinary(db).suppress(owner, phone, source=OptOutSource.PORTAL)
        _Ordinary(db).suppress(stranger, phone, source=OptOutSource.API)
    with db.read() as tx:
        first = opt_out_page(tx, owner, PageWanted(2, None))
        second = opt_out_page(tx, owner, PageWanted(3, first[1].id))
        one = opt_out_page(tx, owner, PageWanted(3, None), phone=some[1])
    assert [each.phone for each in first] == some[:1:-1]  # one too many
    assert [each.phone for each in second] == some[2::-1]
    assert [each.phone for each in one] == [some[1]]
    assert all(each.source is OptOutSource.PORTAL for each in (*first, *second, *one))
    assert abs(first[0].made_at_ms - clock.now_ms()) < 60_000


def test_a_source_that_is_not_known_is_not_stored(db: Database) -> None:
    owner = OptOutOwner(open_account(db), False)
    with pytest.raises(Exception, match="suppressions_source"), db.write() as tx:  # noqa: PT012
        made = {"phone": int(PHONE), "sender": "", "id": "0" * 32, "source": "rumour"}
        tx.execute(suppressions.insert().values(**owner._asdict(), **made))
