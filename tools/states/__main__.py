"""`python -m tools.states`: writes the page."""

from tools.states.page import DOCUMENT, document

DOCUMENT.write_text(document(), "utf-8")
