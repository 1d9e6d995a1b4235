"""This room serves the site plugin: shops that are linked to an account, what they report, and
the account's status as they show it.
"""

from heliograph.plugin.api import endpoints
from heliograph.plugin.logs import LogEntry, as_log_record, logs_page
from heliograph.plugin.site import About, Site, by_id, connect, find, sites_page, text_id
from heliograph.plugin.site import as_operators_record as as_site_record
from heliograph.plugin.tables import KEPT

__all__ = [
    "KEPT",
    "About",
    "LogEntry",
    "Site",
    "as_log_record",
    "as_site_record",
    "by_id",
    "connect",
    "endpoints",
    "find",
    "logs_page",
    "sites_page",
    "text_id",
]
