"""Finds contacts of a campaign's audience without looking at the other contacts of the account: on
PostgreSQL by the index of tags, one search bucket after the other, so that a look that has found
enough ends. SQLite compares the contacts one by one.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.json import encode
from heliograph.campaigns.audience.recipients import (
    OPTED_OUT,
    REACHED,
    AudienceChunk,
    AudienceMember,
    chunk_of,
    groups_of,
    has_any,
    of_account,
)
from heliograph.campaigns.audience.refused_phones import refuses
from heliograph.campaigns.campaign import AudienceHolder, Campaign
from heliograph.contacts import ContactOwner, by_phones
from heliograph.contacts.tables import contact_shelves, contacts
from heliograph.database.reads import records_of

# of an audience, among whom one is looked for who has not opted out
SAMPLED_MAX: Final = 5_000
TOLD: Final = (contacts.c.phone, contacts.c.country_code, contacts.c.name, contacts.c.custom)
_HIGHEST: Final = "f" * 32  # above every contact's id


def count_up_to(tx: Connection, holder: AudienceHolder, most: int) -> int:
    """Returns how many contacts are in the audience, those who opted out too; it counts no more
    than `most`.
    """
    found = in_audience(tx, holder).limit(most).subquery("found")
    return int(tx.execute(sa.select(sa.func.count()).select_from(found)).scalar_one())


def add_up(tx: Connection, campaign: Campaign, digits: int) -> AudienceChunk:
    """Returns all of the audience as one chunk, grouped by their first `digits` digits, when
    everybody's text has the same segments.
    """
    found = in_audience(tx, campaign).subquery("found")
    reach = reach_of(campaign, found.c.phone)
    people = sa.select(found.c.phone, found.c.country_code, reach).subquery("people")
    groups = groups_of(people.c.phone, people, digits, campaign.template.plain_segments)
    return chunk_of(tx.execute(groups).all()) or AudienceChunk(0, 0, 0, [])


def read_up_to(tx: Connection, holder: AudienceHolder, most: int) -> list[AudienceMember]:
    """Returns at most `most` contacts of the audience, with those who opted out."""
    found = in_audience(tx, holder).limit(most).subquery("found")
    reach = reach_of(holder, found.c.phone)
    told = (found.c.country_code, found.c.name, found.c.custom)
    return records_of(AudienceMember, tx.execute(sa.select(found.c.phone, reach, *told)))


def first_reached(tx: Connection, holder: AudienceHolder, most: int) -> list[AudienceMember]:
    """Returns at most `most` contacts of the audience who have not opted out, in the order of their
    numbers. They are looked for among thousands of the audience.
    """
    looked = in_audience(tx, holder).limit(SAMPLED_MAX).subquery("looked")
    reached = sa.select(*looked.c).where(sa.not_(refuses(holder, looked.c.phone))).limit(most)
    rows = tx.execute(reached)
    return sorted(AudienceMember(reach=REACHED, **row._asdict()) for row in rows)


def person(tx: Connection, holder: AudienceHolder, phone: int) -> AudienceMember | None:
    """Returns the contact with this number, else the first of the audience who has not opted
    out.
    """
    owner = ContactOwner(holder.account_id, holder.sandbox)
    contact = by_phones(tx, owner, [str(phone)]).get(str(phone))
    if contact is not None:
        custom = encode(contact.custom).decode()
        return AudienceMember(phone, REACHED, contact.country_code, contact.name, custom)
    return next(iter(first_reached(tx, holder, 1)), None)


def reach_of(holder: AudienceHolder, phone: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """Returns how somebody of the audience stands to the campaign, as the column `reach`."""
    return sa.case((refuses(holder, phone), OPTED_OUT), else_=REACHED).label("reach")


def in_audience(tx: Connection, holder: AudienceHolder) -> sa.Select[Any]:
    """Selects the contacts of the audience: what `AudienceMember` holds, but for `reach`. Whoever
    needs a few of them reads little.
    """
    tags = holder.audience.tags
    if tags and tx.dialect.name == "postgresql":
        bucket = buckets_of(holder).subquery("bucket")
        found = in_bucket(holder, bucket, *TOLD)
        return (
            sa.select(*(found.c[column.name] for column in TOLD))
            .select_from(bucket.join(found, sa.true()))
            .where(of_account(holder, found.c))
        )
    query = sa.select(*TOLD).where(of_account(holder)).order_by(contacts.c.phone)
    if not tags:
        return query
    # it costs a tenth of what reading the tags does, and leaves little to read
    likely = [sa.func.instr(contacts.c.tags, encode(tag).decode()) > 0 for tag in tags]
    return query.where(sa.or_(*likely), has_any(tx, tags))


def buckets_of(holder: AudienceHolder) -> sa.Select[Any]:
    """Selects the search buckets of the contacts, the oldest first. The ids of a bucket's contacts
    begin at `first_id`, and are below `next_id`.
    """
    buckets = contact_shelves.c  # a search bucket is stored as a shelf
    following = sa.func.lead(buckets.first_id).over(order_by=buckets.first_id)
    highest = sa.literal(_HIGHEST, buckets.first_id.type)
    return (
        sa.select(
            buckets.id,
            buckets.first_id,
            sa.func.coalesce(following, highest).label("next_id"),
            buckets.size,
        )
        .where(
            buckets.account_id == holder.account_id, buckets.sandbox == sa.literal(holder.sandbox)
        )
        .order_by(buckets.first_id)
    )


def in_bucket(
    holder: AudienceHolder, bucket: Any, *columns: sa.Column[Any]
) -> sa.sql.selectable.LateralFromClause:
    """Selects these columns, the account and the mode of the contacts of the audience that are in a
    bucket, on PostgreSQL. Whoever takes rows of it asks for the account and the mode.

    A nested loop is the only way to carry it out, and OFFSET 0 keeps it whole
    (docs/decisions/contacts.md, C1). By tags it does not ask for the account, which follows from
    the bucket, so that there is one index for it. For all contacts, no column but the id is in
    the index of the account; so whoever wants more columns looks them up by the id.
    """
    from sqlalchemy.dialects.postgresql import array  # not needed on SQLite, and heavy

    query = sa.select(*columns, contacts.c.account_id, contacts.c.sandbox)
    tags = holder.audience.tags
    if tags:
        keys = array([sa.cast(bucket.c.id, sa.Text) + f".{tag}" for tag in tags])
        has_key = sa.func.contact_tags(contacts.c.shelf, contacts.c.tags).bool_op("&&")(keys)
        # the index has none without tags
        query = query.where(has_key, contacts.c.tags != sa.literal_column("'[]'"))
    else:
        in_range = contacts.c.id >= bucket.c.first_id, contacts.c.id < bucket.c.next_id
        query = query.where(of_account(holder), *in_range)
    return query.offset(sa.literal_column("0")).correlate(bucket).lateral("found")
