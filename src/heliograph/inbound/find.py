"""Finds texts that came in, of all accounts, for an operator.

Texts from a phone are looked up in each account. All others are looked through, so many at once,
newest first, because no index leads to a number or a state.
"""

from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base.paging import PageWanted
from heliograph.database.reads import of_every, records_of
from heliograph.inbound.conversations import LOOKED_AT_MAX
from heliograph.inbound.read import INBOUND_COLUMNS, InboundText
from heliograph.inbound.tables import inbound


class InboundState(StrEnum):
    """Names what somebody may have to do something about."""

    UNOWNED = "unowned"  # no account has it
    INCOMPLETE = "incomplete"  # parts of it never came
    SUSPECTED = "suspected"  # it seems to ask for no more texts, and is no keyword
    KEYWORD = "keyword"  # it did what its keyword does


class InboundFilter(NamedTuple):
    """Selects texts of a mode. A field that is None selects all. `account_id` is raw, `sender` as
    it is stored: digits, or a name.
    """

    sandbox: bool
    account_id: str | None = None
    sender: str | None = None
    recipient: str | None = None
    state: InboundState | None = None

    @property
    def is_looked_up(self) -> bool:
        """Returns whether an index leads to these texts: those from a phone to some account."""
        return self.sender is not None and self.state is not InboundState.UNOWNED

    @property
    def is_indexed(self) -> bool:
        """Returns whether an index leads to these texts, and to no others."""
        is_narrowed = self.recipient is not None or self.state is not None
        return not is_narrowed and (self.sender is not None or self.account_id is not None)


class FoundInbound(NamedTuple):
    """Holds a page of texts, newest first. `next_before` is the raw id where the next one begins;
    None if there is none.
    """

    texts: list[InboundText]
    next_before: str | None


def find_inbound(tx: Connection, filters: InboundFilter, wanted: PageWanted) -> FoundInbound:
    """Returns a page of texts. It may hold fewer than `limit`, and still have a
    next one.
    """
    walked = _walked(tx, filters, wanted.before)
    query = (
        sa.select(*INBOUND_COLUMNS)
        .join_from(walked, inbound, inbound.c.id == walked.c.id)
        .where(*_conditions(filters))
        .order_by(walked.c.id.desc())
        .limit(wanted.limit + 1)
    )
    texts = records_of(InboundText, tx.execute(query))
    if len(texts) > wanted.limit:
        return FoundInbound(texts[: wanted.limit], texts[wanted.limit - 1].id)
    if filters.is_indexed:  # all of them were looked at
        return FoundInbound(texts, None)
    ids = sa.select(walked.c.id).order_by(walked.c.id.desc())
    return FoundInbound(texts, tx.execute(ids.offset(LOOKED_AT_MAX - 1).limit(1)).scalar())


def _walked(tx: Connection, filters: InboundFilter, before: str | None) -> sa.FromClause:
    """Returns the ids of the newest texts that are looked at, LOOKED_AT_MAX at most."""
    columns = inbound.c
    of_mode = columns.sandbox.is_(filters.sandbox)
    below = [] if before is None else [columns.id < before]
    if filters.is_looked_up:
        whose = (
            of_every(tx, columns.account_id, sa.select(accounts.c.id))
            if filters.account_id is None
            else columns.account_id == filters.account_id
        )
        of_phone = sa.select(columns.id).where(
            whose,
            columns.account_id.is_not(None),  # the index is only for these
            of_mode,
            columns.sender == filters.sender,
            *below,
        )
        # by itself first: to take the newest of all texts until some are of this phone may take all
        found = of_phone.cte("of_phone").prefix_with("MATERIALIZED")
        query = sa.select(found.c.id).order_by(found.c.id.desc())
    elif filters.account_id is not None:
        query = _newest(columns.account_id == filters.account_id, of_mode, *below)
    else:
        query = _newest(*below)
    return query.limit(LOOKED_AT_MAX).subquery("walked")


def _newest(*conditions: sa.ColumnElement[bool]) -> "sa.Select[tuple[str]]":
    query = sa.select(inbound.c.id).where(*conditions).order_by(inbound.c.id.desc())
    return query.limit(LOOKED_AT_MAX)


def _conditions(filters: InboundFilter) -> list[sa.ColumnElement[bool]]:
    columns = inbound.c
    conditions = [columns.sandbox.is_(filters.sandbox)]
    conditions += [
        columns[name] == value
        for name in ("account_id", "sender", "recipient")
        if (value := getattr(filters, name)) is not None
    ]
    of_state: dict[InboundState | None, list[sa.ColumnElement[bool]]] = {
        None: [],
        InboundState.UNOWNED: [columns.account_id.is_(None)],
        InboundState.INCOMPLETE: [columns.parts_received < columns.parts],
        InboundState.SUSPECTED: [columns.opt_out_suspected],
        InboundState.KEYWORD: [columns.keyword.is_not(None)],
    }
    return conditions + of_state[filters.state]
