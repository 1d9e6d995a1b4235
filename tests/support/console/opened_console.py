"""Opens the console of a database that a test has at hand."""

from collections.abc import Iterator
from contextlib import contextmanager

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
from tests.support.console.operators import sign_in_operator
from tests.support.factories import SECRET_KEY
from tests.support.portal.visitor import SITE, Visitor


@contextmanager
def opened_console(db: Database) -> Iterator[Visitor]:
    """Yields an admin who has come in."""
    run = Loop()
    cache = ConfigCache(db)
    run(cache.refresh())
    service = Service(
        db,
        SECRET_KEY,
        acceptor_for(db, cache, lambda carrier_ids: None, FairQueue()),
        passkey_site=passkeys.site_of(SITE),
    )
    portal = Portal(service, None, (*PAGES, *CONSOLE_PAGES), (*ROOTS, CONSOLE))
    visitor = Visitor(db, portal, run)
    try:
        sign_in_operator(visitor, db)
        yield visitor
    finally:
        visitor.close()
        run(portal.close())
        run(cache.close())
        run(db.close_hot())
        run.close()
