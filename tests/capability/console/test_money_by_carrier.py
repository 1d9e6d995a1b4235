"""What carriers took by day is shown in the console, saved as a file, and listed by a command."""

import csv
from pathlib import Path

import sqlalchemy as sa

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, date_in_utc
from heliograph.database.database import Database
from heliograph.messages.tables import QUARTER_MS
from heliograph.monitoring.tables import carrier_money
from heliograph.users import OperatorRole
from tests.support.capability.commands import runner, typed
from tests.support.console.operators import come_in
from tests.support.factories import open_carrier
from tests.support.portal.visitor import Visitor

PATH = "/console/money/carriers"


def took(db: Database, carrier_id: int, days_ago: int, currency: str, *figures: int) -> None:
    at_ms = clock.now_ms() - days_ago * DAY_MS
    row = dict(zip(("segments", "credits", "cost_micro"), figures, strict=True))
    key = {"carrier_id": carrier_id, "quarter_ms": at_ms - at_ms % QUARTER_MS}
    with db.write() as tx:
        tx.execute(carrier_money.insert().values(**key, currency=currency, **row))


def cells(*shown: str) -> str:
    return "".join(f'<td class="number">{each}</td>' for each in shown)


def test_what_carriers_took_is_shown_with_its_cost_and_what_that_leaves(
    visitor: Visitor, db: Database, tmp_path: Path
) -> None:
    come_in(visitor, db, OperatorRole.AUDITOR)
    assert "No carrier has taken a live segment" in visitor.get(PATH).text
    main = open_carrier(db, "gh-main")
    gone = open_carrier(db, "gone", prefix=None) + 50  # its id is no carrier's
    took(db, main, 0, "GHS", 100, 300, 2_000_005)
    took(db, main, 3, "GHS", 10, 30, 500_000)
    took(db, main, 3, "", 7, 7, 0)
    took(db, gone, 3, "EUR", 1, 1, 12_500)
    took(db, main, 30, "GHS", 1, 1, 1)  # too long ago
    with db.write() as tx:
        wallet.set_price(tx, "GHS", "35", 1_000)
    assert f'href="{PATH}"' in visitor.get("/console/money").text
    shown = visitor.get(PATH).text
    today, before = (date_in_utc(clock.now_ms() - ago * DAY_MS) for ago in (0, 3))
    main_sums = cells("110", "330", "2.50 GHS", "11.55 GHS", "9.05 GHS")
    assert f"<tr><td>gh-main</td>{main_sums}</tr>" in shown
    assert f"<td>gh-main</td>{cells('7', '7', '–', '–', '–')}" in shown
    assert f"<td>(removed)</td>{cells('1', '1', '0.01 EUR', '–', '–')}" in shown
    of_today = cells("100", "300", "2.00 GHS", "10.50 GHS", "8.50 GHS")
    assert f"<td>{today}</td><td>gh-main</td>{of_today}" in shown
    assert "Refunds have no carrier" in shown
    rows = list(csv.DictReader(visitor.get(f"{PATH}/export").text.splitlines()))
    run = runner(db.url, tmp_path)
    listed = run(*typed("cost days --json")).json
    assert [
        {name: str("" if cell is None else cell) for name, cell in each.items()} for each in listed
    ] == rows
    assert rows[-1] == {
        "day": today,
        "carrier": "gh-main",
        "segments": "100",
        "credits": "300",
        "currency": "GHS",
        "cost": "2.000005",
        "sold_for_now": "10.5",
        "margin_now": "8.5",
    }
    assert [(row["day"], row["carrier"]) for row in rows[:3]] == [
        (before, "(removed)"),
        (before, "gh-main"),
        (before, "gh-main"),
    ]
    assert len(run(*typed("cost days --carrier gh-main --json")).json) == 3
    assert "2.000005" in run(*typed("cost days")).out
    assert run(*typed("cost days --carrier none")).status != 0
    with db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(carrier_money)).scalar() == 5
