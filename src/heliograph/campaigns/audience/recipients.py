"""Reads a campaign's audience piece by piece, in the order of the phone numbers: its contacts as
they are now, or the recipients that are stored.

Every statement reads a limited number of people, who come after a phone number. So none of them
holds up others, however large the audience is.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import quotas
from heliograph.base import clock
from heliograph.campaigns.audience.refused_phones import refuses
from heliograph.campaigns.campaign import AudienceHolder, Campaign
from heliograph.campaigns.tables import campaign_recipients
from heliograph.campaigns.template import NAME
from heliograph.contacts.tables import contacts
from heliograph.database.arrays import literal
from heliograph.database.reads import records_of

# On PostgreSQL each parameter but the first is an array of the field's values, in the rows' order.
_INTO: Final = (
    "INSERT INTO campaign_recipients (group_id, recipient, country_code, text, encoding, segments)"
)
_STORE: Final = sa.text(f"""
    {_INTO} SELECT :group_id, unnest(CAST(:recipient AS bigint[])),
        unnest(CAST(:country_code AS text[])), unnest(CAST(:text AS text[])),
        unnest(CAST(:encoding AS text[])), unnest(CAST(:segments AS smallint[]))
    ON CONFLICT DO NOTHING""")
_STORE_SQLITE: Final = sa.text(f"""
    {_INTO} VALUES (:group_id, :recipient, :country_code, :text, :encoding, :segments)
    ON CONFLICT DO NOTHING""")

OUTSIDE: Final = 0  # how a contact stands to a campaign: not of its audience
OPTED_OUT: Final = 1
REACHED: Final = 2
_OUTSIDE: Final = sa.literal_column(str(OUTSIDE), sa.Integer)
_OPTED_OUT: Final = sa.literal_column(str(OPTED_OUT), sa.Integer)
_REACHED: Final = sa.literal_column(str(REACHED), sa.Integer)


class Group(NamedTuple):
    """Counts recipients whose numbers begin with the same digits, in one country, and their
    segments in all.
    """

    digits: str
    country_code: str | None
    recipients: int
    segments: int


class CampaignRecipient(NamedTuple):
    """Holds a row of `campaign_recipients` without its group. The last three fields are None if all
    get the same text.
    """

    recipient: int
    country_code: str | None
    text: str | None = None
    encoding: str | None = None
    segments: int | None = None


class AudienceChunk(NamedTuple):
    """Holds the recipients up to and including the number `upto`, of whom `people` were looked at.
    `groups` are the ones who get a text.
    """

    upto: int
    people: int
    opted_out: int
    groups: list[Group]


class AudienceMember(NamedTuple):
    """Holds a contact that was looked at. All but the number is None for those who get no text."""

    phone: int
    reach: int  # OUTSIDE, OPTED_OUT, REACHED
    country_code: str | None
    name: str | None
    custom: str | None


class Contacts:
    """Reads the contacts of a campaign's account and mode."""

    def __init__(self, campaign: AudienceHolder) -> None:
        self._campaign = campaign
        self._of_account = of_account(campaign)
        self._refuses = refuses(campaign, contacts.c.phone)

    def read_chunk(
        self, tx: Connection, after: int, size: int, digits: int, segments: int, *, write: bool
    ) -> AudienceChunk | None:
        """Returns the next `size` contacts, grouped by their first `digits` digits, when
        everybody's text has `segments`. With `write`, the database stores them, too. Returns None
        if there is nobody behind `after`. Raises StorageQuotaReached.
        """
        part = self._next(tx, after, size, contacts.c.country_code).cte("part")
        reached = part.c.reach == _REACHED
        found = groups_of(part.c.phone, part, digits, segments)
        writing = sa.insert(campaign_recipients).from_select(
            ["group_id", "recipient", "country_code"],
            sa.select(sa.literal(self._campaign.group_id), part.c.phone, part.c.country_code).where(
                reached
            ),
        )
        if write and tx.dialect.name == "postgresql":  # one look at the contacts does for both
            chunk = chunk_of(tx.execute(found.add_cte(writing.cte("written"))).all())
        else:
            chunk = chunk_of(tx.execute(found).all())
            if write and chunk is not None:
                tx.execute(writing)
        if write and chunk is not None:
            charge_recipients(tx, self._campaign, sum(group.recipients for group in chunk.groups))
        return chunk

    def people(self, tx: Connection, after: int, size: int) -> list[AudienceMember]:
        """Returns the next `size` contacts, in the order of their numbers."""
        part = self._next(
            tx, after, size, contacts.c.country_code, contacts.c.name, contacts.c.custom
        ).subquery("part")
        of_reached = [
            sa.case((part.c.reach == _REACHED, part.c[name])).label(name)
            for name in ("country_code", "name", "custom")
        ]
        return records_of(
            AudienceMember, tx.execute(sa.select(part.c.phone, part.c.reach, *of_reached))
        )

    def nobody_has(self, tx: Connection, name: str) -> bool:
        """Returns whether none of the audience has a value for this placeholder. The first who
        has one is enough.
        """
        value = contacts.c.name != "" if name == NAME else _has_custom(tx, name)
        return (
            tx.execute(
                sa.select(contacts.c.phone).where(*self._audience(tx), value).limit(1)
            ).first()
            is None
        )

    def count_reached(self, tx: Connection) -> int:
        """Returns how many of the audience have not opted out."""
        return int(
            tx.execute(
                sa.select(sa.func.count()).select_from(contacts).where(*self._audience(tx))
            ).scalar_one()
        )

    def size(self, tx: Connection) -> int:
        """Returns how many contacts there are, of whatever audience."""
        return int(
            tx.execute(
                sa.select(sa.func.count()).select_from(contacts).where(self._of_account)
            ).scalar_one()
        )

    def _audience(self, tx: Connection) -> list[sa.ColumnElement[bool]]:
        tags = self._campaign.audience.tags
        return [
            self._of_account,
            sa.not_(self._refuses),
            *([has_any(tx, tags)] if tags else []),
        ]

    def _next(self, tx: Connection, after: int, size: int, *more: sa.Column[Any]) -> sa.Select[Any]:
        tags = self._campaign.audience.tags
        outside = [(sa.not_(has_any(tx, tags)), _OUTSIDE)] if tags else []
        reach = sa.case(*outside, (self._refuses, _OPTED_OUT), else_=_REACHED).label("reach")
        return (
            sa.select(contacts.c.phone, reach, *more)
            .where(self._of_account, contacts.c.phone > after)
            .order_by(contacts.c.phone)
            .limit(size)
        )


