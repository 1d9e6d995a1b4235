"""A carrier dies, another takes over its texts, and it returns, in a real browser."""

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

import sqlalchemy as sa
from playwright.sync_api import Browser, Page, expect
from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.carriers import routing
from heliograph.carriers.manage import DOWN_MS
from heliograph.carriers.tables import carriers, routes
from heliograph.database import config
from heliograph.database.database import Database
from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.console.entering import CONNECTS_WITHIN_MS, TOLD_WITHIN_MS, sign_in_operator
from tests.support.factories import open_carrier
from tests.support.portal.browsing import at_both_widths, opened, picture
from tests.support.services import free_port
from tests.support.wire.smsc_peer import STANDARD_RECEIPT, Smsc, running_smsc

T = TypeVar("T")
PREFIX = "23320"
STAYS_S = 2
COUNTED_WITHIN_S = 60


def send(server: Server, count: int) -> None:
    amina = server.cast.amina
    plain_http.post(
        f"{server.url}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {amina.key()}"},
        json={
            "sender": "AMINA",
            "message": "Your order is on its way.",
            "to": [f"{PREFIX}1234{number:03}" for number in range(count)],
        },
    ).raise_for_status()


def a_minute_passes(db: Database, carrier_id: int) -> None:
    """Lets a carrier have been down for a minute longer. The server stores its state at each try to
    bind, at least once a second. It may just have read since when the carrier is down, and store
    that again. So this is stored until it stays.
    """
    row, stored = carriers.c.id == carrier_id, clock.now_ms() - DOWN_MS
    stays_until_s = time.monotonic() + STAYS_S
    while time.monotonic() < stays_until_s:
        with db.write() as tx:
            if tx.execute(sa.select(carriers.c.down_since_ms).where(row)).scalar_one() != stored:
                tx.execute(sa.update(carriers).where(row).values(down_since_ms=stored))
                stays_until_s = time.monotonic() + STAYS_S
        time.sleep(0.05)


def told(asked: Coroutine[Any, Any, T]) -> T:
    """Asks an SMSC something, in a thread that the browser's loop is not in."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked).result()


def took(smsc: Smsc, count: int) -> None:
    told(smsc.until("submits", count))


def bound(page: Page, name: str) -> None:
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
    expect(row.get_by_text("bound", exact=True)).to_be_visible(timeout=CONNECTS_WITHIN_MS)


def look_at_figures(page: Page, server: Server, name: str) -> None:
    page.goto(f"{server.url}/console/carriers/{name}")
    page.get_by_role("link", name="Throughput, delivery rate").click()
    until_s = time.monotonic() + COUNTED_WITHIN_S
    while not page.get_by_role("cell", name="100.0 %").count():
        assert time.monotonic() < until_s, "the figures of the carrier are not there"
        page.wait_for_timeout(1_000)
        page.reload()
    expect(page.get_by_role("cell", name="GH", exact=True).first).to_be_visible()
    picture(page, "console-carrier-figures")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as CSV").click()
    assert saved.value.suggested_filename == f"{name}-day.csv"


@at_both_widths
def test_a_carrier_dies_another_one_takes_its_texts_over_and_it_returns(
    browser: Browser, server: Server, width: int
) -> None:
    db, port = server.cast.amina.db, free_port()
    main, spare = f"main-{width}", f"spare-{width}"
    page = opened(browser, width)
    quick = {"system_id": "amina", "backoff_min_s": 0.1, "backoff_max_s": 1.0}
    with running_smsc() as taking_over, ExitStack() as dying:
        smsc = dying.enter_context(running_smsc(f"--port={port}"))
        for each in (smsc, taking_over):
            told(each.behave(receipts=[STANDARD_RECEIPT]))
        carrier_id = open_carrier(db, main, port=port, prefix=None, **quick)
        open_carrier(db, spare, port=taking_over.port, prefix=None, **quick)
        with db.write() as tx:
            routing.set_route(tx, PREFIX, [main, spare])
        sign_in_operator(page, server, db)
        bound(page, main)
        bound(page, spare)
        send(server, 2)
        took(smsc, 2)
        dying.close()
        said = page.get_by_text(f"Carrier {main} has had no bound session")
        expect(said).to_be_visible(timeout=TOLD_WITHIN_MS)
        send(server, 5)  # they wait, for it may be back in a moment
        a_minute_passes(db, carrier_id)
        took(taking_over, 5)
        send(server, 3)
        took(taking_over, 8)
        with running_smsc(f"--port={port}") as returned:
            expect(said).to_have_count(0, timeout=CONNECTS_WITHIN_MS)
            send(server, 4)
            took(returned, 4)
            assert len(told(taking_over.log())["submits"]) == 8
        look_at_figures(page, server, spare)

    def forget(tx: Connection) -> None:
        tx.execute(sa.delete(routes).where(routes.c.prefix == PREFIX))
        tx.execute(sa.delete(carriers).where(carriers.c.name.in_((main, spare))))
        config.bump(tx)

    db.transact(forget)  # again, if the server just stores how they are
    page.context.close()
