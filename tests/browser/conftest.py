"""A real browser visits a real server. There is one browser for a file of tests, and one server for
each of its databases.

None is kept for longer: while a browser is open, no test of this process could have an event loop
of its own.
"""

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.support.api.server import Server, serving
from tests.support.services import ServiceMissing, chromium


@pytest.fixture(scope="module")
def served_database() -> str:
    """Returns the kind of database that the server has, where `at_both_widths` does not say it."""
    return "sqlite"


@pytest.fixture(scope="module")
def server(
    new_database: Callable[[str], str],
    served_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    with serving(
        new_database(served_database),
        tmp_path_factory.mktemp("serve"),
        HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK="true",
        HELIOGRAPH_PORTAL_COMPONENTS="1",
    ) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium.find_chromium()
    if program is None:
        raise ServiceMissing(chromium.ADVICE)
    with sync_playwright() as playwright:
        # Chromium refuses to keep root in its sandbox
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield browser
        browser.close()
