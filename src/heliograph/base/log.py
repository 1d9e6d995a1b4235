"""Makes the loggers of our modules, and decides what a log may say of an unexpected error: its kind
and place, never its text, which may hold a statement's values.

structlog is loaded when the first line is written: most commands write none, and it takes a sixth
of their time where rich is installed.
"""

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal

from sqlalchemy import exc

from heliograph.base import cancelling

Level = Literal["warning", "error"]

_errors_only = False


class Log:
    """Logs for one module, which is called `name` in what is written."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def _structlog(self) -> Any:
        import structlog

        if _errors_only:
            _configure_errors_only()
        return structlog.get_logger(self._name)

    def is_enabled_for(self, level: int) -> bool:
        """Says whether lines of this level are written, so that a hot path need not make others."""
        return bool(self._structlog.is_enabled_for(level))

    def debug(self, event: str, **fields: Any) -> None:
        self._structlog.debug(event, **fields)

    def info(self, event: str, **fields: Any) -> None:
        self._structlog.info(event, **fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._structlog.warning(event, **fields)

    def error(self, event: str, **fields: Any) -> None:
        self._structlog.error(event, **fields)


log = Log(__name__)


def write_errors_only() -> Callable[[], None]:
    """Writes only errors from now on, to standard error, until a process configures its logs.
    Returns a function that ends this.
    """
    global _errors_only
    if "structlog" not in sys.modules:
        _errors_only = True
    elif not _configure_errors_only():
        return lambda: None
    return _write_as_before


def _configure_errors_only() -> bool:
    """Sets the logs up so and returns True, unless the process has configured them before."""
    import structlog

    if structlog.is_configured():
        return False
    structlog.configure(
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger("error"),
    )
    return True


def _write_as_before() -> None:
    global _errors_only
    _errors_only = False
    if "structlog" in sys.modules:
        sys.modules["structlog"].reset_defaults()


def error_fields(error: BaseException) -> dict[str, Any]:
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
        cancelling.raise_if_cancelled(error)
        getattr(log, level)(event, **facts, **error_fields(error))
