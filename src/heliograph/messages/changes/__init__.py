"""Holds what every change of a stored message goes through: its lock, the changes until they are
stored, and what they tell events, groups and roll-ups.
"""

__all__ = ["events"]
