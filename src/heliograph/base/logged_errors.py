"""A log may tell of an unexpected error its kind and place. It never tells its text, which may
hold a statement's values.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from sqlalchemy import exc

from heliograph.base import cancelling

log = structlog.get_logger(__name__)


def told(error: BaseException) -> dict[str, Any]:
    """Returns keyword arguments for a log line, such as `{"error": "UniqueViolationError",
    "sqlstate": "23505", "at": "turn.py:123 in once"}`.
    """
    cause = error.orig if isinstance(error, exc.DBAPIError) and error.orig is not None else error
    facts: dict[str, Any] = {"error": type(cause).__name__}
    if sqlstate := getattr(cause, "sqlstate", None):
        facts["sqlstate"] = sqlstate
    ours = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "heliograph" in frame.filename
    ]
    if ours:
        facts["at"] = (
            f"{ours[-1].filename.rsplit('heliograph/', 1)[-1]}:{ours[-1].lineno} in {ours[-1].name}"
        )
    return facts


@contextmanager
def ended_anyway(event: str) -> Iterator[None]:
    """Around what a part of a process stores as it ends. Whatever goes wrong there is logged as
    `event` and keeps nothing else from ending: others find it out as after a kill. It may be
    anything: the database is away, a lock is not got in time, rows are gone.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001  see above
        cancelling.obey(error)
        log.warning(event, **told(error))
