"""Whoever asks whether some phones have opted out reads the opt-outs of these phones alone, also
where PostgreSQL takes the table for empty: it was so when it was counted last, or when the plan
was made.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.base.paging import PageWanted
from heliograph.campaigns import expand
from heliograph.campaigns.tables import campaign_recipients
from heliograph.database.arrays import literal
from heliograph.database.hot import HotTx
from heliograph.database.statements import BigInt, Nothing, Row, Statement, rows_by_key
from heliograph.inbound.receive import replies_sql
from heliograph.messages.accept import read_sql
from heliograph.messages.carrier import withdrawn_by_opt_out
from heliograph.messages.sweeps import opt_out
from heliograph.messages.tables import sends
from heliograph.opt_outs import OptOutOwner, OptOutSource, find_suppressed, opt_out_page, suppress
from heliograph.opt_outs.due_notes import OptedOutPhone
from tests.support.capability.sending import House
from tests.support.factories import awaited, phones

OUT: Final = phones(2_000)  # who opts out, while the table is taken for empty
ASKED: Final = OUT[::50]
GROUP: Final = 7
# a driver prepares a statement, and PostgreSQL keeps its plan, within so many times
OFTEN: Final = 15
Ask = Callable[[HotTx, House, str], Awaitable[Sequence[Any]]]


class _ReadRows(Row, frozen=True):
    count: BigInt


_COUNT: Final = """SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) AS count
    FROM pg_stat_xact_user_tables WHERE relname = 'suppressions'"""
_READ: Final = Statement(Nothing, _ReadRows, postgresql=_COUNT)


async def _accepting(tx: HotTx, house: House, _: str) -> Sequence[Any]:
    asked = [read_sql.AskedRecipient(house.amina_id, False, int(phone)) for phone in ASKED]
    await read_sql.lock_and_look_up(tx, [house.amina_id], [], asked)
    return await read_sql.opt_outs(tx, asked)


async def _coming_back(tx: HotTx, house: House, send_id: str) -> Sequence[Any]:
    back = [
        withdrawn_by_opt_out._ReturningMessage(
            ids.raw_of_number(number), send_id, house.amina_id, sandbox=False, phone=int(phone)
        )
        for number, phone in enumerate(ASKED, ids.new_number())
    ]
    return await withdrawn_by_opt_out._OPTED_OUT.rows(tx, back)


async def _noted(tx: HotTx, house: House, _: str) -> Sequence[Any]:
    people = [OptedOutPhone(house.amina_id, False, int(phone)) for phone in ASKED]
    found = await opt_out._NOTED.rows_with(tx, people, opt_out._SinceId("0" * 32))
    return [each for each in found if each.opt_out_id is not None]


async def _withdrawing(tx: HotTx, house: House, _: str) -> Sequence[Any]:
    texts = [opt_out.UnwantedTexts(house.amina_id, False, int(phone), "") for phone in ASKED]
    found = await opt_out._UNWANTED.rows_with(tx, texts, opt_out._SinceId("0" * 32))
    return [each for each in found if each.opt_out_id is not None]


async def _answering(tx: HotTx, house: House, _: str) -> Sequence[Any]:
    asked = [replies_sql.AskedPhone(house.amina_id, False, int(phone), "4567") for phone in ASKED]
    return await replies_sql.SUPPRESSED.rows(tx, asked)


async def _expanding(tx: HotTx, house: House, _: str) -> Sequence[Any]:
    after = expand._RecipientsAfter(
        GROUP, cursor=0, most=len(ASKED), account_id=house.amina_id, sandbox=False, sender="amina"
    )
    return [each for each in await expand._NEXT.rows(tx, after) if each.opted_out]


@pytest.fixture(params=[0, 1])
def counted(request: pytest.FixtureRequest, postgresql_house: House) -> Iterator[House]:
    """Yields a house whose opt-outs were counted when there were so many, and never again."""
    with postgresql_house.db.write() as tx:
        tx.exec_driver_sql("ALTER TABLE suppressions SET (autovacuum_enabled = off)")
    _opt_out(postgresql_house, phones(request.param, first=9_000_000))
    with postgresql_house.db.write() as tx:
        tx.exec_driver_sql("ANALYZE suppressions")
        asked = [{"group_id": GROUP, "recipient": int(phone)} for phone in ASKED]
        tx.execute(campaign_recipients.insert(), asked)
    yield postgresql_house
    with postgresql_house.db.write() as tx:  # the next test may have the same database
        tx.exec_driver_sql("ALTER TABLE suppressions RESET (autovacuum_enabled)")


def _opt_out(house: House, out: Sequence[str]) -> None:
    with house.db.write() as tx:
        owner = OptOutOwner(house.amina_id, False)
        suppress(tx, owner, out, source=OptOutSource.API, now_ms=clock.now_ms())


HOT_PATHS: Final = [_accepting, _coming_back, _noted, _withdrawing, _answering, _expanding]


@pytest.mark.parametrize("ask", HOT_PATHS)
@awaited
async def test_a_hot_path_reads_the_opt_outs_of_the_phones_that_it_asks_about(
    counted: House, ask: Ask
) -> None:
    await counted.send(ASKED)
    for _ in range(OFTEN):
        assert (await _asked(counted, ask))[0] == 0
    _opt_out(counted, OUT)
    found, rows_read = await _asked(counted, ask)
    assert found == len(ASKED)
    assert rows_read < 5 * len(ASKED)  # not each of 2,000 for each of 40


@pytest.mark.parametrize("ask", HOT_PATHS)
@awaited
async def test_so_does_a_session_that_plans_after_they_have_come(counted: House, ask: Ask) -> None:
    await counted.send(ASKED)
    _opt_out(counted, OUT)
    await counted.db.close_hot()  # the next transaction is of a new session
    found, rows_read = await _asked(counted, ask)
    assert found == len(ASKED)
    assert rows_read < 5 * len(ASKED)


async def _asked(house: House, ask: Ask) -> tuple[int, int]:
    """Returns how many opt-outs are found, and how many rows were read for that."""
    with house.db.read() as tx:
        send_id = tx.execute(sa.select(sends.c.id)).scalar_one()
    async with house.db.hot() as tx_hot:
        before = (await _READ.rows(tx_hot, Nothing()))[0].count
        found = await ask(tx_hot, house, send_id)
        return len(found), (await _READ.rows(tx_hot, Nothing()))[0].count - before


_OF_PHONE: Final = rows_by_key(
    "suppressions",
    "sender",
    account_id="CAST(:account_id AS uuid)",
    sandbox="false",
    phone="g.phone",
)
_OF_PHONES: Final = f"""
    EXPLAIN (ANALYZE, FORMAT JSON) SELECT found.sender
    FROM unnest(CAST(:phones AS bigint[])) AS g (phone),
        LATERAL {_OF_PHONE} AS found"""


@pytest.mark.parametrize("counted_now", [False, True])
def test_a_look_for_phones_can_take_no_other_index_than_that_of_the_phones(
    counted: House, counted_now: bool
) -> None:
    """So it does not matter what the planner thinks of the table, or how it reckons."""
    _opt_out(counted, OUT)
    asked = {"account_id": counted.amina_id, "phones": literal(list(map(int, ASKED)))}
    with counted.db.read() as tx:  # nothing of this stays
        if counted_now:
            tx.exec_driver_sql("ANALYZE suppressions")
        tx.exec_driver_sql("SET LOCAL enable_seqscan = off")
        [scan] = _scans(tx.execute(sa.text(_OF_PHONES), asked).scalar_one())
        assert scan["Index Name"] == "suppressions_pkey"
        rows = scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)
        assert rows * scan["Actual Loops"] <= len(ASKED)
        tx.exec_driver_sql("ALTER TABLE suppressions DROP CONSTRAINT suppressions_pkey")
        [scan] = _scans(tx.execute(sa.text(_OF_PHONES), asked).scalar_one())
        assert scan["Node Type"] == "Seq Scan", "there is no second way by index"


def _scans(explained: Any) -> list[dict[str, Any]]:
    """Returns the nodes of a plan that read the opt-outs."""
    nodes, found = [explained[0]["Plan"]], []
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", [])
        if node.get("Relation Name") == "suppressions":
            found.append(node)
    return found


def test_a_page_of_opt_outs_reads_the_rows_of_the_page_alone(counted: House) -> None:
    _opt_out(counted, OUT)
    owner = OptOutOwner(counted.amina_id, False)
    with counted.db.read() as tx:
        tx.exec_driver_sql("ANALYZE suppressions")
        before = tx.exec_driver_sql(_COUNT).scalar_one()
        page = opt_out_page(tx, owner, PageWanted(limit=10, before=None))
        assert len(page) == 11
        assert page == sorted(page, key=lambda each: each.id, reverse=True)
        assert tx.exec_driver_sql(_COUNT).scalar_one() - before <= 11


def test_an_ordinary_transaction_does_so_too(counted: House) -> None:
    owner = OptOutOwner(counted.amina_id, False)
    with counted.db.read() as tx:
        for _ in range(OFTEN):
            assert find_suppressed(tx, owner, ASKED) == {}
        _opt_out(counted, OUT)  # by another connection
        before = tx.exec_driver_sql(_COUNT).scalar_one()
        assert len(find_suppressed(tx, owner, ASKED)) == len(ASKED)
        assert tx.exec_driver_sql(_COUNT).scalar_one() - before < 5 * len(ASKED)
