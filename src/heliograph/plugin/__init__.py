"""The site plugin: shops that are linked to an account, what they say happened there, and the account's status as they show it."""

from heliograph.plugin.api import endpoints
from heliograph.plugin.logs import LogEntry, as_log_record, logs_page
from heliograph.plugin.site import Site, by_id, find, sites_page, text_id
from heliograph.plugin.site import as_operators_record as as_site_record
from heliograph.plugin.tables import KEPT

__all__ = ["KEPT", "LogEntry", "Site", "as_log_record", "as_site_record", "by_id", "endpoints", "find", "logs_page", "sites_page", "text_id"]
