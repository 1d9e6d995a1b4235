"""Counts what operators need to know about a carrier's sessions."""

from dataclasses import dataclass


@dataclass(slots=True)
class SessionCounters:
    """Counts, for metrics, what a carrier's sessions have seen since the start."""

    # texts from handsets and parts of such texts, as they came in
    mobile_originated: int = 0
    malformed: int = 0  # PDUs that could not be read
    unexpected: int = 0  # answers to nothing that was asked
    half_open: int = 0  # connections that enquire_link found dead
