"""An account registers a sender ID, and the operator decides on it."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.base import ids
from heliograph.base.errors import InvalidRequest
from heliograph.base.forms import quote_value
from heliograph.base.settings import Settings
from heliograph.base.short_texts import BY_MAX, REASON_MAX, invalid_field, one_line
from heliograph.database import config
from heliograph.senders.history import Step, note
from heliograph.senders.look_alikes import skeleton
from heliograph.senders.reserved_names import refuse_reserved
from heliograph.senders.rules import check, fold
from heliograph.senders.sender import COLUMNS, Sender, by_id, own_sender
from heliograph.senders.states import APPROVED, REJECTED, SENDER, SUBMITTED, SUSPENDED
from heliograph.senders.tables import senders
from heliograph.text.countries import country

PURPOSE_MAX: Final = 255
OPERATOR: Final = "the operator"
# of each mode; a partner's customers are accounts of their own
SENDERS_PER_ACCOUNT_MAX: Final = 1_000


def register(
    tx: Connection,
    account_id: str,
    sender: str,
    *,
    sandbox: bool,
    country_code: str | None = None,
    purpose: str | None = None,
    set_default: bool = False,
    by: str | None = None,
    service_sender: str = Settings.otp_sender,
    now_ms: int,
) -> Sender:
    """Submits a sender for approval; in sandbox it is approved at once. The same sender again,
    whatever its case, is the existing record; a rejected one is submitted anew, with what is given
    now in place of what was then. `by` is the operator, who may register reserved names too. If it
    is None, the account registers, which may not register `service_sender` either
    (`HELIOGRAPH_OTP_SENDER`).

    Raises NotFound for the account, InvalidRequest for a sender, country or purpose that cannot be,
    and for a reserved name.
    """
    spelling = check(sender)
    country_code = _known_country(country_code)
    if purpose is not None:
        purpose = one_line("purpose", purpose, most=PURPOSE_MAX)
    # first: two registrations of one sender, or two defaults, wait for each other
    account = accounts.lock(tx, account_id)
    accounts.require_mode(account, sandbox=sandbox)
    record = find_registered(tx, account_id, spelling, sandbox=sandbox)
    if by is None and not sandbox and (record is None or record.status == REJECTED):
        refuse_reserved(tx, spelling, service_sender)
    if record is None:
        record = _insert(
            tx,
            account_id,
            spelling,
            sandbox=sandbox,
            country_code=country_code,
            purpose=purpose,
            by=by,
            now_ms=now_ms,
        )
    elif SENDER.allows(record.status, SUBMITTED):
        record = _submit_again(
            tx,
            record,
            spelling,
            country_code=country_code,
            purpose=purpose,
            by=by,
            now_ms=now_ms,
        )
    if set_default and not record.is_default:
        record = _make_default(tx, record)
    return record


def _known_country(country_code: str | None) -> str | None:
    """Returns the country in upper case. Raises InvalidRequest when ISO 3166-1 has none of this
    code.
    """
    if country_code is None:
        return None
    found = country(country_code)
    if found is None:
        raise invalid_field(
            "country_code",
            f"must be a country of ISO 3166-1 in two letters, not {quote_value(country_code)}",
        )
    return found


def changes(before: Sender | None, after: Sender) -> tuple[str, ...]:
    """Returns what a registration has changed, as the actions of the audit log, where `before` is
    what was registered until then. To register again what is there changes nothing.
    """
    is_submitted = before is None or before.status != after.status
    is_made_default = after.is_default and (before is None or not before.is_default)
    return ("sender.register",) * is_submitted + ("sender.make_default",) * is_made_default


def find_registered(
    tx: Connection, account_id: str, spelling: str, *, sandbox: bool
) -> Sender | None:
    """Returns the account's sender of this mode that differs from `spelling` in case at most, or
    None.
    """
    row = tx.execute(
        sa.select(*COLUMNS).where(
            senders.c.account_id == account_id,
            senders.c.sandbox.is_(sandbox),
            senders.c.folded == fold(spelling),
        )
    ).one_or_none()
    return None if row is None else Sender(**row._asdict())


def _submit_again(
    tx: Connection,
    rejected: Sender,
    spelling: str,
    *,
    country_code: str | None,
    purpose: str | None,
    by: str | None,
    now_ms: int,
) -> Sender:
    """Submits a rejected sender anew. What is not given now stays as it was given before."""
    moved = _move(
        tx,
        rejected.id,
        SUBMITTED,
        by=by,
        now_ms=now_ms,
        sender=spelling,
        country_code=country_code or rejected.country_code,
        purpose=purpose or rejected.purpose,
        decided_at_ms=None,
    )
    return moved or rejected


def _insert(
    tx: Connection,
    account_id: str,
    spelling: str,
    sandbox: bool,
    country_code: str | None,
    purpose: str | None,
    by: str | None,
    now_ms: int,
) -> Sender:
    count = tx.execute(
        sa.select(sa.func.count()).where(
            senders.c.account_id == account_id, senders.c.sandbox.is_(sandbox)
        )
    ).scalar_one()
    if count >= SENDERS_PER_ACCOUNT_MAX:
        raise invalid_field(
            "sender",
            f"cannot be registered: an account has at most {SENDERS_PER_ACCOUNT_MAX} sender IDs",
        )
    status, decided_at_ms = (APPROVED, now_ms) if sandbox else (SUBMITTED, None)
    record = Sender(
        ids.raw_of_number(ids.new_number(now_ms)),
        account_id,
        sandbox,
        sender=spelling,
        country_code=country_code,
        purpose=purpose,
        status=SENDER.begun_as(status),
        rejection_reason=None,
        is_default=False,
        created_at_ms=now_ms,
        decided_at_ms=decided_at_ms,
    )
    config.bump(tx)
    tx.execute(
        senders.insert().values(
            record._asdict() | {"folded": fold(spelling), "skeleton": skeleton(spelling)}
        )
    )
    note(tx, record.id, Step(status, None, by, now_ms))
    return record


def _make_default(tx: Connection, record: Sender) -> Sender:
    """Makes a sender the only default of its account and mode. While it is not approved, there
    is no default.
    """
    config.bump(tx)
    tx.execute(
        sa.update(senders)
        .where(senders.c.account_id == record.account_id, senders.c.sandbox.is_(record.sandbox))
        .values(is_default=senders.c.id == record.id)
    )
    return by_id(tx, record.id)


def make_default(tx: Connection, account_id: str, sender_text_id: str) -> Sender:
    """Makes one of the account's senders the only default of its mode, as a registration with
    `set_default` does. Raises NotFound.
    """
    accounts.lock(tx, account_id)  # two that are made the default wait for each other
    record = own_sender(tx, account_id, sender_text_id)
    return record if record.is_default else _make_default(tx, record)


def approve(
    tx: Connection,
    sender_id: str,
    *,
    reason: str | None = None,
    by: str = OPERATOR,
    now_ms: int,
) -> Sender:
    """Approves a submitted sender, or takes back a rejection or suspension. Its history, which
    operators see, has the reason. Raises NotFound, and InvalidRequest.
    """
    return _decide(tx, sender_id, APPROVED, reason, by, now_ms)


def reject(
    tx: Connection, sender_id: str, reason: str, *, by: str = OPERATOR, now_ms: int
) -> Sender:
    """Refuses a submitted sender; the account sees the reason. Raises NotFound,
    InvalidRequest when it has been approved.
    """
    return _decide(tx, sender_id, REJECTED, reason, by, now_ms)


def suspend(
    tx: Connection, sender_id: str, reason: str, *, by: str = OPERATOR, now_ms: int
) -> Sender:
    """Withdraws an approval; the account sees the reason. Raises NotFound, InvalidRequest
    when there is no approval.
    """
    return _decide(tx, sender_id, SUSPENDED, reason, by, now_ms)


def _decide(
    tx: Connection, sender_id: str, to: str, reason: str | None, by: str, now_ms: int
) -> Sender:
    reason_line = None if reason is None else one_line("reason", reason, most=REASON_MAX)
    moved = _move(
        tx,
        sender_id,
        to,
        by=one_line("by", by, most=BY_MAX),
        now_ms=now_ms,
        reason=reason_line,
        decided_at_ms=now_ms,
    )
    if moved is not None:
        return moved
    record = by_id(tx, sender_id)
    if record.status != to:  # in that state already is as good as decided now
        raise InvalidRequest(
            f"The sender {record.sender} is {record.status}; only one that is"
            f" {' or '.join(SENDER.sources(to))} can be {to}."
        )
    return record


def _move(
    tx: Connection,
    sender_id: str,
    to: str,
    *,
    by: str | None,
    now_ms: int,
    reason: str | None = None,
    **values: Any,
) -> Sender | None:
    """Brings a sender into the state `to`, with further columns, and notes it in its history.
    Returns None when it is in none of the states that `to` may follow.

    `by` is who decided, and None for the account itself.
    """
    config.bump(tx)
    row = tx.execute(
        sa.update(senders)
        .where(senders.c.id == sender_id, sa.text(SENDER.may_become(to)))
        .values(status=to, rejection_reason=None if to == APPROVED else reason, **values)
        .returning(*COLUMNS)
    ).one_or_none()
    if row is None:
        return None
    note(tx, sender_id, Step(to, reason, by, now_ms))
    return Sender(**row._asdict())
