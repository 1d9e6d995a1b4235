"""Defines the table of used Idempotency-Keys, which has one row for each POST that succeeded with
such a key, written in the transaction of its effect; and the table of the request log.
"""

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from heliograph.database.postgresql.table_options import only_where

METHOD_MAX = 16

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

# What requests of the last days were answered (request_log.py).
request_log = sa.Table(
    "request_log",
    metadata,
    sa.Column("id", RawId, primary_key=True, comment="of the request, as its answer says it"),
    sa.Column("account_id", RawId, nullable=False),
    sa.Column("key_id", RawId, nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("method", sa.String(METHOD_MAX), nullable=False),
    sa.Column("endpoint", sa.String(128), nullable=False),
    sa.Column("http_status", sa.SmallInteger, nullable=False),
    sa.Column("code", sa.String(32), nullable=True),
    sa.Column("reason", sa.String(64), nullable=True),
    sa.Column("took_ms", sa.Integer, nullable=False),
    sa.Index("request_log_by_account", "account_id", "sandbox", "id"),
    sa.Index(
        "request_log_of_failures",
        "account_id",
        "sandbox",
        "id",
        **only_where("http_status >= 400"),
    ),
    sa.Index(
        "request_log_of_successes",
        "account_id",
        "sandbox",
        "id",
        **only_where("http_status < 400"),
    ),
)
