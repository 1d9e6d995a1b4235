"""A site is linked to an account, and found again, here."""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.database.reads import records_of
from heliograph.plugin.tables import sites
from heliograph.plugin.url import sites_meant

ID_PREFIX: Final = "site"
SITES_PER_ACCOUNT_MAX: Final = 1_000  # of each mode
# Newest sites of all accounts that a search by an address looks at, because no index leads to it.


class SiteNotConnected(NotFound):
    """This site is not linked to the account: POST /sitebuilder/connect links it."""

    reason = "site_not_connected"


class SiteDetails(NamedTuple):
    """Holds what a plugin says about the site that it runs on."""

    site_name: str | None
    platform: str | None
    wp_version: str | None
    plugin_version: str | None
    php_version: str | None


class Site(NamedTuple):
    """Holds a site of one account and mode. `id` and `account_id` are raw."""

    id: str
    account_id: str
    sandbox: bool
    site_url: str
    site_name: str | None
    platform: str | None
    wp_version: str | None
    plugin_version: str | None
    php_version: str | None
    connected_at_ms: int
    updated_at_ms: int


def connect(
    tx: Connection,
    account_id: str,
    site_url: str,
    about: SiteDetails,
    *,
    sandbox: bool,
    now_ms: int,
) -> Site:
    """Links a site, or brings what is known of it up to date: what is not said is kept. Raises
    InvalidRequest for one site too many.
    """
    accounts.lock(tx, account_id)  # first: two plugins that save a key at once link one site once
    values = {name: value for name, value in about._asdict().items() if value is not None}
    here = _at(account_id, site_url, sandbox)
    known = tx.execute(
        sites.update().where(here).values(**values, updated_at_ms=now_ms).returning(*sites.c)
    ).one_or_none()
    if known is not None:
        return Site(**known._asdict())
    count = tx.execute(
        sa.select(sa.func.count()).where(
            sites.c.account_id == account_id, sites.c.sandbox.is_(sandbox)
        )
    ).scalar_one()
    if count >= SITES_PER_ACCOUNT_MAX:
        raise invalid_field(
            "site_url",
            f"cannot be linked: an account has at most {SITES_PER_ACCOUNT_MAX} sites",
        )
    site = Site(
        ids.raw_of_number(ids.new_number(now_ms)),
        account_id,
        sandbox,
        site_url,
        **about._asdict(),
        connected_at_ms=now_ms,
        updated_at_ms=now_ms,
    )
    tx.execute(sites.insert().values(site._asdict()))
    return site


def locked_sites(
    tx: Connection, account_id: str, site_urls: set[str], *, sandbox: bool
) -> dict[str, Site]:
    """Returns the sites by URL, each kept from other changes until the transaction ends. Raises
    SiteNotConnected for the first that is not linked.
    """
    rows = tx.execute(
        sa.select(sites)
        .where(_sites_of(account_id, sandbox), sites.c.site_url.in_(site_urls))
        .order_by(sites.c.id)
        .with_for_update()
    )
    found = {site.site_url: site for site in (Site(**row._asdict()) for row in rows)}
    if missing := sorted(site_urls - found.keys()):
        raise SiteNotConnected(
            f"The site {quote_value(missing[0])} is not linked to this account:"
            " POST /sitebuilder/connect"
            " links it."
        )
    return found


def only_site(tx: Connection, account_id: str, *, sandbox: bool) -> str:
    """Returns the URL of the account's only site in this mode, for a request that names none.
    Raises SiteNotConnected without one, InvalidRequest with several.
    """
    urls = (
        tx.execute(sa.select(sites.c.site_url).where(_sites_of(account_id, sandbox)).limit(2))
        .scalars()
        .all()
    )
    if not urls:
        raise SiteNotConnected(
            "No site is linked to this account: POST /sitebuilder/connect links one."
        )
    if len(urls) > 1:
        raise invalid_field("site_url", "is required, because the account has several sites")
    return str(urls[0])


