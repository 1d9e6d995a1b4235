"""Makes files of contacts, and reads the contacts that are stored."""

from pathlib import Path
from typing import Any

from heliograph import contacts
from heliograph.contacts import ContactOwner
from heliograph.database.database import Database


def write(folder: Path, text: str | bytes, name: str = "contacts.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def kept(db: Database, account_id: str, *, sandbox: bool = False) -> dict[str, Any]:
    """Returns contacts by phone, without what no file tells."""
    with db.read() as tx:
        found = contacts.page(tx, ContactOwner(account_id, sandbox), limit=10_000)
    assert len({contact.phone for contact in found}) == len(found)
    return {
        contact.phone: contact._replace(id="", created_at_ms=0, updated_at_ms=0)
        for contact in found
    }
