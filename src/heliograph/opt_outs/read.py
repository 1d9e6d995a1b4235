"""Reads opt-outs: which of some phones have one, and a page of all."""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.paging import PageWanted
from heliograph.database.arrays import literal
from heliograph.database.postgresql.planning import replan_statements
from heliograph.database.statements import rows_by_key
from heliograph.opt_outs.suppression import (
    WHOLE_ACCOUNT,
    OptOutOwner,
    OptOutScope,
    Suppression,
    of_owner,
)
from heliograph.opt_outs.tables import OF_ANY_PHONE, OptOutSource, suppressions

_t: Final = suppressions.c
SUPPRESSION_COLUMNS: Final = (_t.id, _t.phone, _t.sender, _t.source)
_FOUND: Final = rows_by_key(
    suppressions.name,
    "sender, source",
    account_id="CAST(:account_id AS uuid)",
    sandbox=":sandbox",
    phone="g.phone",
)
_SUPPRESSED_AMONG: Final = sa.text(f"""
    SELECT g.phone, found.source
    FROM unnest(CAST(:phones AS bigint[])) AS g (phone), LATERAL {_FOUND} AS found
    WHERE found.sender = ANY(CAST(:senders AS text[])) ORDER BY g.phone, found.sender DESC""")


def is_suppressed(
    tx: Connection, owner: OptOutOwner, phone: str, scope: OptOutScope = WHOLE_ACCOUNT
) -> bool:
    """Returns whether a phone (E.164 digits) wants no texts of the scope: those of a sender are
    unwanted too where none of the account's are wanted.
    """
    return phone in find_suppressed(tx, owner, [phone], scope)


def find_suppressed(
    tx: Connection,
    owner: OptOutOwner,
    phones: Iterable[str],
    scope: OptOutScope = WHOLE_ACCOUNT,
) -> dict[str, OptOutSource]:
    """Returns those of these phones (E.164 digits) that want no texts of the scope, with where
    that comes from.
    """
    numbers, senders = sorted(map(int, phones)), {WHOLE_ACCOUNT.sender, scope.sender}
    if tx.dialect.name == "postgresql":
        asked = {**owner._asdict(), "phones": literal(numbers), "senders": sorted(senders)}
        with replan_statements(tx):
            rows = tx.execute(_SUPPRESSED_AMONG, asked).all()
    else:
        query = sa.select(_t.phone, _t.source).where(of_owner(owner), _t.phone.in_(numbers))
        query = query.where(_t.sender.in_(senders))
        rows = tx.execute(query.order_by(_t.phone, _t.sender.desc())).all()
    return {str(row.phone): OptOutSource(row.source) for row in rows}


def opt_outs_of(tx: Connection, owner: OptOutOwner, phone: str) -> list[Suppression]:
    """Returns all opt-outs of a phone (E.164 digits), that of the whole account first."""
    query = (
        sa.select(*SUPPRESSION_COLUMNS)
        .where(of_owner(owner), _t.phone == int(phone))
        .order_by(_t.sender)
    )
    return [suppression_of_row(row) for row in tx.execute(query)]


def opt_out_page(
    tx: Connection, owner: OptOutOwner, wanted: PageWanted, *, phone: str | None = None
) -> list[Suppression]:
    """Returns at most `limit` + 1 opt-outs, newest first: the one too many tells that there is a
    next page. `phone` (E.164 digits) asks for those of one phone.
    """
    query = sa.select(*SUPPRESSION_COLUMNS).where(of_owner(owner))
    query = query.where(sa.text(OF_ANY_PHONE) if phone is None else _t.phone == int(phone))
    if wanted.before is not None:
        query = query.where(_t.id < wanted.before)
    return [
        suppression_of_row(row)
        for row in tx.execute(query.order_by(_t.id.desc()).limit(wanted.limit + 1))
    ]


def suppression_of_row(row: "sa.Row[*tuple[Any, ...]]") -> Suppression:
    """Returns the opt-out of a row that has SUPPRESSION_COLUMNS, and perhaps others."""
    return Suppression(row.id, str(row.phone), OptOutScope(row.sender), OptOutSource(row.source))
