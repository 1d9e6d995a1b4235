"""Whatever is under way while an account is closed is owed if it was there before, or it is
refused.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts, campaigns, connect, keys
from heliograph.base import clock
from heliograph.campaigns.lifecycle import AccountSuspended
from heliograph.carriers import current_rates
from heliograph.database.database import Database
from heliograph.jobs import close_account
from heliograph.messages.accept import Chunker, ChunkRecipient, ChunkRequest
from heliograph.messages.tables import queue
from heliograph.wallet import pay_out
from tests.support.capability.campaigns import add_contacts, write_down
from tests.support.capability.commands import BILAL, Run, text
from tests.support.capability.sending import House
from tests.support.factories import SENDER, awaited, phones


def closed_now(db: Database, account_id: str) -> None:
    with db.write() as tx:
        close_account.close(tx, account_id, None, "kofi", now_ms=clock.now_ms())


@pytest.mark.parametrize("sandbox", [False, True])
@awaited
async def test_a_send_that_was_let_in_before_is_refused_by_the_wallets_row(
    house: House, run: Run, sandbox: bool
) -> None:
    """It does not matter what the process remembers of the account, nor whether the text costs
    anything.
    """
    await asyncio.to_thread(run, "rate", "set", "default", "0")
    await asyncio.to_thread(
        run, "account", "pay-out", text(house.db, house.amina_id), "--reason", "x"
    )
    wish: dict[str, Any] = {"sandbox": sandbox, "sender": "SANDBOX" if sandbox else SENDER}
    await house.send(key="order-1", **wish)
    await asyncio.to_thread(run, "message", "cancel", "--account", text(house.db, house.amina_id))
    await asyncio.to_thread(closed_now, house.db, house.amina_id)
    with pytest.raises(accounts.AccountClosed) as refused:
        await house.send(**wish)
    assert (refused.value.status, refused.value.code, refused.value.reason) == (
        403,
        "FORBIDDEN",
        "account_suspended",
    )
    # what was accepted before is told as it was
    assert (await house.send(key="order-1", **wish)).replayed
    assert house.count(queue) == 0


@pytest.mark.parametrize("sandbox", [False, True])
@awaited
async def test_a_send_that_waits_for_the_wallet_while_the_account_is_closed_is_refused(
    postgresql_house: House, sandbox: bool
) -> None:
    """The statement in which it waits saw the configuration as it was before."""
    house = postgresql_house
    with house.db.write() as tx:
        pay_out.pay_out(tx, accounts.by_id(tx, house.amina_id), "x")
    with house.db.write() as tx:
        current_rates.store(tx, "default", 0)
    await house.cache.refresh()

    def close_while_it_waits(loop: asyncio.AbstractEventLoop) -> Any:
        with house.db.write() as tx:
            close_account.close(tx, house.amina_id, None, "kofi", now_ms=clock.now_ms())
            sending = asyncio.run_coroutine_threadsafe(
                house.tried(sandbox=sandbox, sender="SANDBOX" if sandbox else SENDER), loop
            )
            wait_for_a_waiter(house.db, sending)
        return sending

    sending = await asyncio.to_thread(close_while_it_waits, asyncio.get_running_loop())
    assert isinstance(await asyncio.wrap_future(sending), accounts.AccountClosed)
    assert house.sends() == 0


@awaited
async def test_a_campaign_that_was_just_started_makes_no_message_of_a_closed_account(
    house: House,
) -> None:
    """Its process read that the account was active, and the account was closed before the process
    got the wallet.
    """
    with house.db.write() as tx:
        pay_out.pay_out(tx, accounts.by_id(tx, house.amina_id), "x")
    add_contacts(house.db, house.amina_id, phones(3), sandbox=True)
    campaign = write_down(house.db, house.amina_id, sandbox=True, sender="SANDBOX")
    await asyncio.to_thread(closed_now, house.db, house.amina_id)
    chunker = Chunker(house.cache, house.queue)
    await house.cache.refresh()
    wanted = ChunkRequest(campaign.group_id, campaign.id, house.amina_id, True, "SANDBOX", 3_600)
    with house.queue.give_ranks() as ranks:
        async with house.db.hot() as tx:
            chunk = await chunker.store(
                tx, ranks, wanted, [ChunkRecipient(233201234567, "GH", "hello", "GSM-7", 1)]
            )
    assert (chunk.messages, chunk.stopped) == (0, "account_suspended")
    assert house.count(queue) == 0


@pytest.mark.parametrize("addition", ["customer", "key", "campaign"])
def test_what_is_being_added_while_the_account_is_closed_is_refused(
    postgresql_house: House, addition: str
) -> None:
    db, amina_id = postgresql_house.db, postgresql_house.amina_id
    with db.write() as tx:
        pay_out.pay_out(tx, accounts.by_id(tx, amina_id), "x")
    campaign = write_down(db, amina_id)
    add: dict[str, Callable[[Connection], object]] = {
        "customer": lambda tx: connect.provision(
            tx, amina_id, BILAL._replace(external_ref=None), sandbox=True, now_ms=clock.now_ms()
        ),
        "key": lambda tx: keys.issue(
            tx,
            amina_id,
            name="x",
            sandbox=True,
            tier="free",
            permissions=["all"],
            now_ms=clock.now_ms(),
        ),
        "campaign": lambda tx: campaigns.schedule(tx, campaign.id, clock.now_ms() + clock.DAY_MS),
    }

    def added() -> None:
        with db.write() as tx:
            add[addition](tx)

    with ThreadPoolExecutor(1) as thread:
        with db.write() as tx:
            close_account.close(tx, amina_id, None, "kofi", now_ms=clock.now_ms())
            adding = thread.submit(added)
            wait_for_a_waiter(db, adding)
        with pytest.raises(accounts.AccountClosed if addition != "campaign" else AccountSuspended):
            adding.result()
    db.close()


def wait_for_a_waiter(db: Database, work: "Future[Any]") -> None:
    """Waits until the work waits for a lock. PostgreSQL shows a transaction the same activity again
    and again.
    """
    waiting = """
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND wait_event_type = 'Lock'"""
    is_there = False
    while not is_there:
        assert not work.done(), work.result()
        with db.read() as tx:
            is_there = tx.execute(sa.text(waiting)).scalar_one() > 0
