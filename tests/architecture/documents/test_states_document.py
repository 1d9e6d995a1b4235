"""docs/states.md and docs/answers.md say what the code does, because they are made from it."""

import ast

from heliograph.messages.states import FAILED_BY_RECEIPT, FAILURE_CODES
from tests.support.sources import ROOT, nodes_of, sources
from tools.states import pages

MAKERS = ("sections.py", "errors.py", "pages.py")  # of docs/states.md


def test_each_page_that_is_made_is_what_the_code_decides() -> None:
    old = [file.name for file, text in pages().items() if file.read_text("utf-8") != text]
    assert old == [], "these pages of docs are out of date: run `make docs`"


def test_the_page_of_states_is_made_from_the_declared_tables_alone() -> None:
    made_of = [
        node.module
        for source in sources(ROOT / "tools" / "states")
        if source.path in MAKERS
        for node in nodes_of(source.tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("heliograph.")
    ]
    assert len(made_of) >= len(MAKERS)
    kind = "heliograph.database.transitions"
    assert [name for name in made_of if name != kind and not str(name).endswith(".states")] == []


def test_the_codes_of_receipts_are_among_those_that_are_described() -> None:
    assert set(FAILED_BY_RECEIPT.values()) <= FAILURE_CODES.keys()


def test_each_code_of_a_failed_message_has_a_cause() -> None:
    by_receipts = set(FAILED_BY_RECEIPT.values())
    assert {code for code, each in FAILURE_CODES.items() if not each.cause} <= by_receipts
