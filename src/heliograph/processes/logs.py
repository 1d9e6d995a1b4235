"""Writes logs: readable on a terminal, JSON otherwise. They never hold a text, a number in full, a
key or a code.
"""

import asyncio
import logging
import sys
from typing import Any, Final

import structlog

from heliograph.base.log import Log, error_fields
from heliograph.base.settings import Settings
from heliograph.base.short_texts import printable
from heliograph.processes import colours

_WHAT_MAX: Final = 200  # characters

log = Log(__name__)


def set_up(settings: Settings) -> None:
    """Sends structlog's and the libraries' logs to stderr in one form."""
    readable = settings.log_format == "text" or (
        settings.log_format == "auto" and sys.stderr.isatty()
    )
    level = getattr(logging, settings.log_level.upper())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    coloured = colours.are_wanted(sys.stderr)
    final: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=coloured)
        if readable
        else structlog.processors.JSONRenderer()
    )
    for_people = [_show_texts] if readable else []  # JSON is ASCII
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        cache_logger_on_first_use=True,
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _add_kind_and_place,
                *for_people,
                final,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("uvicorn", "uvicorn.error", "uvicorn.access", "alembic", "asyncio"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING))


def log_unexpected(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handles exceptions of an event loop. The loop's own handler would print the texts of
    errors, with their statements.
    """
    error = context.get("exception")
    log.error(
        "unexpected_error",
        what=str(context.get("message", ""))[:_WHAT_MAX],
        **(error_fields(error) if error is not None else {}),
    )


def _show_texts(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Shows what strangers wrote, such as a carrier's message id, as a terminal may show it."""
    for name, value in event.items():
        if isinstance(value, str) and not (value.isascii() and value.isprintable()):
            event[name] = printable(value)
    return event


def _add_kind_and_place(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Tells the kind and place of an error that a library logs, in place of its text and trace."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event.update(error_fields(error))
    return event
