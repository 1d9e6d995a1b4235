"""The money that carriers took by day is shown in the console, saved as a file, and listed by a
command.
"""

import csv
from pathlib import Path

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.clock import DAY_MS, date_in_utc, rfc3339
from heliograph.carriers import SIMULATOR_ID
from heliograph.database.database import Database
from heliograph.messages.tables import DELIVERY_STEPS, QUARTER_MS
from heliograph.monitoring.tables import SEGMENT_COUNTS, carrier_money, carrier_rollups
from heliograph.users import OperatorRole
from heliograph.wallet import prices
from tests.support.capability.commands import runner, typed
from tests.support.console.operators import sign_in_operator
from tests.support.factories import open_carrier
from tests.support.portal.visitor import Visitor

PATH = "/console/money/carriers"


def quarter_of(days_ago: int) -> int:
    at_ms = clock.now_ms() - days_ago * DAY_MS
    return at_ms - at_ms % QUARTER_MS


def counted(db: Database, carrier_id: int, days_ago: int) -> None:
    """Counts a segment, as the version did that counted no money."""
    row = dict.fromkeys((*SEGMENT_COUNTS, *DELIVERY_STEPS), 0) | {"handed_over": 1}
    key = {"carrier_id": carrier_id, "country_code": "GH", "quarter_ms": quarter_of(days_ago)}
    with db.write() as tx:
        tx.execute(carrier_rollups.insert().values(**key, **row))


def took(db: Database, carrier_id: int, days_ago: int, currency: str, *figures: int) -> None:
    row = dict(zip(("segments", "credits", "cost_micro"), figures, strict=True))
    key = {"carrier_id": carrier_id, "quarter_ms": quarter_of(days_ago)}
    with db.write() as tx:
        tx.execute(carrier_money.insert().values(**key, currency=currency, **row))


CELLS = ("Segments", "Credits", "Cost", "Sold for now", "Margin now")


def cells(*shown: str) -> str:
    return "".join(
        f'<td class="number" data-name="{name}">{each}</td>'
        for name, each in zip(CELLS, shown, strict=False)
    )


def test_what_carriers_took_is_shown_with_its_cost_and_what_that_leaves(
    visitor: Visitor, db: Database, tmp_path: Path
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    assert "No carrier has taken a live segment" in visitor.get(PATH).text
    main = open_carrier(db, "gh-main")
    gone = open_carrier(db, "gone", prefix=None) + 50  # its id is no carrier's
    took(db, main, 0, "GHS", 100, 300, 2_000_005)
    took(db, main, 3, "GHS", 10, 30, 500_000)
    took(db, main, 3, "", 7, 7, 0)
    took(db, gone, 3, "EUR", 1, 1, 12_500)
    took(db, main, 30, "GHS", 1, 1, 1)  # too long ago
    with db.write() as tx:
        prices.set_price(tx, "GHS", "35", 1_000)
    assert f'href="{PATH}"' in visitor.get("/console/money").text
    shown = visitor.get(PATH).text
    today, before = (date_in_utc(clock.now_ms() - ago * DAY_MS) for ago in (0, 3))
    main_sums = cells("110", "330", "2.50 GHS", "11.55 GHS", "9.05 GHS")
    assert f"<tr><td>gh-main</td>{main_sums}</tr>" in shown
    assert f"<td>gh-main</td>{cells('7', '7', '–', '–', '–')}" in shown
    assert f"<td>carrier {gone} (removed)</td>{cells('1', '1', '0.01 EUR', '–', '–')}" in shown
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
        (before, f"carrier {gone} (removed)"),
        (before, "gh-main"),
        (before, "gh-main"),
    ]
    assert len(run(*typed("cost days --carrier gh-main --json")).json) == 3
    assert "2.000005" in run(*typed("cost days")).out
    assert run(*typed("cost days --carrier none")).status != 0
    with db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(carrier_money)).scalar() == 5


def test_removed_carriers_are_kept_apart(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    for gone in (51, 52):
        took(db, gone, 3, "EUR", gone, 1, 12_500)
    shown = visitor.get(PATH).text
    for gone in (51, 52):
        assert f"<td>carrier {gone} (removed)</td>{cells(str(gone), '1')}" in shown


def test_the_page_says_since_when_money_is_counted_where_segments_are_older(
    visitor: Visitor, db: Database, tmp_path: Path
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    main = open_carrier(db, "gh-main")
    took(db, main, 2, "GHS", 100, 300, 2_000_005)
    counted(db, SIMULATOR_ID, 9)  # may be of the sandbox, which has no money
    counted(db, main, 40)  # not shown
    counted(db, main, 2)
    run = runner(db.url, tmp_path)
    assert "The last 30 days" in visitor.get(PATH).text
    assert run(*typed("cost days")).err == ""
    counted(db, main, 5)
    shown = visitor.get(PATH).text
    began = rfc3339(quarter_of(2))
    assert "did not count it" in shown
    assert f'<h2>Since <time datetime="{began}"' in shown
    assert f"What carriers took before {began} is missing" in run(*typed("cost days")).err
