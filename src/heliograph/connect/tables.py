"""Customers of partners: what is kept of one beside its account and its wallet."""

import sqlalchemy as sa

from heliograph.base.db import RawId, metadata

EXTERNAL_REF_MAX = 128
LABEL_MAX = 128
EMAIL_MAX = 254  # RFC 5321, as corrected: what fits into a path of 256 with its brackets

customers = sa.Table(
    "customers",
    metadata,
    sa.Column("account_id", RawId, sa.ForeignKey("accounts.id"), primary_key=True),
    sa.Column("partner_id", RawId, sa.ForeignKey("accounts.id"), nullable=False),
    sa.Column("sandbox", sa.Boolean, nullable=False),
    sa.Column("external_ref", sa.String(EXTERNAL_REF_MAX), nullable=True),
    sa.Column("label", sa.String(LABEL_MAX), nullable=True),
    sa.Column("phone", sa.String(15), nullable=False),
    sa.Column("email", sa.String(EMAIL_MAX), nullable=True),
    sa.Index("customers_by_partner", "partner_id", "sandbox", "account_id"),
    sa.Index("customers_once", "partner_id", "sandbox", "external_ref", unique=True),  # any number without one: NULLs differ
)
