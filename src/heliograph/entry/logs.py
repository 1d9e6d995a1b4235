"""Logs: readable on a terminal, JSON otherwise. Never a text, a number in full, a key or a code."""

import logging
import sys

import structlog

from heliograph.base.settings import Settings


def set_up(settings: Settings) -> None:
    """Sends structlog's and the libraries' logs to stderr in one form."""
    readable = settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty())
    level = getattr(logging, settings.log_level.upper())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    final: structlog.typing.Processor = structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer()
    structlog.configure(processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter], cache_logger_on_first_use=True,
                        logger_factory=structlog.stdlib.LoggerFactory(), wrapper_class=structlog.make_filtering_bound_logger(level))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()], processors=[
        structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.format_exc_info, final]))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("uvicorn", "uvicorn.error", "uvicorn.access", "alembic", "asyncio"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING))
