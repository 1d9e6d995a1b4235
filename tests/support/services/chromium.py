"""Finds Chromium, the browser that the tests of pages drive, through Playwright. It is Debian's,
because Playwright's own is in no package registry. And it is the program without windows of its
own, which does the same with a quarter less of a processor's time.
"""

import shutil

PACKAGES = ("chromium-headless-shell", "chromium")  # the second where there is no first
ADVICE = (
    "Chromium is needed, to drive the pages: install it (Debian: sudo apt-get install"
    " --no-install-recommends chromium-headless-shell; elsewhere chromium)"
)


def find_chromium() -> str | None:
    """Returns the program that will be used, or None when it is missing."""
    return next((path for name in PACKAGES if (path := shutil.which(name))), None)
