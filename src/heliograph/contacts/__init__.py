"""This room knows contacts: the people an account sends to. Files of contacts are read and
written by `import_file.py`, `csv_file.py` and `export_file.py`, which the commands import.
"""

from heliograph.contacts.api import endpoints
from heliograph.contacts.change import Change, read_change
from heliograph.contacts.contact import Contact, World, as_record, by_id, by_phone, page, text_id
from heliograph.contacts.fields import read_tags
from heliograph.contacts.search import search
from heliograph.contacts.store import delete, update, upsert

__all__ = [
    "Change",
    "Contact",
    "World",
    "as_record",
    "by_id",
    "by_phone",
    "delete",
    "endpoints",
    "page",
    "read_change",
    "read_tags",
    "search",
    "text_id",
    "update",
    "upsert",
]
