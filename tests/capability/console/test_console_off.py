"""The settings turn the portal and the console off, each by itself."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from heliograph.api.app import acceptor_for
from heliograph.base.settings import Settings
from heliograph.console import portal_and_console
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.queue import FairQueue
from heliograph.portal import Portal
from tests.support.api.service import Loop
from tests.support.factories import SECRET_KEY
from tests.support.portal.visitor import Visitor

SIGN_IN, OVERVIEW, APPROVALS = "/portal/sign-in", "/portal", "/console/approvals"
MEMBERS_ONLY = "/portal/accounts/acc_01k5zzzzzzzzzzzzzzzzzzzzzz/keys"
Served = Callable[..., AbstractContextManager[Portal | None]]


@pytest.fixture
def served(db: Database, cache: ConfigCache, run_loop: Loop) -> Served:
    """Makes what serves the pages under these settings."""

    @contextmanager
    def make(*, portal: bool = True, console: bool = True) -> Iterator[Portal | None]:
        acceptor = acceptor_for(db, cache, lambda carrier_ids: None, FairQueue())
        given = Settings(Path(), db.url, SECRET_KEY, portal=portal, console=console)
        pages = portal_and_console(given, db, lambda _: None, acceptor)
        yield pages
        if pages is not None:
            run_loop(pages.close())

    return make


def test_without_the_console_nothing_is_below_its_path(
    db: Database, served: Served, run_loop: Loop
) -> None:
    with served(console=False) as pages:
        assert pages is not None
        assert not pages.is_mine("/console")
        assert not pages.is_mine(APPROVALS)
        visitor = Visitor(db, pages, run_loop)
        assert visitor.get(SIGN_IN).status_code == 200
        assert visitor.get(APPROVALS).status_code == 404
        visitor.close()


def test_without_the_portal_the_console_keeps_its_sign_in(
    db: Database, served: Served, run_loop: Loop
) -> None:
    with served(portal=False) as pages:
        assert pages is not None
        assert not pages.is_mine("/")
        visitor = Visitor(db, pages, run_loop)
        assert visitor.get(SIGN_IN).status_code == 200
        assert visitor.get(APPROVALS).status_code == 401
        assert visitor.get(OVERVIEW).headers["location"] == "/console"
        for path in (MEMBERS_ONLY, "/portal/sign-up"):
            assert visitor.get(path).status_code == 404, path
        visitor.close()


def test_without_both_there_are_no_pages(served: Served) -> None:
    with served(portal=False, console=False) as pages:
        assert pages is None
