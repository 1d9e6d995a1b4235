"""Commands use colours on a terminal, and nowhere else."""

import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import TextIO

import pytest

from heliograph.cli.failure import Failure
from heliograph.cli.output import print_table

RECORDS = [{"name": "amina", "status": "active"}, {"name": "dede", "status": "suspended"}]
PLAIN = "NAME   STATUS\namina  active\ndede   suspended\n"


class Terminal:
    """Opens a pseudo-terminal."""

    def __init__(self) -> None:
        self._screen, slave = os.openpty()
        self.stream: TextIO = os.fdopen(slave, "w", encoding="utf-8")

    def shows(self, doing: Callable[[], None]) -> str:
        """Returns what its screen gets."""
        with redirect_stdout(self.stream), redirect_stderr(self.stream):
            doing()
        self.stream.close()
        told = b""
        # the end of what was written: nobody has the terminal open any more
        with suppress(OSError):
            while octets := os.read(self._screen, 65_536):
                told += octets
        return told.decode().replace("\r\n", "\n")

    def close(self) -> None:
        self.stream.close()
        os.close(self._screen)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    there = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    yield there
    there.close()


def listed() -> None:
    print_table(RECORDS, ["name", "status"])


def test_a_terminal_shows_states_in_colours_and_columns_stay_aligned(terminal: Terminal) -> None:
    shown = terminal.shows(listed)
    assert "\x1b[32mactive\x1b[0m" in shown
    assert "\x1b[33msuspended\x1b[0m" in shown
    for code in ("\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"):
        shown = shown.replace(code, "")
    assert shown == PLAIN


def test_a_failure_stands_out(terminal: Terminal) -> None:
    assert (
        terminal.shows(Failure("There is no such account.").show)
        == "\x1b[31mheliograph:\x1b[0m There is no such account.\n"
    )


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_no_colours_gets_none(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert terminal.shows(listed) == PLAIN


def test_what_is_piped_has_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    listed()
    assert capsys.readouterr().out == PLAIN
