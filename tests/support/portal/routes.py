"""Makes what an account has, and lists the routes of its pages, for tests that ask all of them."""

from typing import NamedTuple

from starlette.routing import Route

from heliograph import accounts, campaigns, connect, contacts, keys, plugin, senders
from heliograph.base import clock
from heliograph.contacts import ContactOwner, stored_import
from heliograph.contacts.stored_import import FileToImport
from heliograph.database.database import Database
from heliograph.portal.portal import Portal
from heliograph.webhooks import endpoints
from tests.support.capability.campaigns import write_down
from tests.support.capability.webhooks import endpoint
from tests.support.portal.stored_contacts import stored

# what an account has, by the parameters of paths that name one of it
BELOW = (
    *("message", "key", "endpoint", "campaign", "contact"),
    *("sender", "customer", "site", "file", "document", "event"),
)


class There(NamedTuple):
    """Holds what the account has: the parameters of paths that lead to it."""

    account: str
    message: str
    key: str
    endpoint: str
    campaign: str
    contact: str
    sender: str
    customer: str
    site: str
    file: str
    document: str = "doc_01k5zzzzzzzzzzzzzzzzzzzzzz"
    event: str = "evt_01k5zzzzzzzzzzzzzzzzzzzzzz"
    phone: str = "233201234567"


def customer_of(db: Database, account_id: str) -> str:
    """Makes a Connect customer of an account."""
    asked, _ = connect.read_customer_request(
        {"full_name": "bilal", "phone": "233201234599", "country_code": "GH"}
    )
    with db.write() as tx:
        made = connect.provision(tx, account_id, asked, sandbox=False, now_ms=clock.now_ms())
    return made.customer.account_id


def things_of(db: Database, account_id: str, customer_id: str) -> There:
    """Makes one of each thing that an account can have."""
    with db.write() as tx:
        made = keys.issue(
            tx,
            account_id,
            name="shop",
            sandbox=False,
            tier="standard",
            permissions=["sms.send"],
            now_ms=clock.now_ms(),
        )
        account = accounts.text_id(accounts.by_id(tx, account_id))
    listening, _ = endpoint(db, account_id)
    kept = stored(db, account_id, name="amina's")
    drafted = write_down(db, account_id, message="amina's")
    with db.write() as tx:
        shop = plugin.connect(
            tx,
            account_id,
            "https://amina.example",
            plugin.SiteDetails(None, None, None, None, None),
            sandbox=False,
            now_ms=clock.now_ms(),
        )
        sheet = FileToImport(b"phone\n", None, {}, 0, {"fields": [], "custom": [], "not_read": []})
        whose = ContactOwner(account_id, False)
        file = stored_import.begin(tx, whose, sheet, "amina's", now_ms=clock.now_ms())
        named = senders.register(tx, account_id, "AMINA", sandbox=True, now_ms=clock.now_ms())
    return There(
        account,
        message="msg_01k5zzzzzzzzzzzzzzzzzzzzzz",
        key=keys.text_id(made.record),
        endpoint=endpoints.text_id(listening.id),
        campaign=campaigns.text_id(drafted),
        contact=contacts.text_id(kept),
        sender=senders.text_id(named),
        customer=accounts.text_of_id(customer_id, is_customer=True),
        site=plugin.text_id(shop),
        file=file,
    )


class Asked(NamedTuple):
    """Names a page of the account, or a form of it."""

    method: str
    path: str


def asked(portal: Portal, there: There, **other: str) -> list[Asked]:
    return [asked_of(route, there, **other) for route in of_accounts(portal)]


def asked_of(route: Route, there: There, **other: str) -> Asked:
    path = route.path
    for name, value in (there._asdict() | other).items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, f"{route.path} has a parameter that this test does not know"
    return Asked("GET" if "GET" in (route.methods or ()) else "POST", path)


def of_accounts(portal: Portal) -> list[Route]:
    return [route for route in portal.routes if "{account}" in route.path]
