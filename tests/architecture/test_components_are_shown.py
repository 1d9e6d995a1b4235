"""Checks that the page which shows the components of pages leaves none of them out, and that the
tables of the portal are the one that fits a phone.
"""

import re

from tests.support.sources import PACKAGE

TEMPLATES = PACKAGE / "portal" / "templates"


def test_every_component_is_shown() -> None:
    macros = re.findall(r"{% macro (\w+)\(", (TEMPLATES / "components.html").read_text("utf-8"))
    shown = (TEMPLATES / "components_shown.html").read_text("utf-8")
    assert macros, "no component was found"
    assert [name for name in macros if f"ui.{name}(" not in shown] == []


def test_every_table_of_the_portal_stacks_on_a_phone() -> None:
    opened = re.compile(r"<table(?! class=\"stacked)[^>]*>")
    scrolls = {
        template.name: found
        for template in TEMPLATES.glob("*.html")
        if (found := opened.findall(template.read_text("utf-8")))
    }
    assert scrolls == {}
