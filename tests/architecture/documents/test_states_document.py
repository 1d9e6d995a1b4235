"""docs/states.md tells what the code does, because it is made from the code."""

from tools.states import DOCUMENT, document


def test_the_page_of_states_is_what_the_code_decides() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), (
        "docs/states.md is out of date: run `make docs`"
    )
