"""Serves the site plugin: shops that are linked to an account, their logs and events, and the
account's status as they show it.
"""

from heliograph.plugin.activity import (
    SiteEvent,
    last_heard,
    read_filters,
    site_events_page,
    site_log,
    site_of,
)
from heliograph.plugin.logs import LogEntry, as_log_record, logs_page
from heliograph.plugin.site import (
    Site,
    SiteDetails,
    by_id,
    connect,
    find,
    owners_of,
    sites_page,
    text_id,
)
from heliograph.plugin.site import as_operators_record as as_site_record
from heliograph.plugin.tables import KEPT
from heliograph.plugin.url import URL_MAX

__all__ = [
    "KEPT",
    "URL_MAX",
    "LogEntry",
    "Site",
    "SiteDetails",
    "SiteEvent",
    "api",
    "as_log_record",
    "as_site_record",
    "by_id",
    "connect",
    "find",
    "last_heard",
    "logs_page",
    "owners_of",
    "read_filters",
    "request",
    "site_events_page",
    "site_log",
    "site_of",
    "sites_page",
    "text_id",
]
