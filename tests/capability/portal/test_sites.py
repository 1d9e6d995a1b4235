"""The portal shows which shops are linked as sites, and what their plugins have told."""

import html
import re

import pytest
import sqlalchemy as sa

from heliograph import plugin
from heliograph.base import clock
from heliograph.base.paging import PageWanted, Span
from heliograph.database.database import Database
from heliograph.plugin import Site, SiteDetails, activity
from heliograph.plugin.logs import ReportedEntry, store_event, store_logs
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor, home_of

ABOUT = SiteDetails("Amina's shop", "woocommerce", "6.5", "1.2.3", "8.2")
HOUR_MS = 3_600_000


def linked(
    db: Database,
    account_id: str,
    url: str = "https://amina.example",
    *,
    about: SiteDetails = ABOUT,
    sandbox: bool = False,
    age_ms: int = 0,
) -> Site:
    """Links a site so long ago."""
    now_ms = clock.now_ms() - age_ms
    with db.write() as tx:
        return plugin.connect(tx, account_id, url, about, sandbox=sandbox, now_ms=now_ms)


def told(db: Database, site: Site, *entries: ReportedEntry, age_ms: int = 0) -> None:
    with db.write() as tx:
        now_ms = clock.now_ms() - age_ms
        store_logs(tx, {site.site_url: site}, entries, now_ms=now_ms)


def happened(db: Database, site: Site, event: str, payload: str = "{}") -> None:
    with db.write() as tx:
        store_event(tx, site, event, payload, None, now_ms=clock.now_ms())


def words(visitor: Visitor, path: str) -> str:
    page = visitor.get(path)
    assert page.status_code == 200, page.text
    return " ".join(re.sub(r"<[^>]+>", " ", html.unescape(page.text)).split())


def test_without_a_site_the_page_says_how_one_is_linked(visitor: Visitor, home: str) -> None:
    said = words(visitor, f"{home}/sites")
    assert "Install the plugin in the shop" in said
    assert "POST /sitebuilder/connect" in said


def test_sites_are_listed_with_their_versions_and_when_they_were_heard(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    shop = linked(db, amina_id, age_ms=5 * HOUR_MS)
    nameless = SiteDetails(None, None, None, None, None)
    linked(db, amina_id, "https://tried.example", about=nameless, sandbox=True, age_ms=2 * HOUR_MS)
    said = words(visitor, f"{home}/sites")
    assert "https://tried.example 2 h ago – – – – sandbox 2 h ago" in said
    assert "Amina's shop https://amina.example 5 h ago woocommerce 1.2.3 6.5 8.2 live" in said
    told(db, shop, ReportedEntry(shop.site_url, "order.completed"), age_ms=3 * HOUR_MS)
    assert "https://amina.example 3 h ago" in words(visitor, f"{home}/sites")
    pages = list(visitor.pages(f"{home}/sites?limit=1"))
    assert ["tried" in page.text for page in pages] == [True, False]


def test_a_site_shows_what_its_plugin_told_of_texts(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    site = linked(db, amina_id)
    path = f"{home}/sites/{plugin.text_id(site)}"
    assert "told of no text" in words(visitor, path)
    told(
        db,
        site,
        ReportedEntry(site.site_url, "order.completed", "233201234567", status="sent", body="Hi!"),
        ReportedEntry(site.site_url, "otp.sent", message_type="otp", body="918273 is your code"),
        *(ReportedEntry(site.site_url, f"order.{number}") for number in range(12)),
    )
    said = words(visitor, path)
    assert "order.completed 233201234567 sent Hi! – –" in said
    assert "otp.sent – – not shown" in said
    assert "918273" not in visitor.page.text
    assert "order.11" not in words(visitor, f"{path}?status=sent")
    assert "order.completed" in visitor.page.text
    assert "Nothing is like that" in words(visitor, f"{path}?until=2020-01-01T00:00:00Z")
    seen = [
        event
        for page in visitor.pages(f"{path}?limit=5")
        for event in re.findall(r"order\.\w+(?=</td>)", page.text)
    ]
    assert len(seen) == len(set(seen)) == 13


def test_a_site_shows_its_events_however_many_others_there_are(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site, other = linked(db, amina_id), linked(db, amina_id, "https://other.example")
    path = f"{home}/sites/{plugin.text_id(site)}"
    happened(db, site, "plugin.updated", '{"to": "<b>1.2.4</b>"}')
    for number in range(9):
        happened(db, site, f"order.{number}")
        happened(db, other, f"other.{number}")
    monkeypatch.setattr(activity, "EVENTS_LOOKED_AT_MAX", 4)
    pages = list(visitor.pages(f"{path}?show=events&event=plugin.updated"))
    assert ["1.2.4" in page.text for page in pages] == [False, False, True]
    assert "Nothing was found yet." in pages[0].text
    assert "other." not in "".join(page.text for page in pages)
    assert "&lt;b&gt;1.2.4" in pages[2].text
    assert "no event" not in words(visitor, f"{path}?show=events&event=x")
    pages = list(visitor.pages(f"{path}?show=events&limit=3"))
    seen = re.findall(r"order\.\d|plugin\.updated", "".join(page.text for page in pages))
    assert seen == [*(f"order.{number}" for number in range(8, -1, -1)), "plugin.updated"]


@pytest.mark.parametrize("event", [None, "order.1"])
def test_a_page_of_events_is_found_by_an_index_of_its_site(
    db: Database, amina_id: str, event: str | None
) -> None:
    site, other = linked(db, amina_id), linked(db, amina_id, "https://other.example")
    with db.write() as tx:
        for number in range(300):
            whose = site if number % 100 == 0 else other
            store_event(tx, whose, "order.1", "{}", None, now_ms=clock.now_ms())
    since = Span(clock.now_ms() - HOUR_MS, None)
    query = activity.site_event_ids(
        site, PageWanted(9, None), activity.ActivityFilters(event, None, since)
    )
    with db.write() as tx:
        tx.execute(sa.text("ANALYZE"))
    with db.read() as tx:
        if db.postgresql:  # of so small a table, it would rather read all
            tx.execute(sa.text("SET LOCAL enable_seqscan = off"))
        compiled = query.compile(tx, compile_kwargs={"literal_binds": True})
        explain = "EXPLAIN" if db.postgresql else "EXPLAIN QUERY PLAN"
        rows = tx.exec_driver_sql(f"{explain} {compiled}".replace("%", "%%"))
        plan = "\n".join(str(row[-1]) for row in rows)
    assert "site_events_by_site" in plan, plan
    assert "(site_id=? AND id" in plan or "Index Cond: ((site_id" in plan, plan


@pytest.mark.judged_in_python
@pytest.mark.parametrize("query", ["since=today", "show=x", "x=1", "cursor=x", "event=" + "e" * 99])
def test_a_wrong_filter_of_a_site_is_told(
    visitor: Visitor, db: Database, amina_id: str, home: str, query: str
) -> None:
    page = visitor.get(f"{home}/sites/{plugin.text_id(linked(db, amina_id))}?{query}")
    assert page.status_code == 400
    assert 'class="wrong"' in page.text


def test_a_site_of_another_account_is_like_none(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    site = linked(db, chidi, "https://chidi.example")
    for name in (plugin.text_id(site), "site_x", "x"):
        assert visitor.get(f"{home}/sites/{name}").status_code == 404
    assert "chidi" not in visitor.get(f"{home}/sites").text
    assert visitor.get(f"{home_of(db, chidi)}/sites").status_code == 404
