"""Keeps PostgreSQL from plans that are good for another state of a table, and bad for the one that
it has now.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy.engine import Connection

_NEVER: Final = None  # of psycopg's `prepare_threshold`: no statement is prepared


@contextmanager
def replan_statements(tx: Connection) -> Iterator[None]:
    """Has each statement of the block planned for the size that its tables have now.

    The driver prepares a statement that a connection executes often, and PostgreSQL keeps its plan.
    A plan that was made while a table was empty reads it from end to end as it grows, until
    PostgreSQL counts the table. (Sessions of the hot paths are kept from that by their settings.)
    """
    connection: Any = tx.connection.driver_connection
    usual = connection.prepare_threshold
    connection.prepare_threshold = _NEVER
    try:
        yield
    finally:
        connection.prepare_threshold = usual


@contextmanager
def without_sorts(tx: Connection) -> Iterator[None]:
    """Has each statement of the block read what it orders from an index that has this order, as
    long as there is one. Of two indexes PostgreSQL else takes the worse one and sorts what it finds
    there, if it believes that it finds next to nothing.

    What is set ends with the transaction, if an error ends that.
    """
    tx.exec_driver_sql("SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off")
    yield
    tx.exec_driver_sql("RESET enable_sort; RESET enable_incremental_sort")
