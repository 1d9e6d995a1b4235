"""Describes campaigns, and finds them."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.states import ACTIVE
from heliograph.accounts.tables import accounts
from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.campaigns import states
from heliograph.campaigns.tables import campaigns
from heliograph.campaigns.template import Template, parse
from heliograph.database.reads import records_of
from heliograph.messages.read import CAMPAIGN_PREFIX


class FileCounts(NamedTuple):
    """Counts the lines of a campaign's file. `left_out` has only the reasons that there are, as
    `LeftOutReason` of `audience/numbers_file.py` has them.
    """

    rows: int
    duplicates: int
    left_out: dict[str, int]


class Audience(NamedTuple):
    """Says whom a campaign is for: all contacts, those with any of the tags, or the numbers of a
    file, which are stored when the campaign is made.
    """

    kind: str  # all, tags, numbers
    tags: tuple[str, ...] = ()
    whole: bool = True  # of numbers: whether its file was read to the end
    size: int = 0  # of numbers: how many were stored; 0 where there are no landmarks
    landmarks: tuple[int, ...] = ()  # of many numbers (`audience/landmarks.py`)
    file: FileCounts | None = None  # of numbers, once their file was read to the end


def audience_of(stored_json: str) -> Audience:
    """Reads the column `audience`."""
    stored = msgspec.json.decode(stored_json)
    return Audience(
        stored["kind"],
        tuple(stored.get("tags", ())),
        stored.get("whole", True),
        stored.get("size", 0),
        tuple(stored.get("landmarks", ())),
        FileCounts(**stored["file"]) if "file" in stored else None,
    )


class AudienceHolder(Protocol):
    """Describes what has an audience: a campaign, or one that is not written down yet."""

    @property
    def group_id(self) -> int: ...
    @property
    def account_id(self) -> str: ...
    @property
    def sandbox(self) -> bool: ...
    @property
    def sender(self) -> str: ...
    @property
    def audience(self) -> Audience: ...


class Campaign(NamedTuple):
    """Holds a row of `campaigns`. `id`, `account_id` and `freezing` are raw."""

    id: str
    group_id: int
    account_id: str
    sandbox: bool
    name: str
    sender: str
    text: str
    audience_json: str
    validity_s: int
    rate: int | None
    status: str
    status_reason: str | None
    waits_for: int | None
    as_far_as_credits_reach: bool
    freezing: str | None
    recipients_total: int
    opted_out: int
    refused: int
    credits_estimated: int | None
    cursor: int
    expanded: bool
    scheduled_at_ms: int | None
    started_at_ms: int | None
    completed_at_ms: int | None
    ended_at_ms: int | None
    created_at_ms: int

    @property
    def audience(self) -> Audience:
        return audience_of(self.audience_json)

    @property
    def template(self) -> Template:
        return parse(self.text)


_COLUMNS: Final = [
    campaigns.c["audience"].label(name) if name == "audience_json" else campaigns.c[name]
    for name in Campaign._fields
]


def needs_filling(campaign: Campaign) -> bool:
    """Returns whether each contact's text has to be made. The numbers of a file have theirs."""
    return campaign.audience.kind != "numbers" and campaign.template.plain is None


def text_id(campaign: Campaign) -> str:
    """Returns the campaign's id in text form, `cmp_…`."""
    return ids.text_of_raw(CAMPAIGN_PREFIX, campaign.id)


def by_id(tx: Connection, campaign_id: str, *, lock: bool = False) -> Campaign:
    """Returns the campaign with this raw id. `lock` keeps it from every other change until the
    transaction ends. Raises NotFound.
    """
    query = sa.select(*_COLUMNS).where(campaigns.c.id == campaign_id)
    row = tx.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise NotFound("There is no such campaign.")
    return Campaign(**row._asdict())


def find(tx: Connection, campaign_text_id: str, *, lock: bool = False) -> Campaign:
    """Returns the campaign with this id in text form (`cmp_…`), of whatever account: this is for
    the operator. `lock` does what it does in `by_id`. Raises NotFound.
    """
    raw = ids.raw_of_text(CAMPAIGN_PREFIX, campaign_text_id)
    if raw is not None:
        with suppress(NotFound):
            return by_id(tx, raw, lock=lock)
    raise NotFound(f"There is no campaign with the id {quote_value(campaign_text_id)}.")


def of_account(
    tx: Connection, account_id: str, campaign_text_id: str, *, sandbox: bool
) -> Campaign:
    """Returns an account's campaign in its mode. Raises NotFound, the same for another account's
    campaign and for none.
    """
    raw = ids.raw_of_text(CAMPAIGN_PREFIX, campaign_text_id)
    found = by_id(tx, raw) if raw is not None else None
    if found is None or (found.account_id, found.sandbox) != (account_id, sandbox):
        raise NotFound("There is no such campaign.")
    return found


def page(
    tx: Connection,
    *,
    limit: int,
    account_id: str | None = None,
    sandbox: bool | None = None,
    status: str | None = None,
    before_id: str | None = None,
) -> list[Campaign]:
    """Returns at most `limit` campaigns, newest first: those made before the one with the raw id
    `before_id`. Without `account_id`, it returns everybody's.
    """
    query = sa.select(*_COLUMNS).order_by(campaigns.c.id.desc()).limit(limit)
    wanted = {
        campaigns.c.account_id: account_id,
        campaigns.c.sandbox: sandbox,
        campaigns.c.status: status,
    }
    for column, value in wanted.items():
        if value is not None:
            query = query.where(column == value)
    if before_id is not None:
        query = query.where(campaigns.c.id < before_id)
    return records_of(Campaign, tx.execute(query))


def of_groups(tx: Connection, account_id: str, group_ids: Sequence[int]) -> dict[int, Campaign]:
    """Returns the campaigns of an account whose messages are of these groups, by their groups."""
    query = sa.select(*_COLUMNS).where(
        campaigns.c.account_id == account_id, campaigns.c.group_id.in_(group_ids)
    )
    found = records_of(Campaign, tx.execute(query))
    return {campaign.group_id: campaign for campaign in found}


def move(tx: Connection, campaign: Campaign, to: str, **values: Any) -> Campaign:
    """Brings a campaign into the state `to`, with further columns. Raises WrongState when it is in
    none of the states that `to` may follow, also if somebody else has just changed it.
    """
    row = tx.execute(
        sa.update(campaigns)
        .where(campaigns.c.id == campaign.id, sa.text(states.CAMPAIGN.may_become(to)))
        .values(status=to, **values)
        .returning(*_COLUMNS)
    ).one_or_none()
    if row is None:
        raise states.wrong_state(by_id(tx, campaign.id).status, to)
    return Campaign(**row._asdict())


def change(tx: Connection, campaign: Campaign, **values: Any) -> Campaign:
    """Sets columns of a campaign whose row is locked, but not its status: that is for `move`."""
    row = tx.execute(
        sa.update(campaigns)
        .where(campaigns.c.id == campaign.id)
        .values(**values)
        .returning(*_COLUMNS)
    ).one()
    return Campaign(**row._asdict())


def is_suspended(tx: Connection, account_id: str) -> bool:
    """Returns whether the account is suspended, or the partner whose customer it is. The account
    is kept from being closed until the transaction ends.
    """
    partner = accounts.alias("partner")
    query = sa.select(accounts.c.status, partner.c.status).select_from(
        accounts.outerjoin(partner, partner.c.id == accounts.c.parent_id)
    )
    statuses = tx.execute(
        query.where(accounts.c.id == account_id).with_for_update(read=True, of=accounts)
    ).one()
    return any(status not in (None, ACTIVE) for status in statuses)
