"""A site belongs to one account and mode, and what its plugin tells again is stored once."""

import pytest

from heliograph import plugin
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from heliograph.plugin import Site, SiteDetails
from heliograph.plugin.logs import ReportedEntry, store_logs
from heliograph.plugin.site import SiteNotConnected, locked_sites, only_site
from tests.support.factories import open_account

URL = "https://shop.example"
NOTHING_SAID = SiteDetails(None, None, None, None, None)


def link(
    db: Database,
    account_id: str,
    url: str = URL,
    about: SiteDetails = NOTHING_SAID,
    *,
    sandbox: bool = False,
) -> Site:
    with db.write() as tx:
        return plugin.connect(tx, account_id, url, about, sandbox=sandbox, now_ms=clock.now_ms())


def store(db: Database, site: Site, *entries: ReportedEntry) -> list[str]:
    with db.write() as tx:
        return store_logs(tx, {site.site_url: site}, entries, now_ms=clock.now_ms())


def test_a_site_that_is_linked_again_keeps_what_is_not_said_again(
    db: Database, amina_id: str
) -> None:
    first = link(db, amina_id, about=NOTHING_SAID._replace(site_name="Shop", wp_version="6.4"))
    again = link(db, amina_id, about=NOTHING_SAID._replace(wp_version="6.5"))
    assert (again.id, again.site_name, again.wp_version) == (first.id, "Shop", "6.5")
    with db.read() as tx:
        assert plugin.sites_page(tx, limit=2, account_id=amina_id) == [again]


def test_an_account_sees_neither_a_strangers_site_nor_that_of_the_other_mode(
    db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi")
    live, tried = link(db, amina_id), link(db, amina_id, sandbox=True)
    assert live.id != tried.id
    with db.write() as tx:
        assert locked_sites(tx, amina_id, {URL}, sandbox=False) == {URL: live}
        assert locked_sites(tx, amina_id, {URL}, sandbox=True) == {URL: tried}
        with pytest.raises(SiteNotConnected):
            locked_sites(tx, chidi, {URL}, sandbox=False)
        with pytest.raises(NotFound):
            plugin.site_of(tx, chidi, plugin.text_id(live))
        assert plugin.site_of(tx, amina_id, plugin.text_id(live)) == live


def test_a_request_that_names_no_site_means_the_only_one(db: Database, amina_id: str) -> None:
    with db.read() as tx, pytest.raises(SiteNotConnected):
        only_site(tx, amina_id, sandbox=False)
    link(db, amina_id)
    with db.read() as tx:
        assert only_site(tx, amina_id, sandbox=False) == URL
    link(db, amina_id, "https://second.example")
    with db.read() as tx, pytest.raises(InvalidRequest):
        only_site(tx, amina_id, sandbox=False)


def test_an_entry_that_is_told_again_is_stored_once_for_each_site(
    db: Database, amina_id: str
) -> None:
    shop, second = link(db, amina_id), link(db, amina_id, "https://second.example")
    entry = ReportedEntry(URL, "order_completed", external_ref="1")
    [told] = store(db, shop, entry)
    assert store(db, shop, entry, entry._replace(external_ref="2"))[0] == told
    [elsewhere] = store(db, second, entry._replace(site_url=second.site_url))
    assert elsewhere != told
    with db.read() as tx:
        assert len(plugin.logs_page(tx, limit=9, site_id=shop.id)) == 2
        assert len(plugin.logs_page(tx, limit=9, site_id=second.id)) == 1


def test_the_text_of_a_one_time_password_is_not_stored(db: Database, amina_id: str) -> None:
    site = link(db, amina_id)
    entry = ReportedEntry(URL, "sent", message_type="order", body="Thank you", meta="{}")
    store(db, site, entry, entry._replace(message_type="login_Otp", body="Your code is 424242"))
    with db.read() as tx:
        found = plugin.logs_page(tx, limit=9, site_id=site.id)
    assert {(each.message_type, each.body, each.meta) for each in found} == {
        ("order", "Thank you", "{}"),
        ("login_Otp", None, None),
    }
