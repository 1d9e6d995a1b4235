"""Holds the parts that are common to all statements that count octets in `storage_used`."""

from typing import Final

# A clock that is behind counts in the day that there is.
INTO_USED: Final = "INSERT INTO storage_used (account_id, sandbox, kind, day_ms, octets)"
ADDED_TO_USED: Final = """ON CONFLICT (account_id, sandbox, kind) DO UPDATE SET
        octets = CASE WHEN storage_used.day_ms >= excluded.day_ms THEN storage_used.octets
            ELSE 0 END + excluded.octets,
        day_ms = CASE WHEN storage_used.day_ms >= excluded.day_ms THEN storage_used.day_ms
            ELSE excluded.day_ms END"""
