"""Prices a sample of a large audience: as many people as a page has time for, from all over it,
each of whom stands for as many others.

Contacts that came together are often alike, such as the rows of one file. So on PostgreSQL the
sample has a few of each search bucket of the account. On SQLite it has one of each so many of the
audience. Of the numbers of a file it has a few behind each landmark.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.campaigns.audience import members
from heliograph.campaigns.audience.fill_in import Filling
from heliograph.campaigns.audience.landmarks import read_at_landmarks
from heliograph.campaigns.audience.price import Pricing
from heliograph.campaigns.audience.recipients import (
    OPTED_OUT,
    REACHED,
    AudienceChunk,
    AudienceMember,
    CampaignRecipient,
    Group,
    WrittenRecipients,
    of_account,
)
from heliograph.campaigns.campaign import AudienceHolder, Campaign
from heliograph.campaigns.tables import campaign_recipients
from heliograph.campaigns.template import Template
from heliograph.contacts.tables import contacts

LOOKED_AT: Final = 1_000  # people in all; a page fills their texts in within 20 ms
BUCKETS_MAX: Final = 125  # that are looked into, of all that the account has
BUCKETS_COUNTED: Final = 8  # in which all of the audience are counted: 65,536 at most


class Stratum(NamedTuple):
    """Holds people of the audience who were looked at, each of whom stands for `weight` of it."""

    weight: int
    people: Sequence[AudienceMember]


def price_sample(tx: Connection, campaign: Campaign, pricing: Pricing) -> int:
    """Adds what the whole audience would cost, by a sample of it. Returns how many people the
    sample has.
    """
    if campaign.audience.kind == "numbers":
        return _price_numbers(tx, campaign, pricing)
    strata = (
        _of_buckets(tx, campaign) if tx.dialect.name == "postgresql" else [_at_steps(tx, campaign)]
    )
    for stratum in strata:
        price_stratum(campaign.template, stratum, pricing)
    return sum(len(stratum.people) for stratum in strata)


def price_stratum(template: Template, stratum: Stratum, pricing: Pricing) -> None:
    """Adds what people cost, with those for whom they stand."""
    weight, filling = stratum.weight, Filling(template)
    groups = filling.groups(_recipients(template, filling, stratum.people), pricing.digits)
    for counts in (filling.unsendable, filling.lacking):
        counts.update({name: count * (weight - 1) for name, count in counts.items()})
    opted_out = sum(person.reach == OPTED_OUT for person in stratum.people)
    pricing.add(AudienceChunk(0, 0, opted_out * weight, _weighted(groups, weight)), filling)


def _recipients(
    template: Template, filling: Filling, people: Sequence[AudienceMember]
) -> list[CampaignRecipient]:
    segments = template.plain_segments
    if not segments:
        return filling.recipients(people)
    return [
        CampaignRecipient(person.phone, person.country_code, segments=segments)
        for person in people
        if person.reach == REACHED
    ]


def _weighted(groups: Sequence[Group], weight: int) -> list[Group]:
    return [
        group._replace(recipients=group.recipients * weight, segments=group.segments * weight)
        for group in groups
    ]


def _price_numbers(tx: Connection, campaign: Campaign, pricing: Pricing) -> int:
    """Adds what the numbers of a file cost. Their texts are stored, or all get the same."""
    segments = campaign.template.plain_segments
    if campaign.audience.landmarks:
        found, size = read_at_landmarks(tx, campaign), campaign.audience.size
    else:  # it is of the version before
        found, size = _numbers_at_steps(tx, campaign)
    reached = [
        CampaignRecipient(person.phone, person.country_code, segments=of_text or segments)
        for person, of_text in found
        if person.reach == REACHED
    ]

    def all_of(people: int) -> int:
        return round(people * size / len(found))

    filling = Filling(campaign.template)
    groups = [
        group._replace(recipients=all_of(group.recipients), segments=all_of(group.segments))
        for group in filling.groups(reached, pricing.digits)
    ]
    opted_out = all_of(len(found) - len(reached)) if found else 0
    pricing.add(AudienceChunk(0, 0, opted_out, groups), filling)
    return len({person.phone for person, _ in found})


def _numbers_at_steps(
    tx: Connection, campaign: Campaign
) -> tuple[list[tuple[AudienceMember, int | None]], int]:
    """Returns one of each so many numbers, with the segments of their own texts, and for how many
    all of them stand. Every number's place is read: 0.4 s for a million.
    """
    step = max(1, WrittenRecipients(campaign).size(tx) // LOOKED_AT)
    table, place = campaign_recipients.c, sa.func.row_number()
    placed = (
        sa.select(*table, place.over(order_by=table.recipient).label("place"))
        .where(table.group_id == campaign.group_id)
        .subquery("placed")
    )
    reach = members.reach_of(campaign, placed.c.recipient)
    query = sa.select(placed.c.recipient, placed.c.country_code, placed.c.segments, reach)
    found = [
        (AudienceMember(row.recipient, row.reach, row.country_code, None, None), row.segments)
        for row in tx.execute(query.where(_is_picked(placed.c.place, step)))
    ]
    return found, step * len(found)


def _is_picked(place: sa.ColumnElement[int], step: int) -> sa.ColumnElement[bool]:
    """Returns the condition that picks one of each `step` rows, numbered from 1: not always the
    same one, because every second row of a file may be like every other second one.
    """
    before = sa.cast(place - 1, sa.Integer)
    return before % step == before // step * 37 % step


def _at_steps(tx: Connection, holder: AudienceHolder) -> Stratum:
    """Takes one of each so many of the audience, in the order of their numbers."""
    found = members.in_audience(tx, holder).subquery("found")
    size = tx.execute(sa.select(sa.func.count()).select_from(found)).scalar_one()
    step = max(1, size // LOOKED_AT)
    place = sa.func.row_number().over(order_by=found.c.phone)
    placed = sa.select(*found.c, place.label("place")).subquery("placed")
    told = [column for column in placed.c if column.name != "place"]
    rows = tx.execute(
        sa.select(*told, members.reach_of(holder, placed.c.phone)).where(
            _is_picked(placed.c.place, step)
        )
    )
    return Stratum(step, [AudienceMember(**row._asdict()) for row in rows])


def _of_buckets(tx: Connection, holder: AudienceHolder) -> list[Stratum]:
    """Takes the first of the audience in each bucket that has some."""
    buckets = tx.execute(members.buckets_of(holder)).all()
    asked = _evenly(buckets, BUCKETS_MAX)
    each = LOOKED_AT // BUCKETS_MAX
    found = _first_of_each(tx, holder, [bucket.id for bucket in asked], each)
    if found and len(found) < BUCKETS_MAX // 2:  # there is time for more of each
        each = LOOKED_AT // len(found)
        found = _first_of_each(tx, holder, list(found), each)
    looked_into = [bucket for bucket in asked if bucket.id in found]
    full = [bucket for bucket in looked_into if len(found[bucket.id]) == each]
    share = _share(tx, holder, _evenly(full, BUCKETS_COUNTED))
    stands_for = len(buckets) / max(1, len(asked))
    return [
        Stratum(
            round(max(bucket.size * share / each, 1) * stands_for)
            if len(found[bucket.id]) == each
            else round(stands_for),
            found[bucket.id],
        )
        for bucket in looked_into
    ]


def _first_of_each(
    tx: Connection, holder: AudienceHolder, bucket_ids: Sequence[int], each: int
) -> dict[int, list[AudienceMember]]:
    """Returns at most `each` of the audience in each bucket, by the bucket."""
    bucket = members.buckets_of(holder).subquery("bucket")
    found = members.in_bucket(holder, bucket, contacts.c.id)
    # A LIMIT would let PostgreSQL believe that reading all contacts finds as many sooner.
    placed = sa.select(*found.c, sa.func.row_number().over().label("place")).select_from(found)
    first = placed.correlate(bucket).lateral("first")
    its = (first.c.id == contacts.c.id) & of_account(holder)
    reach = members.reach_of(holder, contacts.c.phone)
    query = (
        sa.select(*members.TOLD, reach, bucket.c.id.label("bucket"))
        .select_from(bucket.join(first, sa.true()).join(contacts, its))
        .where(bucket.c.id.in_(bucket_ids), first.c.place <= each, of_account(holder, first.c))
    )
    people: dict[int, list[AudienceMember]] = {}
    for row in tx.execute(query):
        values = row._asdict()
        people.setdefault(values.pop("bucket"), []).append(AudienceMember(**values))
    return people


def _share(tx: Connection, holder: AudienceHolder, counted_in: Sequence[Any]) -> float:
    """Returns how many of the audience there are for each contact that was ever put into these
    buckets.
    """
    bucket = members.buckets_of(holder).subquery("bucket")
    found = members.in_bucket(holder, bucket, contacts.c.id)
    query = (
        sa.select(sa.func.count())
        .select_from(bucket.join(found, sa.true()))
        .where(bucket.c.id.in_([bucket.id for bucket in counted_in]), of_account(holder, found.c))
    )
    there = int(tx.execute(query).scalar_one()) if counted_in else 0
    return there / float(max(1, sum(bucket.size for bucket in counted_in)))


def _evenly(buckets: Sequence[Any], most: int) -> Sequence[Any]:
    """Returns at most `most` of the buckets, from all over them."""
    return buckets[:: max(1, -(-len(buckets) // most))]
