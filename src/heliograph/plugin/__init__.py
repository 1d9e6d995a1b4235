"""Serves the site plugin: shops that are linked to an account, their logs and events, and the
account's status as they show it.
"""

from heliograph.plugin.logs import as_log_record, logs_page
from heliograph.plugin.site import Site, SiteDetails, by_id, connect, find, sites_page
from heliograph.plugin.site import as_operators_record as as_site_record
from heliograph.plugin.tables import KEPT
from heliograph.plugin.url import URL_MAX

__all__ = [
    "KEPT",
    "URL_MAX",
    "Site",
    "SiteDetails",
    "api",
    "as_log_record",
    "as_site_record",
    "by_id",
    "connect",
    "find",
    "logs_page",
    "request",
    "sites_page",
]
