"""Describes contacts, and finds them, always by account and mode."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import NotFound
from heliograph.contacts.tables import contacts
from heliograph.database.arrays import literal
from heliograph.database.database import RawId
from heliograph.database.postgresql.planning import without_sorts
from heliograph.database.reads import records_of
from heliograph.opt_outs import WHOLE_ACCOUNT
from heliograph.opt_outs.tables import suppressions

PREFIX: Final = "con"

_tags: Final = msgspec.json.Decoder(list[str])
_custom: Final = msgspec.json.Decoder(dict[str, str])


class ContactOwner(NamedTuple):
    """Says whose contacts are meant, and of which mode. No contact is read without both.
    `account_id` is raw.
    """

    account_id: str
    sandbox: bool


def of_owner(owner: ContactOwner) -> sa.ColumnElement[bool]:
    """Returns the condition that selects the owner's contacts."""
    return sa.and_(contacts.c.account_id == owner.account_id, contacts.c.sandbox.is_(owner.sandbox))


class Contact(NamedTuple):
    """Holds a person whom an account sends to. `id` is raw. `phone` is E.164 digits without plus.
    `opted_out` says that the phone is suppressed for the whole account.
    """

    id: str
    phone: str
    country_code: str | None
    name: str | None
    email: str | None
    tags: tuple[str, ...]
    custom: Mapping[str, str]
    opted_out: bool
    created_at_ms: int
    updated_at_ms: int


_columns: Final = contacts.c
_opted_out: Final = suppressions.c


def _is_opted_out(columns: ReadOnlyColumnCollection[str, Any]) -> sa.ColumnElement[bool]:
    """Returns whether the phone of a contact with these columns is suppressed for the account."""
    return sa.exists().where(
        _opted_out.account_id == columns.account_id,
        _opted_out.sandbox == columns.sandbox,
        _opted_out.phone == columns.phone,
        _opted_out.sender == WHOLE_ACCOUNT.sender,
    )


# The column of this name is for the version before, which knows no suppressions.
OPTED_OUT: Final = _is_opted_out(_columns)


def _read_columns(
    columns: ReadOnlyColumnCollection[str, Any],
) -> tuple[sa.ColumnElement[Any], ...]:
    """Returns what is read of a contact with these columns, as _StoredContact has it."""
    return (
        columns.id,
        columns.phone,
        columns.country_code,
        columns.name,
        columns.email,
        columns.tags,
        columns.custom,
        _is_opted_out(columns).label("opted_out"),
        columns.created_at_ms,
        columns.updated_at_ms,
    )


COLUMNS: Final = _read_columns(_columns)


class _StoredContact(NamedTuple):
    """Holds a row of COLUMNS. An export reads millions of them."""

    id: str
    phone: int
    country_code: str | None
    name: str | None
    email: str | None
    tags: str
    custom: str
    opted_out: bool
    created_at_ms: int
    updated_at_ms: int


def contacts_in(found: sa.Result[Any]) -> list[Contact]:
    """Returns the contacts of rows of COLUMNS."""
    return [
        Contact(
            stored.id,
            str(stored.phone),
            stored.country_code,
            name=stored.name,
            email=stored.email,
            tags=tags_in(stored.tags),
            custom=_custom.decode(stored.custom),
            opted_out=bool(stored.opted_out),
            created_at_ms=stored.created_at_ms,
            updated_at_ms=stored.updated_at_ms,
        )
        for stored in records_of(_StoredContact, found)
    ]


def tags_in(stored: str) -> tuple[str, ...]:
    """Returns the tags of a contact, which are stored as an array of JSON."""
    return tuple(_tags.decode(stored))


def by_id(tx: Connection, owner: ContactOwner, contact_id: str) -> Contact:
    """Returns the contact with the id `contact_id` in text form. Raises NotFound."""
    raw = ids.raw_of_text(PREFIX, contact_id)
    query = sa.select(*COLUMNS).where(of_owner(owner), contacts.c.id == raw)
    found = [] if raw is None else contacts_in(tx.execute(query))
    if not found:
        raise NotFound("There is no such contact.")
    return found[0]


def by_phone(tx: Connection, owner: ContactOwner, phone: str) -> Contact | None:
    """Returns the contact with this phone in E.164 digits, if there is one."""
    return by_phones(tx, owner, [phone]).get(phone)


def by_phones(tx: Connection, owner: ContactOwner, phones: Iterable[str]) -> dict[str, Contact]:
    """Returns the contacts that have these phones, by phone. It takes as many at once as one batch
    of an import holds.
    """
    numbers = sorted(map(int, phones))
    if tx.dialect.name == "postgresql":
        with without_sorts(tx):
            found = contacts_in(tx.execute(_each_of(owner, numbers)))
    else:
        query = sa.select(*COLUMNS).where(of_owner(owner), contacts.c.phone.in_(numbers))
        found = contacts_in(tx.execute(query))
    return {contact.phone: contact for contact in found}


def _each_of(owner: ContactOwner, numbers: Sequence[int]) -> sa.Select[Any]:
    """Looks into the index `contacts_once` once for each number: it reads the first contact that
    does not come before the number, and takes it if it has the number.

    It is to be executed `without_sorts`, because no other index has this order. If it asked for
    equal numbers, PostgreSQL might read all of the owner's contacts for each number, by
    `contacts_by_account`: both indexes seem equally good to it, as long as it has counted no
    contact of a new account, or of a mode.
    """
    array = sa.cast(sa.literal(literal(numbers), sa.Text), sa.ARRAY(sa.BigInteger))
    wanted = sa.func.unnest(array).table_valued("phone").render_derived("wanted")
    order = (_columns.account_id, _columns.sandbox, _columns.phone)
    place = (sa.literal(owner.account_id, RawId), sa.literal(owner.sandbox), wanted.c.phone)
    first = (
        sa.select(contacts)
        .where(sa.tuple_(*order) >= sa.tuple_(*place))
        .order_by(*order)
        .limit(sa.literal_column("1"))
        .lateral("first")
    )
    is_wanted = sa.and_(
        first.c.account_id == owner.account_id,
        first.c.sandbox.is_(owner.sandbox),
        first.c.phone == wanted.c.phone,
    )
    # asked of the found ones only: inside of `first`, PostgreSQL would read all opt-outs there are
    return sa.select(*_read_columns(first.c)).select_from(wanted.join(first, is_wanted))


def page(
    tx: Connection, owner: ContactOwner, *, limit: int, before: str | None = None
) -> list[Contact]:
    """Returns at most `limit` contacts, newest first: those made before the one with the raw id
    `before`.
    """
    query = sa.select(*COLUMNS).where(of_owner(owner)).order_by(contacts.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(contacts.c.id < before)
    return contacts_in(tx.execute(query))


def text_id(contact: Contact) -> str:
    """Returns the contact's id in text form."""
    return ids.text_of_raw(PREFIX, contact.id)


def as_record(contact: Contact, *, sandbox: bool) -> dict[str, Any]:
    """Returns the fields of /contacts (docs/api.md, "Contacts")."""
    return {
        "id": text_id(contact),
        "phone": contact.phone,
        "name": contact.name,
        "email": contact.email,
        "tags": list(contact.tags),
        "country_code": contact.country_code,
        "custom": dict(contact.custom),
        "opted_out": contact.opted_out,
        "sandbox": sandbox,
        "created_at": rfc3339(contact.created_at_ms),
        "updated_at": rfc3339(contact.updated_at_ms),
    }
