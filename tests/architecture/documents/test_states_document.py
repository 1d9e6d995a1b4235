"""docs/states.md and docs/answers.md say what the code does, because they are made from it."""

from heliograph.messages.states import FAILED_BY_RECEIPT, FAILURE_CODES
from heliograph.messages.tables import ERROR_CODES
from tools.states import pages


def test_each_page_that_is_made_is_what_the_code_decides() -> None:
    old = [file.name for file, text in pages().items() if file.read_text("utf-8") != text]
    assert old == [], "these pages of docs are out of date: run `make docs`"


def test_the_codes_that_are_described_are_those_that_are_stored_and_counted() -> None:
    assert tuple(FAILURE_CODES) == ERROR_CODES
    assert set(FAILED_BY_RECEIPT.values()) <= FAILURE_CODES.keys()


def test_each_code_of_a_failed_message_has_a_cause() -> None:
    by_receipts = set(FAILED_BY_RECEIPT.values())
    assert {code for code, each in FAILURE_CODES.items() if not each.cause} <= by_receipts
