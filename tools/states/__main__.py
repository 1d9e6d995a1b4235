"""Writes the page of states: `python -m tools.states`."""

from tools.states.page import DOCUMENT, document

DOCUMENT.write_text(document(), "utf-8")
