"""Keeps rate sheets: one is uploaded, looked at, given a time, and applied once at that time, in
one transaction with what the logs tell of it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import users
from heliograph.accounts import audit_log
from heliograph.base import ids
from heliograph.base.clock import DAY_MS, rfc3339
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.json import encode
from heliograph.base.paging import first_id_of
from heliograph.base.short_texts import REASON_MAX, invalid_field, one_line, printable, shorten
from heliograph.carriers import GENERAL, current_rates
from heliograph.database import config
from heliograph.database.reads import records_of
from heliograph.pricing.difference import Difference, difference, margins_after
from heliograph.pricing.market import SegmentMargin, load_market
from heliograph.pricing.rate_change import require_no_loss, store_changes
from heliograph.pricing.states import APPLIED, PLANNED, SHEET, UPLOADED, WITHDRAWN
from heliograph.pricing.tables import SHEET_NAME_MAX, rate_sheets
from heliograph.users import OperatorEntry, User

PREFIX: Final = "rsh"
AHEAD_DAYS_MAX: Final = 366  # a sheet is kept for longer than that
DRAFT_MS: Final = DAY_MS  # a draft that nobody has given a time by then is withdrawn
OPEN_MAX: Final = 100  # drafts and planned ones
LISTED_MAX: Final = 50
NAME_AT_FIRST: Final = "rates"  # of a sheet whose file has none


class _StoredRate(msgspec.Struct, array_like=True):
    """Holds a rate as `rate_sheets.lines` stores it: an array in the order of these fields."""

    account_id: str
    destination: str
    credits: int | None


_LINES: Final = msgspec.json.Decoder(list[_StoredRate])


class RateSheet(NamedTuple):
    """Holds a rate sheet. `id` and `user_id` are raw. `effective_at_ms` is None of a draft.
    `user_id` and `email` are None if a command has uploaded it.
    """

    id: str
    status: str  # of states.SHEET
    name: str
    is_whole: bool  # rates that it does not have are removed
    user_id: str | None
    email: str | None
    effective_at_ms: int | None = None
    allows_loss: bool = False
    reason: str | None = None
    ended_at_ms: int | None = None

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(PREFIX, self.id)

    @property
    def uploaded_at_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))


class SheetOutlook(NamedTuple):
    """Says what a sheet changes if it is applied now, and what segments bring and cost then."""

    difference: Difference
    weighed: list[SegmentMargin]

    @property
    def losses(self) -> list[SegmentMargin]:
        return [each for each in self.weighed if each.is_loss]


_COLUMNS: Final = [rate_sheets.c[name] for name in RateSheet._fields]


def upload(
    tx: Connection,
    name: str,
    rates: Sequence[current_rates.Rate],
    by: User | None,
    *,
    is_whole: bool,
    now_ms: int,
) -> RateSheet:
    """Stores a sheet as a draft. `by` is who uploads it, or None for a command. Raises
    InvalidRequest.
    """
    columns = rate_sheets.c
    old = columns.id < first_id_of(now_ms - DRAFT_MS)
    tx.execute(_move(WITHDRAWN, now_ms).where(columns.status == UPLOADED, old))
    is_open = columns.status.in_((UPLOADED, PLANNED))
    if tx.execute(sa.select(sa.func.count()).where(is_open)).scalar_one() >= OPEN_MAX:
        raise invalid_field(
            "file", f"cannot be added: {OPEN_MAX} rate sheets are open. Withdraw some of them first"
        )
    sheet = RateSheet(
        id=ids.raw_of_number(ids.new_number(now_ms)),
        status=SHEET.begun_as(UPLOADED),
        name=shorten(printable(name.strip()), SHEET_NAME_MAX - 1) or NAME_AT_FIRST,
        is_whole=is_whole,
        user_id=by and by.id,
        email=by and by.email,
    )
    lines = encode([_StoredRate(**rate._asdict()) for rate in rates]).decode()
    tx.execute(rate_sheets.insert().values(sheet._asdict() | {"lines": lines}))
    return sheet


def plan(
    tx: Connection,
    sheet: RateSheet,
    *,
    at_ms: int | None,
    allows_loss: bool,
    reason: str,
    by: User | None,
    now_ms: int,
) -> RateSheet:
    """Gives a draft its time, or applies it at once if that is None. It is `by` who answers for it
    from now on, whoever uploaded it; a command has nobody. Raises InvalidRequest: it is no draft,
    the time is past or too far ahead, or it sells below cost and that is not allowed.
    """
    reason_line = one_line("reason", reason, most=REASON_MAX)
    if at_ms is not None and not now_ms < at_ms <= sheet.uploaded_at_ms + AHEAD_DAYS_MAX * DAY_MS:
        raise invalid_field(
            "at", f"must be a time to come, within a year of the upload, not {rfc3339(at_ms)}"
        )
    config.bump(tx)  # first: nobody changes a rate between what is read and what is written
    if at_ms is None:
        apply_due(tx, now_ms=now_ms)
    today = current_rates.load(tx)
    changes = difference(today, rates_of(tx, sheet), is_whole=sheet.is_whole)
    require_no_loss(tx, today, changes, allows_loss=allows_loss)
    planned = sheet._replace(
        status=PLANNED,
        effective_at_ms=now_ms if at_ms is None else at_ms,
        allows_loss=allows_loss,
        reason=reason_line,
        user_id=by and by.id,
        email=by and by.email,
    )
    _require(_store(tx, planned))
    if at_ms is None:
        _require(apply_if_planned(tx, planned, now_ms=now_ms))
        return planned._replace(status=APPLIED, ended_at_ms=now_ms)
    _log(tx, planned, "rate.plan", f"{rfc3339(at_ms)}: {changes.words}", now_ms=now_ms)
    return planned


def withdraw(tx: Connection, sheet: RateSheet, *, now_ms: int) -> RateSheet:
    """Takes back a sheet that was not applied, and returns it with the time that somebody may have
    given it meanwhile. Raises InvalidRequest if it has ended.
    """
    config.bump(tx)  # first: nobody plans or applies it between what is read and what is written
    withdrawn = sheet_by_id(tx, sheet.text_id)._replace(status=WITHDRAWN, ended_at_ms=now_ms)
    _require(_store(tx, withdrawn))
    return withdrawn


def apply_if_planned(tx: Connection, sheet: RateSheet, *, now_ms: int) -> bool:
    """Sets the rates of a planned sheet, and tells both logs. Returns False if another process has
    done it, or it was withdrawn.
    """
    config.bump(tx)  # first: nobody changes a rate between what is read and what is written
    applied = sheet._replace(status=APPLIED, ended_at_ms=now_ms)
    if not _store(tx, applied):
        return False
    changes = difference(current_rates.load(tx), rates_of(tx, sheet), is_whole=sheet.is_whole)
    store_changes(tx, changes)
    _log(tx, applied, "rate.sheet", changes.words, now_ms=now_ms)
    if sheet.user_id is not None:  # commands write into no log
        _audit_accounts(tx, sheet.user_id, changes, now_ms=now_ms)
    return True


def apply_due(tx: Connection, *, now_ms: int) -> None:
    """Applies the sheets whose time has come, before rates are changed that hold at once. Else one
    that waits to be applied would set its older rates over the newer ones.
    """
    config.bump(tx)  # first: nobody plans, withdraws or applies a sheet meanwhile
    while due := due_sheet(tx, now_ms=now_ms):
        _require(apply_if_planned(tx, due, now_ms=now_ms))


def due_sheet(tx: Connection, *, now_ms: int) -> RateSheet | None:
    """Returns the planned sheet whose time came first, if any has."""
    columns = rate_sheets.c
    row = tx.execute(
        sa.select(*_COLUMNS)
        .where(columns.status == PLANNED, columns.effective_at_ms <= now_ms)
        .order_by(columns.effective_at_ms, columns.id)
        .limit(1)
    ).one_or_none()
    return None if row is None else RateSheet(**row._asdict())


def sheets_that_may_not_lose(tx: Connection) -> list[RateSheet]:
    """Returns the planned sheets that may not sell below cost, the one that comes first first."""
    columns = rate_sheets.c
    query = (
        sa.select(*_COLUMNS)
        .where(columns.status == PLANNED, columns.allows_loss.is_(False))
        .order_by(columns.effective_at_ms, columns.id)
    )
    return records_of(RateSheet, tx.execute(query))


def sheet_by_id(tx: Connection, text_id: str) -> RateSheet:
    """Returns the rate sheet with this id. Raises NotFound."""
    raw = ids.raw_of_text(PREFIX, text_id)
    row = tx.execute(sa.select(*_COLUMNS).where(rate_sheets.c.id == raw)).one_or_none()
    if raw is None or row is None:
        raise NotFound("There is no such rate sheet.")
    return RateSheet(**row._asdict())


def newest_sheets(tx: Connection, *, limit: int = LISTED_MAX) -> list[RateSheet]:
    """Returns the newest sheets first."""
    query = sa.select(*_COLUMNS).order_by(rate_sheets.c.id.desc()).limit(limit)
    return records_of(RateSheet, tx.execute(query))


def rates_of(tx: Connection, sheet: RateSheet) -> list[current_rates.Rate]:
    """Returns the rates that a sheet has."""
    query = sa.select(rate_sheets.c.lines).where(rate_sheets.c.id == sheet.id)
    lines = _LINES.decode(tx.execute(query).scalar_one())
    return [current_rates.Rate(line.account_id, line.destination, line.credits) for line in lines]


def outlook_of(
    tx: Connection, rates: Sequence[current_rates.Rate], *, is_whole: bool
) -> SheetOutlook:
    """Returns what a sheet of these rates would change if it were applied now."""
    today = _today(tx, rates)
    changes = difference(today, rates, is_whole=is_whole)
    return SheetOutlook(changes, margins_after(load_market(tx), today, changes))


def difference_of(
    tx: Connection, rates: Sequence[current_rates.Rate], *, is_whole: bool
) -> Difference:
    """Returns what a sheet of these rates would change now, without what that would bring."""
    return difference(_today(tx, rates), rates, is_whole=is_whole)


def _today(tx: Connection, rates: Sequence[current_rates.Rate]) -> list[current_rates.Rate]:
    # a sheet changes nothing of the accounts that it does not name
    return current_rates.load_of(tx, {GENERAL, *(rate.account_id for rate in rates)})


def _store(tx: Connection, sheet: RateSheet) -> bool:
    """Stores a sheet with the state that it has now, and returns whether it may come to it."""
    moved = _move(sheet.status, sheet.ended_at_ms).where(rate_sheets.c.id == sheet.id)
    return tx.execute(moved.values(sheet._asdict())).rowcount > 0


def _require(is_stored: bool) -> None:
    if not is_stored:
        raise InvalidRequest("This rate sheet has been applied or withdrawn meanwhile.")


def _move(to: str, ended_at_ms: int | None) -> sa.Update:
    return (
        sa.update(rate_sheets)
        .where(sa.text(SHEET.may_become(to)))
        .values(status=to, ended_at_ms=ended_at_ms)
    )


def _audit_accounts(tx: Connection, user_id: str, changes: Difference, *, now_ms: int) -> None:
    """Writes into the audit logs of the accounts whose own rates have changed."""
    author = audit_log.Author(audit_log.AuthorKind.OPERATOR, user_id, audit_log.OPERATOR_NAME)
    counts = Counter(change.rate.account_id for change in changes.effective)
    del counts[GENERAL]
    for account_id, count in counts.items():
        entry = audit_log.AuditEntry("rate.sheet", None, f"{count} rate{'' if count == 1 else 's'}")
        audit_log.write(tx, account_id, author, entry, now_ms=now_ms)


def _log(tx: Connection, sheet: RateSheet, action: str, after: str, *, now_ms: int) -> None:
    """Writes into the operators' log, if an operator has uploaded the sheet in the console."""
    if sheet.user_id is None:
        return
    user = users.by_id(tx, sheet.user_id)
    entry = OperatorEntry(action, None, sheet.text_id, None, after, sheet.reason)
    users.log_for_account(tx, user, entry, now_ms=now_ms)
