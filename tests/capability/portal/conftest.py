"""`visitor` is a browser before the portal, and `home` is where amina's owner has come in.
`stranger` is another browser, on the same database. Passwords are hashed in no time.
"""

from collections.abc import Iterator

import pytest

from heliograph.api.app import acceptor_for
from heliograph.base.addresses import MailServer
from heliograph.base.mail.deliver_mail import to_server
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.queue import FairQueue
from heliograph.portal.page_request import Service
from heliograph.portal.portal import Portal
from heliograph.portal.sign_in.mailer import Mailer
from heliograph.users import passkeys
from heliograph.webhooks.http.address_guard import AllowedNetworks
from tests.support.api.service import Loop
from tests.support.capability.sending import House
from tests.support.factories import SECRET_KEY
from tests.support.portal.mailbox import Mailbox, taking_mail
from tests.support.portal.routes import There, customer_of, things_of
from tests.support.portal.visitor import EMAIL, SITE, Visitor, home_of


@pytest.fixture(autouse=True)
def _quick(quick_hashes: None) -> None:
    """Hashes the passwords of all tests of this folder in no time."""


@pytest.fixture
def run_loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def house_at_rest(house: House, run_loop: Loop) -> Iterator[House]:
    """Gives the house to tests that run no loop of their own, and closes it after them."""
    yield house
    run_loop(house.close())


@pytest.fixture
def cache(db: Database, run_loop: Loop) -> Iterator[ConfigCache]:
    """Yields what the portal remembers of the configuration."""
    cache = ConfigCache(db)
    run_loop(cache.refresh())
    yield cache
    run_loop(cache.close())


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """Yields a mail server. With it, the portal of the test sends mail."""
    with taking_mail() as box:
        yield box


@pytest.fixture
def mailer(request: pytest.FixtureRequest, db: Database) -> Mailer | None:
    if "mailbox" not in request.fixturenames:
        return None
    box: Mailbox = request.getfixturevalue("mailbox")
    server = MailServer("127.0.0.1", box.port, None, None, is_tls_first=False)
    return Mailer(db, SITE, "heliograph@heliograph.test", to_server(server))


@pytest.fixture
def portal(
    db: Database, run_loop: Loop, cache: ConfigCache, mailer: Mailer | None
) -> Iterator[Portal]:
    acceptor = acceptor_for(db, cache, lambda carrier_ids: None, FairQueue())
    portal = Portal(
        Service(
            db,
            SECRET_KEY,
            acceptor,
            webhook_networks=AllowedNetworks(loopback=True),
            takes_sign_ups=True,
            passkey_site=passkeys.site_of(SITE),
        ),
        mailer,
    )
    yield portal
    run_loop(portal.close())
    run_loop(db.close_hot())


@pytest.fixture
def visitor(db: Database, portal: Portal, run_loop: Loop) -> Iterator[Visitor]:
    visitor = Visitor(db, portal, run_loop)
    yield visitor
    visitor.close()


@pytest.fixture
def home(db: Database, amina_id: str, visitor: Visitor) -> str:
    """Returns the path of amina's pages; her owner is signed in."""
    visitor.sign_in(EMAIL, amina_id)
    return home_of(db, amina_id)


@pytest.fixture
def stranger(db: Database, portal: Portal, run_loop: Loop) -> Iterator[Visitor]:
    visitor = Visitor(db, portal, run_loop)
    yield visitor
    visitor.close()


@pytest.fixture
def bilal(db: Database, amina_id: str) -> str:
    """Makes a Connect customer of amina's."""
    return customer_of(db, amina_id)


@pytest.fixture
def there(db: Database, amina_id: str, bilal: str) -> There:
    return things_of(db, amina_id, bilal)
