"""Reports on many messages at once: lists and CSV files of them, their roll-ups, why they failed,
and what is suspicious about them. It changes nothing but the roll-ups.
"""

__all__ = [
    "count_rollups",
    "failure_reasons",
    "linked_hosts",
    "report_file",
    "report_filters",
    "rollup_reports",
    "sudden_volume",
]
