"""A log may tell of an unexpected error its kind and place. It never tells its text, which may
hold a statement's values.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import structlog
from sqlalchemy import exc

from heliograph.base import cancelling

Level = Literal["warning", "error"]

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
def survive_faults(event: str, *, level: Level = "error", **facts: object) -> Iterator[None]:
    """Logs any exception out of the block as `event`, with `facts`, and goes on after the block.

    It is for work whose failure must not end what calls it: one round of a loop, one of many
    campaigns or carriers, what a part of a process stores as it ends. The exception may be
    anything: the database is away, a lock is not got in time, rows are gone. A task that was
    cancelled ends as cancelled.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001  see above
        cancelling.obey(error)
        getattr(log, level)(event, **facts, **told(error))
