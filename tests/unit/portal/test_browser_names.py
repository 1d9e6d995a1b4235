"""A browser in the list of a user's sessions is called as its user calls it."""

import pytest

from heliograph.portal.sign_in.browser_names import browser_name

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
ON_IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/130.0 Safari/537.36", "Chrome on Linux"),
        (
            f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/130.0 Safari/537.36 Edg/130.0",
            "Edge on Windows",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 14) {WEBKIT} SamsungBrowser/26.0 Chrome/122.0 Safari/537",
            "Samsung Internet on Android",
        ),
        (f"Mozilla/5.0 (Macintosh) {WEBKIT} Chrome/130 Safari/537.36 OPR/115", "Opera on macOS"),
        (
            "Mozilla/5.0 (Windows NT 10.0; rv:132.0) Gecko/20100101 Firefox/132.0",
            "Firefox on Windows",
        ),
        (f"{ON_IPHONE} Version/18.0 Mobile/15E148 Safari/604.1", "Safari on iPhone"),
        (f"{ON_IPHONE} CriOS/130.0 Mobile/15E148 Safari/604.1", "Chrome on iPhone"),
        (
            f"Mozilla/5.0 (X11; CrOS x86_64) {WEBKIT} Chrome/130.0 Safari/537.36",
            "Chrome on ChromeOS",
        ),
        ("Firefox/132.0", "Firefox"),
        ("python-httpx/0.28", "python-httpx/0.28"),
        ("<b>Linux</b>", "<b>Linux</b>"),
        ("", "unknown"),
    ],
)
def test_a_browser_is_called_by_its_name_and_its_system(user_agent: str, name: str) -> None:
    assert browser_name(user_agent) == name