def by_id(tx: Connection, site_id: str) -> Site:
    """Returns the site with this id (raw). Raises NotFound."""
    row = tx.execute(sa.select(sites).where(sites.c.id == site_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such site.")
    return Site(**row._asdict())


def find(tx: Connection, site_text_id: str) -> Site:
    """Returns the site with this id in text form (`site_…`), of whatever account: this is for
    the operator. Raises NotFound.
    """
    raw = ids.raw_of_text(ID_PREFIX, site_text_id)
    if raw is None:
        raise NotFound(f"There is no site with the id {quote_value(site_text_id)}.")
    return by_id(tx, raw)


def sites_page(
    tx: Connection, *, limit: int, account_id: str | None = None, before_id: str | None = None
) -> list[Site]:
    """Returns at most `limit` sites, newest first: those linked before the one with the raw id
    `before_id`. Without `account_id`, it returns everybody's.
    """
    query = sa.select(sites).order_by(sites.c.id.desc()).limit(limit)
    if account_id is not None:
        query = query.where(sites.c.account_id == account_id)
    if before_id is not None:
        query = query.where(sites.c.id < before_id)
    return records_of(Site, tx.execute(query))


def owners_of(
    tx: Connection, url_or_host: str, *, limit: int, before_id: str | None = None
) -> list[str]:
    """Returns the newest accounts (raw ids) that have linked a site with this URL or host, or one
    below it, or, by a word without a dot, one whose host begins with it: accounts made before the
    one with the raw id `before_id`.
    """
    urls = sites_meant(url_or_host)
    if not urls:
        return []
    marks = "/:" if "." in url_or_host else "/:."
    below = [_begins_with(tx, url + mark) for url in urls for mark in marks]
    query = sa.select(sites.c.account_id).where(sa.or_(sites.c.site_url.in_(urls), *below))
    if before_id is not None:
        query = query.where(sites.c.account_id < before_id)
    query = query.distinct().order_by(sites.c.account_id.desc()).limit(limit)
    return list(tx.execute(query).scalars())


def _begins_with(tx: Connection, beginning: str) -> sa.ColumnElement[bool]:
    """Returns that a site's address begins so, as a span of `sites_by_url`. On PostgreSQL that
    compares by characters with operators of its own (its manual, 11.10).
    """
    behind = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    is_postgresql = tx.dialect.name == "postgresql"
    least, below = ("~>=~", "~<~") if is_postgresql else (">=", "<")
    url = sites.c.site_url
    return sa.and_(url.bool_op(least)(beginning), url.bool_op(below)(behind))


def text_id(site: Site) -> str:
    """Returns the site's id in text form, `site_…`."""
    return ids.text_of_raw(ID_PREFIX, site.id)


def as_record(site: Site) -> dict[str, Any]:
    """Returns the fields of `site` in POST /sitebuilder/connect (docs/api.md, "Site plugin")."""
    return {
        "id": text_id(site),
        "site_url": site.site_url,
        "site_name": site.site_name,
        "status": "connected",
        "connected_at": rfc3339(site.connected_at_ms),
    }


def as_operators_record(site: Site) -> dict[str, Any]:
    """Returns the fields of `as_record`, and what the site's plugin said of itself."""
    return as_record(site) | {
        "platform": site.platform,
        "wp_version": site.wp_version,
        "plugin_version": site.plugin_version,
        "php_version": site.php_version,
        "sandbox": site.sandbox,
        "updated_at": rfc3339(site.updated_at_ms),
    }


def _sites_of(account_id: str, sandbox: bool) -> sa.ColumnElement[bool]:
    return sa.and_(sites.c.account_id == account_id, sites.c.sandbox.is_(sandbox))


def _at(account_id: str, site_url: str, sandbox: bool) -> sa.ColumnElement[bool]:
    return sa.and_(_sites_of(account_id, sandbox), sites.c.site_url == site_url)
