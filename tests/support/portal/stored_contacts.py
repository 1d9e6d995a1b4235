"""Contacts that are there before a page is asked for, and those that are there after it."""

from heliograph import contacts
from heliograph.base import clock
from heliograph.contacts import Contact, ContactOwner
from heliograph.database.database import Database


def those_of(db: Database, account_id: str, *, sandbox: bool = False) -> list[Contact]:
    with db.read() as tx:
        return contacts.page(tx, ContactOwner(account_id, sandbox), limit=1_000)


def stored(db: Database, account_id: str, *, sandbox: bool = False, **body: object) -> Contact:
    """A contact, made as the API makes it."""
    change = contacts.read_change(
        {"phone": "233201234567", **body}, phone_required=True, home="GH"
    ).change
    with db.write() as tx:
        owner = ContactOwner(account_id, sandbox)
        [made] = contacts.upsert(tx, owner, [change], now_ms=clock.now_ms())
    assert made.contact is not None
    return made.contact
