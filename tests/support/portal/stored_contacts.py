"""Stores contacts that are there before a page is asked for, and reads those that are there after
it.
"""

import httpx

from heliograph import contacts
from heliograph.base import clock
from heliograph.contacts import Contact, ContactOwner
from heliograph.database.database import Database
from heliograph.jobs.contact_imports import Imports
from tests.support.portal.visitor import Visitor


def those_of(db: Database, account_id: str, *, sandbox: bool = False) -> list[Contact]:
    with db.read() as tx:
        return contacts.page(tx, ContactOwner(account_id, sandbox), limit=1_000)


def stored(db: Database, account_id: str, *, sandbox: bool = False, **body: object) -> Contact:
    """Returns a contact, made as the API makes it."""
    change = contacts.read_contact_request(
        {"phone": "233201234567", **body}, phone_required=True, home_country="GH"
    ).change
    with db.write() as tx:
        owner = ContactOwner(account_id, sandbox)
        [made] = contacts.upsert(tx, owner, [change], by=contacts.OPERATOR, now_ms=clock.now_ms())
    assert made.contact is not None
    return made.contact


def path_of(home: str, contact: Contact) -> str:
    return f"{home}/contacts/{contacts.text_id(contact)}"


def upload(visitor: Visitor, home: str, text: str | bytes, **fields: str) -> httpx.Response:
    """Sends a file with the token of the last page, and looks at its import when that has ended, as
    the job of a worker does it.
    """
    answer = send_file(visitor, home, text, **fields)
    if answer.status_code != 303:
        return answer
    imports = Imports(visitor.db)
    while imports.round():
        pass
    return visitor.get(answer.headers["location"])


def send_file(visitor: Visitor, home: str, text: str | bytes, **fields: str) -> httpx.Response:
    """Sends a file with the token of the last page."""
    file = text.encode() if isinstance(text, str) else text
    path = f"{home}/contacts/import"
    return visitor.post(path, fields, files={"file": ("contacts.csv", file, "text/csv")})