class WrittenRecipients:
    """Reads the recipients of a campaign that are written down."""

    def __init__(self, campaign: Campaign) -> None:
        self._group = campaign_recipients.c.group_id == campaign.group_id
        self._refuses = refuses(campaign, campaign_recipients.c.recipient)

    def read_chunk(
        self, tx: Connection, after: int, size: int, digits: int, segments: int, *, write: bool
    ) -> AudienceChunk | None:
        """Returns the next `size` recipients, grouped, or None when there is nobody behind `after`.
        `segments` counts the segments of a text that everybody gets.

        With `write`, those who want no campaigns now are marked, in place of what an earlier look
        has marked. These marks are counted, for the contacts are asked once.
        """
        upto = self._last_of_chunk(tx, after, size)
        if upto is None:
            return None
        table, is_out = campaign_recipients.c, self._refuses
        if write:
            other = sa.update(campaign_recipients).where(
                *self._within(after, upto), table.opted_out != is_out
            )
            tx.execute(other.values(opted_out=sa.not_(table.opted_out)))
            is_out = table.opted_out
        found = self._groups(tx, self._within(after, upto), is_out, digits, segments)
        # somebody may just have erased them
        return AudienceChunk(upto, 0, 0, []) if found is None else found

    def add_up(self, tx: Connection, digits: int, segments: int) -> AudienceChunk:
        """Returns all recipients as one chunk, grouped by their first `digits` digits. `segments`
        counts the segments of a text that everybody gets.
        """
        found = self._groups(tx, [self._group], self._refuses, digits, segments)
        return found or AudienceChunk(0, 0, 0, [])

    def text_of(self, tx: Connection, phone: int) -> str | None:
        """Returns the text of the recipient with this number, else of the first who gets one."""
        recipient, text = campaign_recipients.c.recipient, campaign_recipients.c.text
        its: str | None = tx.execute(
            sa.select(text).where(self._group, recipient == phone)
        ).scalar_one_or_none()
        if its is not None:
            return its
        return next(iter(self.first(tx, 1).values()), None)

    def first(self, tx: Connection, most: int) -> dict[int, str | None]:
        """Returns the first numbers that get a text, with it; None where all get the same."""
        recipient, text = campaign_recipients.c.recipient, campaign_recipients.c.text
        found = (
            sa.select(recipient, text)
            .where(self._group, sa.not_(campaign_recipients.c.opted_out))
            .order_by(recipient)
            .limit(most)
        )
        return {row.recipient: row.text for row in tx.execute(found)}

    def size(self, tx: Connection, *, most: int | None = None) -> int:
        """Returns how many recipients there are; it counts no more than `most`."""
        found = sa.select(campaign_recipients.c.recipient).where(self._group).limit(most)
        return int(
            tx.execute(sa.select(sa.func.count()).select_from(found.subquery())).scalar_one()
        )

    def drop(self, tx: Connection, after: int, size: int) -> int | None:
        """Removes the next `size` recipients. Returns the number of the last one, or None when
        there was nobody.
        """
        upto = self._last_of_chunk(tx, after, size)
        if upto is not None:
            tx.execute(sa.delete(campaign_recipients).where(*self._within(after, upto)))
        return upto

    def _groups(
        self,
        tx: Connection,
        within: Sequence[sa.ColumnElement[bool]],
        is_out: sa.ColumnElement[bool],
        digits: int,
        segments: int,
    ) -> AudienceChunk | None:
        table = campaign_recipients.c
        reach = sa.case((is_out, _OPTED_OUT), else_=_REACHED).label("reach")
        part = (
            sa.select(table.recipient, table.country_code, table.segments, reach)
            .where(*within)
            .cte("part")
        )
        counted = sa.func.coalesce(part.c.segments, segments)
        return chunk_of(tx.execute(groups_of(part.c.recipient, part, digits, counted)).all())

    def _last_of_chunk(self, tx: Connection, after: int, size: int) -> int | None:
        recipient = campaign_recipients.c.recipient
        numbers = (
            sa.select(recipient)
            .where(self._group, recipient > after)
            .order_by(recipient)
            .limit(size)
            .subquery()
        )
        upto: int | None = tx.execute(sa.select(sa.func.max(numbers.c.recipient))).scalar_one()
        return upto

    def _within(self, after: int, upto: int) -> list[sa.ColumnElement[bool]]:
        recipient = campaign_recipients.c.recipient
        return [self._group, recipient > after, recipient <= upto]


