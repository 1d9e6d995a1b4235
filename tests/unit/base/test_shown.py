"""What strangers write is shown as text: by commands, in JSON, and in logs."""

import json
import logging
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.settings import Settings
from heliograph.base.short_texts import JOINERS
from heliograph.cli.output import json_text, printable
from heliograph.processes import logs

OBEYED = "\x1b[2J\x9b31m\u202e\u2066\u2028\x07\r\x7f"


@given(st.text() | st.text(OBEYED))
def test_commands_print_nothing_that_a_terminal_obeys(text: str) -> None:
    assert all(character.isprintable() or character in JOINERS for character in printable(text))
    shown = json_text([text])
    assert json.loads(shown) == [text]
    assert not set(shown) & set(OBEYED) - {"["} - set("2J31m")


def test_a_readable_log_shows_what_a_carrier_wrote_as_text(
    capfd: pytest.CaptureFixture[str],
) -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    logs.set_up(
        Settings(
            data_dir=Path("/nowhere"),
            database_url="sqlite://",
            secret_key="s" * 32,
            log_format="text",
        )
    )
    try:
        structlog.stdlib.get_logger("heliograph.test").info("receipt_stored", ref=OBEYED)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    shown = capfd.readouterr().err
    assert "receipt_stored" in shown
    assert "\\u202e" in shown
    assert not set(shown) & set("\x9b\u202e\u2066\u2028\x07\r\x7f")
