"""Chromium: the browser that the tests of pages drive, through Playwright. It is Debian's, because
Playwright's own is in no package registry.
"""

import shutil

ADVICE = (
    "Chromium is needed, to drive the page /docs: install it (Debian, Ubuntu: sudo apt-get install"
    " --no-install-recommends chromium)"
)


def find_chromium() -> str | None:
    """The program that will be used; None when it is missing."""
    return shutil.which("chromium")
