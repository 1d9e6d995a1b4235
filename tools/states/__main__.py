"""Writes the pages of states and of answers: `python -m tools.states`."""

from tools.states.pages import pages

for file, text in pages().items():
    file.write_text(text, "utf-8")
