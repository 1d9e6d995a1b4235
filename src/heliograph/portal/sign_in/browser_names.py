"""A browser is called as its user calls it, and not by all that its User-Agent says."""

import re
from typing import Final

from heliograph.portal.languages import _

# The first one that is found counts: most browsers also name those that they are made of, or want
# to be taken for.
BROWSERS: Final = (
    ("Edge", re.compile(r"\bEdg(e|A|iOS)?/")),
    ("Opera", re.compile(r"\b(OPR|OPT)/")),
    ("Samsung Internet", re.compile(r"\bSamsungBrowser/")),
    ("Firefox", re.compile(r"\b(Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"\b(HeadlessChrome|Chrome|CriOS)/")),
    ("Safari", re.compile(r"\bVersion/\S+ .*\bSafari/")),
)
SYSTEMS: Final = (
    ("Android", re.compile(r"\bAndroid\b")),
    ("iPhone", re.compile(r"\biPhone\b")),
    ("iPad", re.compile(r"\biPad\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    ("ChromeOS", re.compile(r"\bCrOS\b")),
    ("macOS", re.compile(r"\bMacintosh\b")),
    ("Linux", re.compile(r"\bLinux\b")),
)


def browser_name(user_agent: str) -> str:
    """Returns a name such as `Firefox on Windows` for a User-Agent, or the User-Agent itself if it
    belongs to no known browser. A browser that sends none is called unknown.
    """
    browser = _first(BROWSERS, user_agent)
    system = _first(SYSTEMS, user_agent)
    if browser is None:
        return user_agent or _("unknown")
    if system is None:
        return browser
    return _("%(browser)s on %(system)s", browser=browser, system=system)


def _first(names: tuple[tuple[str, re.Pattern[str]], ...], user_agent: str) -> str | None:
    return next((name for name, mark in names if mark.search(user_agent)), None)
