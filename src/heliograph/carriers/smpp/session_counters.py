"""These are the figures that the operator sees of a carrier's sessions."""

from dataclasses import dataclass


@dataclass(slots=True)
class SessionCounters:
    """This counts what a carrier's sessions have seen since the start, for metrics."""

    # messages from handsets: acknowledged, counted and logged, and reported to no account
    mobile_originated: int = 0
    malformed: int = 0  # PDUs that could not be read
    unexpected: int = 0  # answers to nothing that was asked
    half_open: int = 0  # connections that enquire_link found dead
