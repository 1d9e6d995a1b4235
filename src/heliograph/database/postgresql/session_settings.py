"""Defines the settings of our sessions in PostgreSQL, and the statement that begins each
session.
"""

from heliograph.database import sessions
from heliograph.database.postgresql.hosts import status_sql


def session_settings(synchronous_commit: str) -> dict[str, str]:
    """Returns the settings of each database session."""
    return {
        # whatever the server, the database or the role has: accepted means stored
        "synchronous_commit": synchronous_commit,
        "application_name": sessions.session_name(),
        "lock_timeout": str(sessions.POSTGRES_LOCK_TIMEOUT_MS),
        "statement_timeout": str(sessions.POSTGRES_STATEMENT_TIMEOUT_MS),
        "idle_in_transaction_session_timeout": str(sessions.POSTGRES_IDLE_IN_TRANSACTION_MS),
        "timezone": "UTC",
        "jit": "off",  # compiling takes longer than any statement of ours
        **sessions.KEEPALIVE,
    }


def hot_session_settings(synchronous_commit: str) -> dict[str, str]:
    """Returns the settings of sessions on the hot paths. Their statements are planned once: their
    arrays differ in length only, and planning anew cost a fifth of the database's time. And they
    are planned by index: a plan made while a table was empty would go on reading it from end to end
    as it grows.

    An index is read in its order, and no further than a LIMIT. A bitmap of it is read whole, and
    what it finds is sorted. Before the planner has counted a queue of 200,000 runs, it believes in
    one and takes a bitmap: each look for the next 100 runs then took 75 ms. Only a bitmap can
    answer an OR of two columns by index, so these statements have none.
    """
    return session_settings(synchronous_commit) | {
        "lock_timeout": str(
            int(sessions.POSTGRES_LOCK_TIMEOUT_MS * sessions.HOT_LOCK_TIMEOUT_PART)
        ),
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
    }


def begin_session(settings: dict[str, str], *, with_system: bool) -> str:
    """Returns the first statement of a connection. Its first columns are those of `status_sql`.
    PgBouncer refuses settings that come with the connection itself (its manual,
    ignore_startup_parameters).
    """
    return status_sql(
        with_system,
        *(f"set_config('{name}', '{value}', false)" for name, value in settings.items()),
    )
