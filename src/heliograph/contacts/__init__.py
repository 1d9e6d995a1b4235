"""Manages contacts, the people an account sends to. Files of contacts are read and written by
`import_file.py`, `csv_file.py` and `export_file.py`, which the commands import.
"""

from heliograph.contacts.change import ContactPatch, read_contact_request
from heliograph.contacts.contact import (
    Contact,
    ContactOwner,
    as_record,
    by_id,
    by_phone,
    by_phones,
    page,
    text_id,
)
from heliograph.contacts.opt_out_history import (
    OPERATOR,
    Changer,
    ChangerKind,
    opt_out_history,
)
from heliograph.contacts.search import NEEDLE_MAX, newest, search
from heliograph.contacts.search_buckets import lock_contacts
from heliograph.contacts.store import delete, update, upsert

__all__ = [
    "NEEDLE_MAX",
    "OPERATOR",
    "Changer",
    "ChangerKind",
    "Contact",
    "ContactOwner",
    "ContactPatch",
    "api",
    "as_record",
    "by_id",
    "by_phone",
    "by_phones",
    "csv_cells",
    "csv_file",
    "delete",
    "export_file",
    "fields",
    "import_file",
    "lock_contacts",
    "newest",
    "opt_out_history",
    "page",
    "read_contact_request",
    "search",
    "stored_import",
    "tag_many",
    "text_id",
    "update",
    "upsert",
]
