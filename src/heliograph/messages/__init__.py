"""Sends messages: each is accepted, paid once, handed to a carrier, and followed until its delivery
is known.

Each room of it hands out its own names.
"""

__all__ = [
    "accept",
    "api",
    "carrier",
    "count_rollups",
    "doubt",
    "events",
    "failure_reasons",
    "groups",
    "linked_hosts",
    "newest_texts",
    "paid",
    "queue",
    "read",
    "replies",
    "report_file",
    "report_filters",
    "retention",
    "rollup_reports",
    "states",
    "sudden_volume",
    "sweeps",
]