def store(tx: Connection, campaign: Campaign, rows: Sequence[CampaignRecipient]) -> int:
    """Stores recipients of a campaign, in their order, and returns how many are new. Raises
    StorageQuotaReached.
    """
    if not rows:
        return 0
    group_id = campaign.group_id
    charge_recipients(tx, campaign, len(rows), quotas.octets_of(*(row.text for row in rows)))
    if tx.dialect.name == "postgresql":
        arrays = {
            field: literal([getattr(row, field) for row in rows])
            for field in CampaignRecipient._fields
        }
        return tx.execute(_STORE, {"group_id": group_id, **arrays}).rowcount
    return tx.execute(
        _STORE_SQLITE, [{"group_id": group_id, **row._asdict()} for row in rows]
    ).rowcount


def charge_recipients(
    tx: Connection, campaign: AudienceHolder, recipients: int, text_octets: int = 0
) -> None:
    """Counts `recipients` more that are written down. Raises StorageQuotaReached."""
    quotas.charge(
        tx,
        campaign.account_id,
        quotas.StoredKind.RECIPIENTS,
        recipients * quotas.MEASURES[quotas.StoredKind.RECIPIENTS].row_octets + text_octets,
        sandbox=campaign.sandbox,
        now_ms=clock.now_ms(),
    )


def of_account(campaign: AudienceHolder, of: Any = contacts.c) -> sa.ColumnElement[bool]:
    """Returns the condition that selects the contacts of a campaign's account and mode. `of` has
    the columns.
    """
    return sa.and_(of.account_id == campaign.account_id, of.sandbox == sa.literal(campaign.sandbox))


def groups_of(
    number: sa.ColumnElement[int],
    people: sa.FromClause,
    digits: int,
    segments: sa.ColumnElement[int] | int,
) -> sa.Select[Any]:
    """Selects groups of people, for `chunk_of`. `people` has their `reach` and `country_code`."""
    first = sa.func.substr(sa.cast(number, sa.Text), 1, sa.literal_column(str(digits)))
    return sa.select(
        people.c.reach,
        first.label("first_digits"),
        people.c.country_code.label("country_code"),
        sa.func.count().label("people"),
        sa.func.sum(segments).label("segments"),
        sa.func.max(number).label("highest"),
    ).group_by(sa.text("1, 2, 3"))


def chunk_of(rows: Sequence[Any]) -> AudienceChunk | None:
    """Returns the chunk of people whom `groups_of` has selected, or None when there is nobody."""
    if not rows:
        return None
    return AudienceChunk(
        max(row.highest for row in rows),
        sum(row.people for row in rows),
        sum(row.people for row in rows if row.reach == OPTED_OUT),
        [
            Group(row.first_digits, row.country_code, row.people, int(row.segments))
            for row in rows
            if row.reach == REACHED
        ],
    )


def _has_custom(tx: Connection, name: str) -> sa.ColumnElement[bool]:
    if tx.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import JSONB  # not needed on SQLite, and heavy

        return sa.func.jsonb_extract_path_text(sa.cast(contacts.c.custom, JSONB), name) != ""
    each: Any = sa.func.json_each(contacts.c.custom).table_valued("key", "value")
    return sa.exists(
        sa.select(sa.literal(1)).select_from(each).where(each.c.key == name, each.c.value != "")
    )


def has_any(tx: Connection, tags: Sequence[str]) -> sa.ColumnElement[bool]:
    """Returns the condition that a contact has any of the tags."""
    if tx.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import ARRAY, JSONB  # not needed on SQLite, and heavy

        return sa.func.jsonb_exists_any(
            sa.cast(contacts.c.tags, JSONB), sa.cast(list(tags), ARRAY(sa.Text))
        )
    each: Any = sa.func.json_each(contacts.c.tags).table_valued("value")
    return sa.exists(sa.select(sa.literal(1)).select_from(each).where(each.c.value.in_(tags)))
