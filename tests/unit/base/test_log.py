"""A command's log holds errors only, and it changes nothing in the logs of its process."""

import subprocess
import sys

BEGIN = """
import structlog, sys
from heliograph.base import log
of_module = log.Log("heliograph.test")
"""
BEGINS = (BEGIN, BEGIN.replace("structlog, ", ""))  # structlog is loaded before, or by a line


def written(code: str) -> tuple[str, str]:
    """Returns what a fresh interpreter writes to standard output and to standard error."""
    ended = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True
    )
    return ended.stdout, ended.stderr


def test_a_command_writes_errors_only_and_to_standard_error() -> None:
    for begin in BEGINS:
        output, errors = written(
            f"{begin}log.write_errors_only()\n"
            "of_module.warning('left_out')\nof_module.error('written', account=7)"
        )
        assert output == ""
        assert "written" in errors
        assert "account" in errors
        assert "left_out" not in errors


def test_the_logs_that_a_process_has_configured_stay() -> None:
    configure = (
        "structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stdout),"
        " wrapper_class=structlog.make_filtering_bound_logger('info'))"
    )
    line = "of_module.info('written')"
    for code in (
        f"{configure}\nend = log.write_errors_only()\n{line}\nend()\n{line}",
        f"end = log.write_errors_only()\n{configure}\n{line}\n{line}",
    ):
        output, errors = written(f"{BEGIN}{code}")
        assert output.count("written") == 2
        assert errors == ""


def test_after_a_command_lines_are_written_as_before_it() -> None:
    for begin in BEGINS:
        output, errors = written(
            f"{begin}end = log.write_errors_only()\nend()\nof_module.info('written')"
        )
        assert "written" in output
        assert errors == ""
