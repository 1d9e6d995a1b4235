"""Erases old texts and numbers, and deletes old rows, after the number of days that the operator
has set.
"""

from heliograph.messages.retention.partitions import detach, drop, old_months
from heliograph.messages.retention.retention import (
    EVENTS,
    MESSAGES,
    TEXTS,
    UNDER_WAY_MS,
    RetentionTimes,
    delete_some,
    erase_some,
    erase_texts,
    first_kept,
    first_unfinished_id,
    read_retention,
    store_first_kept,
    tables_of,
)
from heliograph.messages.retention.unmatched_limit import drop_too_many

__all__ = [
    "EVENTS",
    "MESSAGES",
    "TEXTS",
    "UNDER_WAY_MS",
    "RetentionTimes",
    "delete_some",
    "detach",
    "drop",
    "drop_too_many",
    "erase_some",
    "erase_texts",
    "first_kept",
    "first_unfinished_id",
    "old_months",
    "read_retention",
    "store_first_kept",
    "tables_of",
]
