"""Defines the table of used Idempotency-Keys. It has one row for each POST that succeeded with such
a key, written in the transaction of its effect.
"""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata

idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("account_id", RawId, primary_key=True),
    sa.Column("sandbox", sa.Boolean, primary_key=True),
    sa.Column(
        "path", sa.String(128), primary_key=True, comment="method and path, such as POST /sms/send"
    ),
    sa.Column("key", sa.String(255), primary_key=True),
    sa.Column("body_sha256", sa.LargeBinary(32), nullable=False),
    sa.Column("send_id", RawId, nullable=True, comment="a send's answer is rebuilt from the send"),
    sa.Column("answer", sa.Text, nullable=True, comment="any other answer is kept as it was given"),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    # for pruning; at the end of an index a row costs 1 µs
    sa.Index("idempotency_keys_by_age", "created_at_ms"),
)
