"""A page shows a carrier's figures, and a file has the same."""

import csv
import time

from heliograph.base import clock
from heliograph.base.clock import HOUR_MS
from heliograph.database.database import Database
from heliograph.messages.tables import DELIVERY_STEPS, QUARTER_MS
from heliograph.monitoring.tables import SEGMENT_COUNTS, carrier_rollups
from heliograph.users import OperatorRole
from tests.support.console.operators import sign_in_operator
from tests.support.factories import open_carrier
from tests.support.portal.visitor import Visitor

COUNTRIES = ("GH", "NG", "KE", "TZ", "ZA", "GB", "FR", "DE", "US", "")
MOST_S = 0.25  # on a busy machine; alone it takes a third of it
TRIES = 12


def roll_up(db: Database, carrier_id: int, quarter_ms: int, country: str, **counts: int) -> None:
    row = dict.fromkeys((*SEGMENT_COUNTS, *DELIVERY_STEPS), 0) | counts
    key = {"carrier_id": carrier_id, "quarter_ms": quarter_ms, "country_code": country}
    with db.write() as tx:
        tx.execute(carrier_rollups.insert().values(**key, **row))


def test_a_carriers_figures_are_shown_and_saved_by_hour_and_country(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    carrier_id, hour_ms = open_carrier(db, "gh-main"), clock.now_ms() // HOUR_MS * HOUR_MS
    path = "/console/carriers/gh-main"
    assert "gh-main took nothing in the last day" in visitor.get(f"{path}/figures").text
    counts = {"handed_over": 1_000, "delivered": 900, "undelivered": 50}
    roll_up(db, carrier_id, hour_ms, "GH", **counts, within_5_s=890, within_60_s=10)
    roll_up(db, carrier_id, hour_ms - 30 * HOUR_MS, "NG", handed_over=7)
    assert f'href="{path}/figures"' in visitor.get(path).text
    page = visitor.get(f"{path}/figures").text
    assert "90.0 %" in page
    assert "NG" not in page
    assert "NG" in visitor.get(f"{path}/figures?span=week").text
    rows = list(csv.DictReader(visitor.get(f"{path}/export?span=week").text.splitlines()))
    assert [row["country"] for row in rows] == ["NG", "GH"]
    assert (rows[1]["handed_over"], rows[1]["no_final_receipt"]) == ("1000", "50")
    assert (rows[1]["half_within_s"], rows[1]["p95_within_s"]) == ("5", "5")
    assert (rows[0]["delivery_rate"], rows[1]["delivery_rate"]) == ("", "0.9000")
    assert visitor.get("/console/carriers/none/figures").status_code == 404


def test_a_week_of_ten_countries_is_shown_at_once(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    carrier_id = open_carrier(db, "gh-main")
    now_ms = clock.now_ms() // QUARTER_MS * QUARTER_MS
    nothing = dict.fromkeys((*SEGMENT_COUNTS, *DELIVERY_STEPS), 0)
    rows = [
        nothing
        | {"carrier_id": each, "quarter_ms": at_ms, "country_code": country, "handed_over": 9}
        for each in (carrier_id, 7, 8)
        for at_ms in range(now_ms - 7 * 24 * HOUR_MS, now_ms, QUARTER_MS)
        for country in COUNTRIES
    ]
    with db.write() as tx:
        tx.execute(carrier_rollups.insert(), rows)
    took_s: list[float] = []
    # what is too slow is so each time, and a busy machine only now and then
    while len(took_s) < TRIES and min(took_s, default=MOST_S) >= MOST_S:
        began_s = time.monotonic()
        assert visitor.get("/console/carriers/gh-main/figures?span=week").status_code == 200
        took_s.append(time.monotonic() - began_s)
    assert min(took_s) < MOST_S, took_s
