"""Statements and figures by day are of one moment, whatever is committed while they are made."""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Event, Thread
from typing import Final

import sqlalchemy as sa

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.clock import HOUR_MS, rfc3339
from heliograph.database.database import Database
from heliograph.jobs.ledger_hours import add_up_hour
from heliograph.users import OperatorRole
from heliograph.wallet import files, ledger
from heliograph.wallet.files import lines_of_statement
from heliograph.wallet.ledger_hours import summed_days
from heliograph.wallet.tables import ledger_hours
from tests.support.capability.commands import runner
from tests.support.console.operators import sign_in_operator
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor

TIMES: Final = 40
TURN_S: Final = 0.003
FAR_INTO_AN_HOUR_MS: Final = 40 * 60_000  # the hour before is settled


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Does this again and again, in another thread, until the block ends. Between two times others
    get a turn: SQLite does not queue those who want to write.
    """
    ended, begun = Event(), Event()

    def go_on() -> None:
        while not ended.wait(TURN_S):
            act()
            begun.set()

    thread = Thread(target=go_on)
    thread.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        ended.set()
        thread.join(30)


def earn(db: Database, account_id: str) -> None:
    with db.write() as tx:
        ledger.grant(tx, account_id, 10, "gift", now_ms=clock.now_ms())
        ledger.topup(tx, account_id, "1.25", "paid", now_ms=clock.now_ms())


def adds_up(statement: str) -> bool:
    """Returns whether the lines of a statement's file make its last figure of its first."""
    rows = list(csv.DictReader(StringIO(statement)))
    return all(
        sum(round(float(row[figure]) * 100) for row in rows[:-1])
        == round(float(rows[-1][figure]) * 100)
        for figure in ("credits", "amount")
    )


def test_a_statement_adds_up_while_entries_are_committed(
    db: Database, visitor: Visitor, tmp_path: Path
) -> None:
    account_id, month = open_account(db, "amina"), rfc3339(clock.now_ms())[:7]
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    path = visitor.get("/console/money?account=amina").headers["location"]
    run = runner(db.url, tmp_path)
    with meanwhile(lambda: earn(db, account_id)):
        for _ in range(TIMES):
            assert adds_up(visitor.get(f"{path}/statement?month={month}").text)
            said = run("wallet", "statement", "amina", "--month", month)
            assert said.status == 0, said.err
            assert adds_up(said.out)
            with db.snapshot() as tx:
                told = files.statement(tx, account_id, month)
                listed = lines_of_statement(tx, account_id, told).lines
            assert sum(line.credits for line in listed) == told.closing.sms_credits


def test_figures_by_day_are_the_wallets_whichever_hours_are_added_up_meanwhile(
    db: Database,
) -> None:
    account_id = open_account(db, sender=None)
    earn(db, account_id)
    clock.move(HOUR_MS - clock.now_ms() % HOUR_MS + FAR_INTO_AN_HOUR_MS)

    def add_up_anew() -> None:
        earn(db, account_id)
        assert add_up_hour(db)
        with db.write() as tx:
            tx.execute(sa.delete(ledger_hours))

    with meanwhile(add_up_anew):
        for _ in range(TIMES * 5):
            with db.snapshot() as tx:
                summed = summed_days(tx, account_id, clock.now_ms())
                has = wallet.wallet_of(tx, account_id).sms_credits
            assert summed.missing_from_ms is None
            assert sum(each.credits for each in summed.days) == has
