"""Judges with axe-core whether everybody can use a page: by keyboard, with a screen reader, and
with eyes that need contrast.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

from tests.support.services.node import ensure_modules

AXE: Final = Path(__file__).parents[2] / "browser" / "axe"
# levels A and AA of WCAG 2.2, and good practice, such as the order of headings
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# the only rule that the colors of a theme can break
OF_COLORS: Final = {"type": "rule", "values": ["color-contrast"]}
# no list is made of the places where nothing is broken
BRIEFLY: Final = {"resultTypes": ["violations"]}
OF_ALL: Final = {"type": "tag", "values": RULES}


@cache
def _program() -> str:
    ensure_modules(AXE)
    return (AXE / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


def violations(page: Page, *, of: dict[str, Any] = OF_ALL) -> list[str]:
    """Returns what is wrong with a page as it is shown now: each rule that is broken, and where."""
    # the page's policy forbids scripts in the page, but not what the browser is told from outside
    if not page.evaluate("'axe' in window"):
        page.evaluate(_program())
    found = page.evaluate("options => axe.run(document, options)", {"runOnly": of, **BRIEFLY})
    return [
        f"{broken['id']}: {node['html'][:200]} {node['failureSummary']}"
        for broken in found["violations"]
        for node in broken["nodes"]
    ]
