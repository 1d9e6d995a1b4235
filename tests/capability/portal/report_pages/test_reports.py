"""The overview and reports have figures: the tests ask what they add up, where days begin, and what
a query may ask.
"""

import csv
import html
import io
import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from heliograph import accounts, wallet
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.messages.reports.rollup_reports import midnight_ms, spans_of_days, within_s
from heliograph.messages.tables import DELIVERY_STEPS, QUARTER_MS
from tests.support.factories import open_account
from tests.support.portal.rolled_up import rolled_up
from tests.support.portal.visitor import Visitor, home_of

KATHMANDU = ZoneInfo("Asia/Kathmandu")  # its days begin at :15 of UTC


def table(visitor: Visitor, home: str, name: str, query: str = "") -> list[dict[str, str]]:
    """Returns the lines of a file."""
    answer = visitor.get(f"{home}/reports/file?table={name}{query}")
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


def figures(page: str) -> dict[str, str]:
    """Returns the large figures of a page, by their names."""
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))


def test_a_report_adds_up_the_account_and_the_mode_alone_beside_the_days_before(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    now_ms, day_ms = clock.now_ms(), 86_400_000
    chidi = open_account(db, "chidi")
    delivered = {"delivered": 3, "within_5_s": 3, "segments": 6, "credits": 6}
    rolled_up(db, amina_id, now_ms, **delivered)
    rolled_up(db, amina_id, now_ms, type="otp", failed=1, expired=1, segments=1)
    rolled_up(db, amina_id, now_ms - day_ms, country_code="NG", sender="MANGO", sent=4, segments=4)
    rolled_up(db, amina_id, now_ms - 8 * day_ms, delivered=4, within_10_s=4, credits=5)
    rolled_up(db, amina_id, now_ms, sandbox=True, delivered=50)
    rolled_up(db, chidi, now_ms, delivered=70)
    shown = figures(visitor.get(f"{home}/reports?days=7").text)
    assert shown["Messages"] == "8"
    assert shown["Delivered"] == "37.5 %"
    assert shown["Half of it arrived"] == "within 5 s"
    assert shown["Credits"] == "6"
    page = visitor.get(f"{home}/reports?days=7").text
    assert "+100\u00a0%, before: 4" in page
    assert "before: within 10 s" in page
    assert "95 %: within 5 s, before: within 10 s" in page
    assert ", before: 5</dd>" in page
    countries = table(visitor, home, "countries", "&days=7")
    assert [(line["country"], line["messages"], line["messages_before"]) for line in countries] == [
        ("GH", "4", "4"),
        ("NG", "4", "0"),
    ]
    assert {line["sender"]: line["on_its_way"] for line in table(visitor, home, "senders")} == {
        "AMINA": "0",
        "MANGO": "4",
    }
    outcomes = table(visitor, home, "outcomes", "&days=7")
    assert [tuple(line.values()) for line in outcomes] == [
        ("delivered", "3", "4"),
        ("on its way", "4", "0"),
        ("expired", "1", "0"),
    ]
    days = table(visitor, home, "days", "&days=7")
    assert [line["messages"] for line in days] == ["0", "0", "0", "0", "0", "4", "4"]


def test_days_begin_when_the_clocks_of_the_account_say_so(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        accounts.change(tx, amina_id, time_zone="Asia/Kathmandu")
    today = datetime.now(KATHMANDU).date()
    midnight = midnight_ms(today, KATHMANDU)
    assert midnight % 3_600_000 == QUARTER_MS
    rolled_up(db, amina_id, midnight, delivered=5)
    rolled_up(db, amina_id, midnight - 1, delivered=2)
    days = table(visitor, home, "days")
    assert [line["messages"] for line in days[-2:]] == ["2", "5"]
    assert days[-1]["day"] == str(today)
    assert figures(visitor.get(home).text)["Sent today"] == "5"


def test_days_on_which_clocks_are_changed_have_23_or_25_hours() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    spans = spans_of_days(date(2026, 3, 27), date(2026, 10, 26), berlin)
    assert [(span.parts, span.part_ms // 3_600_000) for span in spans] == [
        (2, 24),
        (1, 23),
        (209, 24),
        (1, 25),
        (1, 24),
    ]
    assert spans[0].start_ms == datetime(2026, 3, 26, 23, tzinfo=UTC).timestamp() * 1_000


def test_a_share_is_reached_at_the_end_of_its_step_or_not_at_all() -> None:
    delays = [0] * len(DELIVERY_STEPS)
    assert within_s(delays, 0.5) is None
    delays[0], delays[2], delays[-1] = 5, 4, 1
    assert [within_s(delays, share) for share in (0.5, 0.51, 0.9, 0.95)] == [1, 5, 5, None]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("from=2026-02-30", "from must be a day"),
        ("from={before_92_days}&to={today}", "must be at most 92 days, not 93 days"),
        ("from={today}&to={yesterday}", "must not be before"),
        ("to={tomorrow}", "must be from 2020-01-01 to"),
        ("days=31", "days must be one of 7, 30, 90, not"),
        ("country=GH", "country is not a query parameter here"),
    ],
)
def test_a_query_that_asks_for_no_report_is_refused_at_its_field(
    visitor: Visitor, home: str, query: str, says: str
) -> None:
    today = datetime.now(UTC).date()
    query = query.format(
        today=today,
        yesterday=today - timedelta(days=1),
        tomorrow=today + timedelta(days=1),
        before_92_days=today - timedelta(days=92),
    )
    page = visitor.get(f"{home}/reports?{query}")
    assert page.status_code == 400
    assert says.removeprefix("from ") in page.text
    assert visitor.get(f"{home}/reports/file?{query}").status_code == 400


def test_an_account_that_sent_nothing_sees_what_to_do_and_no_plots(
    visitor: Visitor, home: str
) -> None:
    assert "<svg" not in visitor.get(home).text
    page = visitor.get(f"{home}/reports").text
    assert "<svg" not in page
    assert "No live message was sent in these days" in page


def test_each_plot_of_the_overview_is_there_as_a_file(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    rolled_up(db, amina_id, clock.now_ms(), failed=3, expired=2, blocked=1)
    rolled_up(db, amina_id, clock.now_ms() - 8 * QUARTER_MS, delivered=4)
    page = html.unescape(visitor.get(home).text)
    hours, days = re.findall(r'href="([^"]+)">Save as CSV<', page)
    lines = list(csv.DictReader(io.StringIO(visitor.get(hours).text)))
    assert [(line["failed"], line["delivered"]) for line in lines[-3:]] == [
        ("0", "4"),
        ("0", "0"),
        ("3", "0"),
    ]
    assert len(lines) == 24
    shown = re.findall(r"<tr><td>(\d\d:00)</td>", page)
    assert [line["hour"][11:16] for line in reversed(lines)] == shown
    assert len(list(csv.DictReader(io.StringIO(visitor.get(days).text)))) == 30


def test_an_account_in_sandbox_only_sees_what_it_sent_there(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    with db.write() as tx:
        zed = accounts.create(tx, "zed", "GH", sandbox=True, now_ms=clock.now_ms()).id
        wallet.open_wallet(tx, zed, "GHS")
    visitor.sign_in("zed@example.com", zed)
    home = home_of(db, zed)
    rolled_up(db, zed, clock.now_ms(), sandbox=True, delivered=3, failed=1, blocked=1)
    page = html.unescape(visitor.get(home).text)
    assert figures(page) | {"Sent today": "4", "Delivered": "75.0 %"} == figures(page)
    for plot in re.findall(r'href="([^"]+)">Save as CSV<', page):
        last = list(csv.DictReader(io.StringIO(visitor.get(plot).text)))[-1]
        assert (last["delivered"], last["failed"]) == ("3", "1")
    assert f'{home}/messages?mode=sandbox&status=failed"' in page


def test_the_overview_says_why_messages_failed(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    rolled_up(db, amina_id, clock.now_ms(), failed=3, expired=2, blocked=1)
    page = visitor.get(home).text
    assert re.findall(r"<code class=.beside.>(\w+)</code>.*?>(\d+)</td>", page, re.S) == [
        ("expired", "2"),
        ("blocked", "1"),
    ]
    assert figures(page)["Delivered"] == "0.0 %"
