"""Contacts are stored, changed and deleted here. A transaction that changes contacts of an
account and mode is alone in it until it ends. So equal upserts that race make one contact, and
none waits for another in a circle.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import quotas
from heliograph.base import ids
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.json import encode
from heliograph.contacts.change import ContactPatch, TooManyFields, apply_change, search_text
from heliograph.contacts.contact import Contact, ContactOwner, by_id, by_phone, by_phones, of_owner
from heliograph.contacts.opt_out_history import (
    CHANGE_OCTETS,
    Changer,
    forget_opt_outs,
    record_opt_outs,
)
from heliograph.contacts.opt_outs import (
    OptOutsOfChange,
    store_opt_outs,
    without_opt_ins_of_others,
)
from heliograph.contacts.search_buckets import assign_buckets, lock_contacts
from heliograph.contacts.tables import contacts
from heliograph.database.arrays import literal
from heliograph.opt_outs import OptOutOwner, find_suppressed, is_suppressed

# changes of one transaction: a sixth of a second, for which others of the account wait
AT_ONCE_MAX: Final = 2_000


class PhoneTaken(InvalidRequest):
    """Another contact has this phone."""

    reason = "phone_taken"


class UpsertResult(StrEnum):
    """Lists what can become of a change."""

    CREATED = "created"
    UPDATED = "updated"
    REFUSED = "refused"


class UpsertedContact(NamedTuple):
    """Holds a contact after a change. If `contact` is None, the change was refused, and `why` says
    why. The result is UPDATED even if nothing changed. `before_ms` is when the contact was last
    changed before this, or None for a new one.
    """

    result: UpsertResult
    contact: Contact | None
    why: str = ""
    before_ms: int | None = None


def upsert(
    tx: Connection,
    owner: ContactOwner,
    changes: Sequence[ContactPatch],
    *,
    by: Changer,
    now_ms: int,
) -> list[UpsertedContact]:
    """Makes contacts, or changes them where there is one of that phone; the k-th answer is the k-th
    change's. Of two changes of one phone the second finds what the first left. It takes at most
    AT_ONCE_MAX. `by` is who does it. Raises StorageQuotaReached.
    """
    lock_contacts(tx, owner)
    phones = [_phone(change) for change in changes]
    found = by_phones(tx, owner, set(phones))
    suppressed = find_suppressed(tx, OptOutOwner(owner.account_id, owner.sandbox), set(phones))
    current = dict(found)
    new: dict[str, None] = {}
    touched: dict[str, None] = {}
    results: list[UpsertedContact] = []
    for phone, change in zip(phones, changes, strict=True):
        before = current.get(phone)
        if by.is_import:
            change = without_opt_ins_of_others(change, suppressed.get(phone))
        try:
            after = apply_change(
                before or _blank(change, now_ms, opted_out=phone in suppressed), change, now_ms
            )
        except TooManyFields as error:
            results.append(UpsertedContact(UpsertResult.REFUSED, None, str(error)))
            continue
        current[phone] = after
        if before is None:
            new[phone] = None
        elif after is not before and phone not in new:
            touched[phone] = None
        results.append(
            UpsertedContact(
                UpsertResult.UPDATED if before is not None else UpsertResult.CREATED,
                after,
                before_ms=before and before.updated_at_ms,
            )
        )
    grown = [(found.get(phone), current[phone]) for phone in (*new, *touched)]
    quotas.charge(
        tx,
        owner.account_id,
        quotas.StoredKind.CONTACTS,
        sum(growth(*pair) for pair in grown),
        sandbox=owner.sandbox,
        now_ms=now_ms,
    )
    if new:
        _insert(tx, owner, [current[phone] for phone in new])
    if touched:
        _update(tx, owner, [current[phone] for phone in touched])
    opted = [(current[phone], phone in suppressed) for phone in (*new, *touched)]
    store_opt_outs(tx, owner, OptOutsOfChange.of(opted), by, now_ms=now_ms)
    record_opt_outs(tx, owner, opted, by)
    return results


def update(
    tx: Connection,
    owner: ContactOwner,
    contact_id: str,
    change: ContactPatch,
    *,
    by: Changer,
    now_ms: int,
) -> Contact:
    """Changes the contact with the id `contact_id` in text form. `by` is who does it. Raises
    NotFound, PhoneTaken, StorageQuotaReached.
    """
    lock_contacts(tx, owner)
    before = by_id(tx, owner, contact_id)
    after = apply_change(before, change, now_ms)
    is_out = before.opted_out  # the phone that it has after the change
    if after.phone != before.phone:
        if by_phone(tx, owner, after.phone) is not None:
            raise PhoneTaken(
                f"phone {after.phone} is another contact's.",
                fields=[FieldError("phone", "is another contact's")],
            )
        is_out = is_suppressed(tx, OptOutOwner(owner.account_id, owner.sandbox), after.phone)
        if is_out and "opted_out" not in change.given:
            after = after._replace(opted_out=True)
    if after is not before:
        quotas.charge(
            tx,
            owner.account_id,
            quotas.StoredKind.CONTACTS,
            growth(before, after),
            sandbox=owner.sandbox,
            now_ms=now_ms,
        )
        _update(tx, owner, [after])
        of_change = OptOutsOfChange.of([(after, is_out)])
        if change.opts_out:  # something may be on its way to the old phone, too
            of_change.out.add(before.phone)
        store_opt_outs(tx, owner, of_change, by, now_ms=now_ms)
        record_opt_outs(tx, owner, [(after, before.opted_out)], by)
    return after


def replace_tags(
    tx: Connection,
    owner: ContactOwner,
    changes: Sequence[tuple[Contact, tuple[str, ...]]],
    *,
    now_ms: int,
) -> None:
    """Gives contacts these tags in place of theirs. The caller holds the lock, and has read them
    since. It takes at most AT_ONCE_MAX. Raises StorageQuotaReached.
    """
    touched = [
        (contact, apply_change(contact, ContactPatch(None, {"tags": tags}), now_ms))
        for contact, tags in changes
    ]
    if not touched:
        return
    quotas.charge(
        tx,
        owner.account_id,
        quotas.StoredKind.CONTACTS,
        sum(growth(before, after) for before, after in touched),
        sandbox=owner.sandbox,
        now_ms=now_ms,
    )
    _update(tx, owner, [after for _, after in touched])


def delete(tx: Connection, owner: ContactOwner, contact_id: str) -> None:
    """Deletes the contact with the id `contact_id` in text form. Its phone stays opted out. Raises
    NotFound.
    """
    lock_contacts(tx, owner)
    found = by_id(tx, owner, contact_id)
    forget_opt_outs(tx, found)
    tx.execute(contacts.delete().where(of_owner(owner), contacts.c.id == found.id))


def growth(before: Contact | None, after: Contact) -> int:
    """Returns by how many octets a change makes a contact larger. It returns 0 for a new contact
    that only stores an opt-out, because nobody is refused that. So whoever opts in is charged for
    the records of the opt-out and of the opt-in.
    """
    if before is None:
        is_bare = after.opted_out and not (after.name or after.email or after.tags or after.custom)
        return (
            0
            if is_bare
            else quotas.MEASURES[quotas.StoredKind.CONTACTS].row_octets + _octets(after)
        )
    recorded = 2 * CHANGE_OCTETS if before.opted_out and not after.opted_out else 0
    return recorded + max(0, _octets(after) - _octets(before))


def _octets(contact: Contact) -> int:
    """Returns the octets of a contact's texts. Those that a search looks through stand in its
    row twice.
    """
    return 2 * quotas.octets_of(
        contact.name, contact.email, contact.phone, *contact.tags
    ) + quotas.octets_of(*contact.custom, *contact.custom.values())


def _phone(change: ContactPatch) -> str:
    assert change.phone is not None, "an upsert is by phone"
    return change.phone.digits


def _blank(change: ContactPatch, now_ms: int, *, opted_out: bool) -> Contact:
    assert change.phone is not None
    return Contact(
        ids.raw_of_number(ids.new_number()),
        change.phone.digits,
        change.phone.country_code,
        name=None,
        email=None,
        tags=(),
        custom={},
        opted_out=opted_out,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


_CHANGING: Final = {  # of a row, with the type that PostgreSQL is told
    "id": "uuid",
    "phone": "bigint",
    "country_code": "text",
    "name": "text",
    "email": "text",
    "tags": "text",
    "custom": "text",
    "opted_out": "bool",
    "searched": "text",
    "updated_at_ms": "bigint",
}
_MADE: Final = _CHANGING | {"created_at_ms": "bigint", "shelf": "int"}


def _unnest(columns: dict[str, str]) -> str:
    return (
        f"unnest({', '.join(f'CAST(:{name} AS {kind}[])' for name, kind in columns.items())}) AS v"
        f" ({', '.join(columns)})"
    )


_INSERT: Final = sa.text(
    f"INSERT INTO contacts (account_id, sandbox, {', '.join(_MADE)}) SELECT CAST(:account_id AS"
    f" uuid), :sandbox, {', '.join(_MADE)} FROM {_unnest(_MADE)} ORDER BY id"
)
_UPDATE: Final = sa.text(
    f"UPDATE contacts c SET {', '.join(f'{name} = v.{name}' for name in _CHANGING if name != 'id')}"
    f" FROM {_unnest(_CHANGING)} WHERE c.id = v.id AND c.account_id = CAST(:account_id AS uuid) AND"
    " c.sandbox = :sandbox"
)


def _insert(tx: Connection, owner: ContactOwner, made: Sequence[Contact]) -> None:
    in_order = sorted(made)
    rows = [
        _row(contact) | {"created_at_ms": contact.created_at_ms, "shelf": bucket}
        for contact, bucket in zip(
            in_order, assign_buckets(tx, owner, [contact.id for contact in in_order]), strict=True
        )
    ]
    if tx.dialect.name == "postgresql":
        tx.execute(_INSERT, _columns(rows) | owner._asdict())
    else:
        tx.execute(contacts.insert(), [row | owner._asdict() for row in rows])


def _update(tx: Connection, owner: ContactOwner, touched: Sequence[Contact]) -> None:
    rows = [_row(contact) for contact in touched]
    if tx.dialect.name == "postgresql":
        tx.execute(_UPDATE, _columns(rows) | owner._asdict())
    else:
        changing: dict[str, Any] = {name: sa.bindparam(name) for name in _CHANGING if name != "id"}
        tx.execute(
            contacts.update()
            .where(of_owner(owner), contacts.c.id == sa.bindparam("raw_id"))
            .values(changing),
            [{"raw_id": row.pop("id"), **row} for row in rows],
        )


def _row(contact: Contact) -> dict[str, Any]:
    return {
        "id": contact.id,
        "phone": int(contact.phone),
        "country_code": contact.country_code,
        "name": contact.name,
        "email": contact.email,
        "tags": encode(contact.tags).decode(),
        "custom": encode(contact.custom).decode(),
        "opted_out": contact.opted_out,
        "searched": search_text(contact),
        "updated_at_ms": contact.updated_at_ms,
    }


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Returns each column as one array."""
    return {name: literal([row[name] for row in rows]) for name in rows[0]}
