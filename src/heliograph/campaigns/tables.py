"""Defines the tables of campaigns and of their recipients."""

import sqlalchemy as sa

from heliograph.campaigns.states import CAMPAIGN
from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where
from heliograph.messages.tables import GROUP_ID

NAME_MAX = 128
STATUSES = CAMPAIGN.states

campaigns = sa.Table(
    "campaigns",
    metadata,
    sa.Column("id", RawId, primary_key=True),
    sa.Column(
        "group_id",
        GROUP_ID,
        sa.ForeignKey("groups.id"),
        nullable=False,
        unique=True,
        comment="of its messages",
    ),
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("name", sa.String(NAME_MAX), nullable=False),
    sa.Column("sender", sa.String(64), nullable=False, comment="as it was asked for"),
    sa.Column("text", sa.Text, nullable=False, comment="with its placeholders"),
    sa.Column(
        "audience",
        sa.Text,
        nullable=False,
        comment='JSON: {"kind": "all" | "tags" | "numbers", "tags": [...]}',
    ),
    sa.Column(
        "validity_s",
        sa.Integer,
        nullable=False,
        comment="of its messages, each from when it is queued",
    ),
    sa.Column(
        "rate",
        sa.Integer,
        nullable=True,
        comment="messages a second at most; null: as fast as carriers take them",
    ),
    sa.Column("status", sa.String(9), nullable=False),
    sa.Column("status_reason", sa.String(64), nullable=True),
    sa.Column(
        "waits_for",
        sa.BigInteger,
        nullable=True,
        comment="credits that the next recipient costs, when it is paused for want of them",
    ),
    sa.Column("as_far_as_credits_reach", sa.Boolean, nullable=False),
    sa.Column(
        "freezing",
        RawId,
        nullable=True,
        comment="who is just writing down its audience: a later one takes that over",
    ),
    sa.Column(
        "recipients_total", sa.Integer, nullable=False, comment="the frozen audience; 0 before"
    ),
    sa.Column(
        "opted_out",
        sa.Integer,
        nullable=False,
        comment="left out, when the audience was frozen or since",
    ),
    sa.Column(
        "refused",
        sa.Integer,
        nullable=False,
        comment="of the audience: no route, no rate, or a country that is not allowed",
    ),
    sa.Column(
        "credits_estimated",
        sa.BigInteger,
        nullable=True,
        comment="what the whole audience costs, as it was when it was launched",
    ),
    sa.Column(
        "cursor",
        sa.BigInteger,
        nullable=False,
        comment="the last recipient that has become a message, or was left out",
    ),
    sa.Column("expanded", sa.Boolean, nullable=False, comment="there is nobody behind the cursor"),
    sa.Column("scheduled_at_ms", sa.BigInteger, nullable=True),
    sa.Column("started_at_ms", sa.BigInteger, nullable=True),
    sa.Column("completed_at_ms", sa.BigInteger, nullable=True),
    sa.Column(
        "ended_at_ms",
        sa.BigInteger,
        nullable=True,
        comment="completed, canceled or failed: nothing will be sent any more",
    ),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.CheckConstraint(CAMPAIGN.is_in(*CAMPAIGN.states), name="campaigns_status"),
    sa.Index("campaigns_by_account", "account_id", "sandbox", "id"),
    sa.Index(
        "campaigns_at_work",
        "id",
        **only_where("ended_at_ms IS NULL"),
    ),
)

# The key makes a recipient unique within a campaign, and its order is that of expansion: neighbours
# have the same carrier.
campaign_recipients = sa.Table(
    "campaign_recipients",
    metadata,
    sa.Column("group_id", GROUP_ID, primary_key=True, autoincrement=False),
    sa.Column(
        "recipient",
        sa.BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="E.164 digits as a number",
    ),
    sa.Column("country_code", sa.String(2), nullable=True),
    sa.Column(
        "text",
        sa.Text,
        nullable=True,
        comment="placeholders filled in; this and the next two: null where all get the same",
    ),
    sa.Column("encoding", sa.String(5), nullable=True),
    sa.Column("segments", sa.SmallInteger, nullable=True),
    sa.Column(
        "opted_out",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment=(
            "of a file's numbers: who was left out when the audience was frozen; contacts that are"
            " have no row"
        ),
    ),
)
