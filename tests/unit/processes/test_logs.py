"""Errors that are logged by libraries and the event loop are told by their kind and place, never by
their text.
"""

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from heliograph.base.settings import Settings
from heliograph.processes import logs

SECRET = "4915112345678"


@contextmanager
def logging_set_up() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    logs.set_up(
        Settings(
            data_dir=Path("/nowhere"),
            database_url="sqlite://",
            secret_key="s" * 32,
            log_format="json",
        )
    )
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def failing() -> None:
    with sa.create_engine("sqlite://").connect() as tx:
        tx.execute(sa.text("SELECT * FROM nowhere WHERE phone = :phone"), {"phone": SECRET})


def test_an_error_that_a_library_logs_is_told_without_its_text(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with logging_set_up():
        try:
            failing()
        except OperationalError:
            logging.getLogger("some.library").exception("It did not work.")
    said = capfd.readouterr().err
    assert SECRET not in said
    assert "nowhere" not in said
    told = json.loads(said)
    assert (told["event"], told["error"], told["level"]) == (
        "It did not work.",
        "OperationalError",
        "error",
    )


def test_an_error_that_nobody_waited_for_is_told_without_its_text(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def nobody_waits() -> None:
        asyncio.get_running_loop().set_exception_handler(logs.log_unexpected)
        task = asyncio.create_task(asyncio.to_thread(failing))
        await asyncio.wait({task})
        del task

    with logging_set_up():
        asyncio.run(nobody_waits())
    said = capfd.readouterr().err
    assert SECRET not in said
    assert "FROM nowhere" not in said
    told = json.loads(said)
    assert (told["event"], told["what"], told["error"]) == (
        "unexpected_error",
        "Task exception was never retrieved",
        "OperationalError",
    )
