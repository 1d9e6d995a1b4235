"""Groups an account's contacts of one mode by age, some thousands to a search bucket. The database
calls a bucket a shelf.

PostgreSQL's index of trigrams (`contacts_grams`) contains the bucket of each contact. So a search
reads one bucket after the other, newest first, and ends when its page is full. If there are many
matches, it reads no more than a few buckets; if there are few, its cost depends only on the number
of the account's own buckets. A contact never leaves its bucket, which follows from its id alone.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.contacts.contact import ContactOwner, of_owner
from heliograph.contacts.tables import contact_shelves, contacts

# contacts: to look through all of them takes some milliseconds, and a million are in 122 buckets
BUCKET_SIZE: Final = 8_192
_LOWEST: Final = "0" * 32  # the first bucket's first id: no contact is below it

_buckets: Final = contact_shelves.c


def lock_contacts(tx: Connection, owner: ContactOwner) -> None:
    """Waits until nobody else is changing contacts of this owner, and keeps others waiting
    until the transaction ends.
    """
    if tx.dialect.name != "postgresql":
        return  # a writer is alone there anyway
    from sqlalchemy.dialects.postgresql import insert  # not needed on SQLite, and heavy

    first = _bucket_condition(owner) & (_buckets.first_id == _LOWEST)
    if tx.execute(sa.select(_buckets.id).where(first).with_for_update()).one_or_none() is None:
        tx.execute(
            insert(contact_shelves)
            .values(**owner._asdict(), first_id=_LOWEST, size=0)
            .on_conflict_do_nothing()
        )
        tx.execute(sa.select(_buckets.id).where(first).with_for_update()).one()


def assign_buckets(tx: Connection, owner: ContactOwner, new_ids: Sequence[str]) -> list[int | None]:
    """Returns the buckets of contacts that are about to be stored, `new_ids` in ascending order. A
    new bucket begins when the newest is full. On SQLite, which needs no buckets, each is None. Call
    `lock_contacts` first.
    """
    if tx.dialect.name != "postgresql":
        return [None] * len(new_ids)
    lowest = (
        sa.select(_buckets.first_id)
        .where(_bucket_condition(owner), _buckets.first_id <= new_ids[0])
        .order_by(_buckets.first_id.desc())
        .limit(1)
        .scalar_subquery()
    )
    rows = tx.execute(
        sa.select(_buckets.first_id, _buckets.id, _buckets.size)
        .where(_bucket_condition(owner), _buckets.first_id >= lowest)
        .order_by(_buckets.first_id)
    ).all()
    if (
        rows[-1].size + len(new_ids) > BUCKET_SIZE
        and (begins := _begins(tx, owner, new_ids)) is not None
    ):
        made = tx.execute(
            contact_shelves.insert()
            .values(**owner._asdict(), first_id=begins, size=0)
            .returning(_buckets.id)
        ).scalar_one()
        firsts, numbers = (
            [*(row.first_id for row in rows), begins],
            [*(row.id for row in rows), made],
        )
    else:
        firsts, numbers = [row.first_id for row in rows], [row.id for row in rows]
    found = [numbers[bisect_right(firsts, new_id) - 1] for new_id in new_ids]
    for number, count in Counter(found).items():
        tx.execute(
            contact_shelves.update()
            .where(_buckets.id == number, _bucket_condition(owner))
            .values(size=_buckets.size + count)
        )
    return found


def _begins(tx: Connection, owner: ContactOwner, new_ids: Sequence[str]) -> str | None:
    """Returns where a new bucket may begin: above all that is there. None means nowhere yet, for
    these contacts were made by a clock that is behind another's.
    """
    newest = (
        tx.execute(
            sa.select(contacts.c.id).where(of_owner(owner)).order_by(contacts.c.id.desc()).limit(1)
        ).scalar_one_or_none()
        or _LOWEST
    )
    return next((new_id for new_id in new_ids if new_id > newest), None)


def _bucket_condition(owner: ContactOwner) -> sa.ColumnElement[bool]:
    return sa.and_(_buckets.account_id == owner.account_id, _buckets.sandbox.is_(owner.sandbox))
