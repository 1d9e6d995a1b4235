"""Roll-ups: what became of messages, by quarter of an hour. They are filled from the messages that are stored.

The version before does not keep them: stop all its processes before this. Whatever one of them changes meanwhile
is missing, and `heliograph ledger verify` names it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

ID = sa.Uuid(as_uuid=False)
DAY_MS = 86_400_000  # of messages in one statement: what it sorts fits into the memory
STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400)
CODES = (
    "carrier_rejected",
    "undeliverable",
    "expired",
    "rejected",
    "unknown",
    "canceled",
    "blocked",
    "no_route",
)
DELAY = "(m.delivered_at_ms - s.created_at_ms)"


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
        sa.Column("slot", sa.SmallInteger(), autoincrement=False, primary_key=True),
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
    _fill()


def _fill() -> None:
    """Counts the stored messages, those of one day after the other: a range of ids."""
    connection = op.get_bind()
    messages = sa.table("messages", sa.column("id", ID))
    ends = [
        connection.execute(sa.select(messages.c.id).order_by(order).limit(1)).scalar_one_or_none()
        for order in (messages.c.id.asc(), messages.c.id.desc())
    ]
    first, last = (int(end.replace("-", ""), 16) >> 80 if end else None for end in ends)
    if first is None or last is None:
        return
    counted = sa.text(_statement()).bindparams(
        sa.bindparam("first", type_=ID), sa.bindparam("last", type_=ID)
    )
    for from_ms in range(first, last + 1, DAY_MS):
        until_ms = from_ms + DAY_MS
        connection.execute(
            counted, {"first": f"{from_ms << 80:032x}", "last": f"{until_ms << 80:032x}"}
        )


def _statement() -> str:
    conditions = {
        "sent": "m.status = 'sent'",
        "delivered": "m.status = 'delivered'",
        "failed": "m.status = 'failed'",
    } | {code: f"m.error_code = '{code}'" for code in CODES}
    after_ms = None
    for until_s in STEPS_S:
        more = "" if after_ms is None else f" AND {DELAY} > {after_ms}"
        after_ms = until_s * 1_000
        conditions[f"within_{until_s}_s"] = (
            f"m.status = 'delivered' AND {DELAY} <= {after_ms}{more}"
        )
    conditions["later"] = f"m.status = 'delivered' AND {DELAY} > {after_ms}"
    sums = ", ".join(f"sum(CASE WHEN {each} THEN 1 ELSE 0 END)" for each in conditions.values())
    counts = ("segments", "credits", *conditions)
    added = ", ".join(f"{name} = rollups.{name} + excluded.{name}" for name in counts)
    return f"""
        INSERT INTO rollups (account_id, sandbox, quarter_ms, country_code, sender, type, group_id,
            slot, segments, credits, {", ".join(conditions)})
        SELECT m.account_id, m.sandbox, s.created_at_ms - s.created_at_ms % 900000,
            coalesce(m.country_code, ''), s.sender, s.type, coalesce(m.group_id, 0), 0,
            sum(m.segments), sum(m.credits - m.refunded), {sums}
        FROM messages m JOIN sends s ON s.id = m.send_id
        WHERE m.id >= :first AND m.id < :last AND m.status <> 'queued'
        GROUP BY m.account_id, m.sandbox, s.created_at_ms - s.created_at_ms % 900000,
            coalesce(m.country_code, ''), s.sender, s.type, coalesce(m.group_id, 0)
        ON CONFLICT (account_id, sandbox, quarter_ms, country_code, sender, type, group_id, slot)
        DO UPDATE SET {added}"""
