"""`visitor` is a browser before the portal and the console, and `stranger` is another one.
Passwords are hashed in no time.
"""

from collections.abc import Iterator

import pytest

from heliograph.api.app import acceptor_for
from heliograph.console.pages import PAGES as CONSOLE_PAGES
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.queue import FairQueue
from heliograph.portal.page_request import CONSOLE, Service
from heliograph.portal.pages import PAGES
from heliograph.portal.portal import ROOTS, Portal
from heliograph.users import passkeys
from tests.support.api.service import Loop
from tests.support.factories import SECRET_KEY
from tests.support.portal.visitor import SITE, Visitor


@pytest.fixture(autouse=True)
def _quick(quick_hashes: None) -> None:
    """Hashes the passwords of all tests of this folder in no time."""


@pytest.fixture
def run_loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def cache(db: Database, run_loop: Loop) -> Iterator[ConfigCache]:
    """Yields what the pages remember of the configuration."""
    cache = ConfigCache(db)
    run_loop(cache.refresh())
    yield cache
    run_loop(cache.close())


@pytest.fixture
def portal(db: Database, run_loop: Loop, cache: ConfigCache) -> Iterator[Portal]:
    acceptor = acceptor_for(db, cache, lambda carrier_ids: None, FairQueue())
    service = Service(db, SECRET_KEY, acceptor, passkey_site=passkeys.site_of(SITE))
    portal = Portal(service, None, (*PAGES, *CONSOLE_PAGES), (*ROOTS, CONSOLE))
    yield portal
    run_loop(portal.close())
    run_loop(db.close_hot())


@pytest.fixture
def visitor(db: Database, portal: Portal, run_loop: Loop) -> Iterator[Visitor]:
    visitor = Visitor(db, portal, run_loop)
    yield visitor
    visitor.close()


@pytest.fixture
def stranger(db: Database, portal: Portal, run_loop: Loop) -> Iterator[Visitor]:
    visitor = Visitor(db, portal, run_loop)
    yield visitor
    visitor.close()
