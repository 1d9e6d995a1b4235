"""Adds roll-ups: they say what became of messages, by quarter of an hour.

All quarters that have messages are marked here, and counted once the service runs. The version
before marks nothing; what it changes meanwhile is counted within six hours after it has ended.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

ID = sa.Uuid(as_uuid=False)
QUARTER_MS = 900_000


def upgrade() -> None:
    op.create_table(
        "rollups",
        sa.Column("account_id", ID, primary_key=True),
        sa.Column("sandbox", sa.Boolean(), primary_key=True),
        sa.Column(
            "quarter_ms",
            sa.BigInteger(),
            primary_key=True,
            autoincrement=False,
            comment="when the quarter of an hour began",
        ),
        sa.Column(
            "country_code", sa.String(length=2), primary_key=True, comment="empty: not known"
        ),
        sa.Column("sender", sa.String(length=15), primary_key=True),
        sa.Column("type", sa.String(length=8), primary_key=True),
        sa.Column(
            "group_id",
            sa.Integer(),
            primary_key=True,
            autoincrement=False,
            comment="0: of no campaign",
        ),
        sa.Column("segments", sa.BigInteger(), nullable=False),
        sa.Column(
            "credits",
            sa.BigInteger(),
            nullable=False,
            comment="charged, less what was refunded",
        ),
        sa.Column("sent", sa.Integer(), nullable=False),
        sa.Column("delivered", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("carrier_rejected", sa.Integer(), nullable=False),
        sa.Column("undeliverable", sa.Integer(), nullable=False),
        sa.Column("expired", sa.Integer(), nullable=False),
        sa.Column("rejected", sa.Integer(), nullable=False),
        sa.Column("unknown", sa.Integer(), nullable=False),
        sa.Column("canceled", sa.Integer(), nullable=False),
        sa.Column("blocked", sa.Integer(), nullable=False),
        sa.Column("no_route", sa.Integer(), nullable=False),
        sa.Column("within_1_s", sa.Integer(), nullable=False),
        sa.Column("within_2_s", sa.Integer(), nullable=False),
        sa.Column("within_5_s", sa.Integer(), nullable=False),
        sa.Column("within_10_s", sa.Integer(), nullable=False),
        sa.Column("within_30_s", sa.Integer(), nullable=False),
        sa.Column("within_60_s", sa.Integer(), nullable=False),
        sa.Column("within_120_s", sa.Integer(), nullable=False),
        sa.Column("within_300_s", sa.Integer(), nullable=False),
        sa.Column("within_600_s", sa.Integer(), nullable=False),
        sa.Column("within_1800_s", sa.Integer(), nullable=False),
        sa.Column("within_3600_s", sa.Integer(), nullable=False),
        sa.Column("within_10800_s", sa.Integer(), nullable=False),
        sa.Column("within_21600_s", sa.Integer(), nullable=False),
        sa.Column("within_43200_s", sa.Integer(), nullable=False),
        sa.Column("within_86400_s", sa.Integer(), nullable=False),
        sa.Column("later", sa.Integer(), nullable=False),
    )
    op.create_index("rollups_by_quarter", "rollups", ["quarter_ms"])
    op.create_table(
        "rollup_marks",
        sa.Column("quarter_ms", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("slot", sa.SmallInteger(), primary_key=True, autoincrement=False),
        sa.Column(
            "until_ms",
            sa.BigInteger(),
            nullable=False,
            comment="its messages may change until then",
        ),
    )
    _mark_all()


def _mark_all() -> None:
    """Marks all quarters of an hour that have messages. Each is found by the index of ids."""
    connection = op.get_bind()
    messages = sa.table("messages", sa.column("id", ID))
    marks = sa.table(
        "rollup_marks", *(sa.column(name) for name in ("quarter_ms", "slot", "until_ms"))
    )
    at_ms = 0
    while True:
        first = sa.literal(f"{at_ms << 80:032x}", ID)
        query = (
            sa.select(messages.c.id).where(messages.c.id >= first).order_by(messages.c.id).limit(1)
        )
        found = connection.execute(query).scalar()
        if found is None:
            return
        found_ms = int(found.replace("-", ""), 16) >> 80
        quarter_ms = found_ms - found_ms % QUARTER_MS
        connection.execute(sa.insert(marks).values(quarter_ms=quarter_ms, slot=-1, until_ms=0))
        at_ms = quarter_ms + QUARTER_MS
