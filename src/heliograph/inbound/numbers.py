"""Manages our numbers and short codes: which carrier brings texts to each, and whose they are."""

import re
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from heliograph import accounts
from heliograph.accounts import audit_log
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import DoneAlready, InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import Carrier, all_carriers, carrier_named, remove_carrier
from heliograph.carriers.tables import carriers
from heliograph.database import config
from heliograph.database.reads import records_of
from heliograph.inbound.tables import DIGITS_MAX, WHOLE_ACCOUNT_SCOPE, numbers
from heliograph.text import SEPARATORS

NUMBER_PREFIX: Final = "num"
DIGITS_MIN: Final = 3  # the shortest short codes
_DIGITS: Final = re.compile(rf"[0-9]{{{DIGITS_MIN},{DIGITS_MAX}}}", re.ASCII)
# whoever runs the commands has no user
OPERATOR: Final = audit_log.Author(audit_log.AuthorKind.OPERATOR, "0" * 32, audit_log.OPERATOR_NAME)


class OwnNumber(NamedTuple):
    """Holds a number or short code of ours. Ids are raw; without an account, several share it."""

    id: str
    carrier_id: int
    digits: str
    account_id: str | None
    sandbox: bool
    created_at_ms: int
    first_word: bool
    opt_out_scope: str
    catch_all_id: str | None

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(NUMBER_PREFIX, self.id)

    @property
    def getter_id(self) -> str | None:
        """Returns the account (raw id) that gets its texts, all of them or those of no other."""
        return self.account_id or self.catch_all_id


def add_number(
    tx: Connection,
    digits: str,
    carrier: str,
    account_id: str | None,
    *,
    catch_all_id: str | None = None,
    now_ms: int,
) -> OwnNumber:
    """Adds a number of a carrier. Texts to it are the account's from now on. Without an account,
    several share it, and `catch_all_id` gets what is no other's. What came before stays as it is.
    Raises NotFound, AccountClosed, InvalidRequest, DoneAlready for a number that is there already
    and belongs to whom it is to belong.
    """
    if account_id is not None and catch_all_id is not None:
        raise _owned_refusal()
    for each in (account_id, catch_all_id):
        if each is not None:
            accounts.keep_open(tx, each)
    number = OwnNumber(
        ids.raw_of_number(ids.new_number(now_ms)),
        carrier_named(tx, carrier).id,
        _checked(digits),
        account_id,
        sandbox=False,  # carriers bring live texts only
        created_at_ms=now_ms,
        first_word=False,
        opt_out_scope=WHOLE_ACCOUNT_SCOPE,
        catch_all_id=catch_all_id,
    )
    try:
        with tx.begin_nested():
            tx.execute(numbers.insert().values(number._asdict()))
    except IntegrityError as error:
        known = _the_number(tx, number.digits, carrier)
        if (known.account_id, known.catch_all_id) == (account_id, catch_all_id):
            raise DoneAlready(
                f"The number {number.digits} of the carrier {carrier} is there already, and belongs"
                " to whom you name."
            ) from error
        raise invalid_field(
            "number",
            f"must be a new one: {number.digits} of the carrier {carrier} is there already."
            " Remove it first, to give it to another account",
        ) from error
    _audit(tx, "number.add", number, now_ms)
    return number


def remove_number(tx: Connection, digits: str, carrier: str | None, *, now_ms: int) -> OwnNumber:
    """Removes a number: texts to it are nobody's from now on. The carrier need not be named where
    only one has the number. Raises NotFound, InvalidRequest.
    """
    number = _the_number(tx, digits, carrier)
    tx.execute(numbers.delete().where(numbers.c.id == number.id))
    _audit(tx, "number.remove", number, now_ms)
    return number


def remove_carrier_and_numbers(
    tx: Connection, name: str, *, messages_waiting: int, now_ms: int
) -> Carrier:
    """Removes a carrier and its numbers: texts to them are nobody's from now on. Raises what
    `carriers.remove_carrier` raises.
    """
    # first, as all changes of carriers do; then no number is added before the carrier is gone
    config.bump(tx)
    carrier = carrier_named(tx, name)
    tx.execute(sa.select(carriers.c.id).where(carriers.c.id == carrier.id).with_for_update())
    its = numbers.c.carrier_id == carrier.id
    for row in tx.execute(sa.select(numbers).where(its).order_by(numbers.c.id)):
        _audit(tx, "number.remove", OwnNumber(**row._asdict()), now_ms)
    return remove_carrier(tx, name, messages_waiting=messages_waiting)


def set_catch_all(
    tx: Connection, digits: str, carrier: str | None, catch_all_id: str | None, *, now_ms: int
) -> OwnNumber:
    """Sets which account gets those texts to a shared number that are no other's, or with None that
    nobody does. It holds from the next text on. Raises NotFound, AccountClosed, InvalidRequest.
    """
    if catch_all_id is not None:
        accounts.keep_open(tx, catch_all_id)
    before = _the_number(tx, digits, carrier)
    if before.account_id is not None:
        raise _owned_refusal()
    number = before._replace(catch_all_id=catch_all_id)
    if number != before:
        tx.execute(
            numbers.update().where(numbers.c.id == number.id).values(catch_all_id=catch_all_id)
        )
        _audit(tx, "number.remove", before, now_ms)
        _audit(tx, "number.add", number, now_ms)
    return number


def set_keyword_rules(
    tx: Connection,
    digits: str,
    carrier: str | None,
    *,
    first_word: bool | None = None,
    opt_out_scope: str | None = None,
    now_ms: int,
) -> OwnNumber:
    """Sets how keywords count on a number: whether one may stand before other words, and of whose
    texts one opts out. None leaves it as it is. It holds from the next text on. Raises NotFound,
    InvalidRequest.
    """
    before = _the_number(tx, digits, carrier)
    number = before._replace(
        first_word=before.first_word if first_word is None else first_word,
        opt_out_scope=opt_out_scope or before.opt_out_scope,
    )
    if number != before:
        values = {"first_word": number.first_word, "opt_out_scope": number.opt_out_scope}
        tx.execute(numbers.update().where(numbers.c.id == number.id).values(values))
        _audit(tx, "number.keywords", number, now_ms)
    return number


def give_back_numbers(tx: Connection, account_id: str, *, now_ms: int) -> None:
    """Removes an account's numbers, and takes it from shared ones whose other texts it got: the
    account is being closed.
    """
    is_owned = numbers.c.account_id == account_id
    is_caught = numbers.c.catch_all_id == account_id
    for row in tx.execute(sa.select(numbers).where(is_owned | is_caught).order_by(numbers.c.id)):
        _audit(tx, "number.remove", OwnNumber(**row._asdict()), now_ms)
    tx.execute(numbers.delete().where(is_owned))
    tx.execute(numbers.update().where(is_caught).values(catch_all_id=None))


def _the_number(tx: Connection, digits: str, carrier: str | None) -> OwnNumber:
    """Returns the one number of ours that is meant. Raises NotFound, InvalidRequest."""
    query = sa.select(numbers).where(numbers.c.digits == _plain(digits))
    if carrier is not None:
        query = query.where(numbers.c.carrier_id == carrier_named(tx, carrier).id)
    found = records_of(OwnNumber, tx.execute(query))
    if not found:
        raise NotFound(f"There is no number {quote_value(digits)}{_of(carrier)}.")
    if len(found) > 1:
        having = {each.carrier_id for each in found}
        names = [each.name for each in all_carriers(tx) if each.id in having]
        raise invalid_field(
            "carrier", f"is required: {', '.join(names)} have {quote_value(digits)}"
        )
    return found[0]


def all_numbers(tx: Connection) -> list[OwnNumber]:
    """Returns everybody's numbers, by their digits."""
    order = (numbers.c.digits, numbers.c.carrier_id)
    return records_of(OwnNumber, tx.execute(sa.select(numbers).order_by(*order)))


def number_with_id(tx: Connection, text_id: str, *, is_locked: bool = False) -> OwnNumber:
    """Returns the number with this id in text form, whoever has it. With `is_locked` nobody else
    changes it until the transaction ends. Raises NotFound.
    """
    query = sa.select(numbers).where(numbers.c.id == ids.raw_of_text(NUMBER_PREFIX, text_id))
    row = tx.execute(query.with_for_update() if is_locked else query).one_or_none()
    if row is None:
        raise NotFound("There is no number with this id.")
    return OwnNumber(**row._asdict())


def number_of_carrier(tx: Connection, carrier_id: int, digits: str) -> OwnNumber | None:
    """Returns the number that a carrier brings texts to, or None if it is not ours."""
    query = sa.select(numbers).where(numbers.c.carrier_id == carrier_id, numbers.c.digits == digits)
    row = tx.execute(query).one_or_none()
    return None if row is None else OwnNumber(**row._asdict())


def find_numbers(
    tx: Connection, *, begins_with: str = "", account_id: str | None = None, limit: int
) -> list[OwnNumber]:
    """Returns at most `limit` numbers that begin with these digits, by their digits. With an
    account (raw id), they are those that belong to it, and shared ones whose other texts it gets.
    """
    digits = _plain(begins_with)
    query = sa.select(numbers).where(numbers.c.digits.startswith(digits, autoescape=True))
    if account_id is not None:
        query = query.where(
            (numbers.c.account_id == account_id) | (numbers.c.catch_all_id == account_id)
        )
    order = (numbers.c.digits, numbers.c.carrier_id)
    return records_of(OwnNumber, tx.execute(query.order_by(*order).limit(limit)))


def numbers_page(
    tx: Connection, account_id: str, wanted: PageWanted, *, sandbox: bool
) -> list[OwnNumber]:
    """Returns at most `limit` + 1 numbers of an account: the one too many tells that there is a
    next page.
    """
    query = sa.select(numbers).where(
        numbers.c.account_id == account_id, numbers.c.sandbox.is_(sandbox)
    )
    if wanted.before is not None:
        query = query.where(numbers.c.id < wanted.before)
    rows = tx.execute(query.order_by(numbers.c.id.desc()).limit(wanted.limit + 1))
    return records_of(OwnNumber, rows)


def as_number_record(number: OwnNumber) -> dict[str, Any]:
    """Returns a number as its account sees it."""
    return {
        "id": number.text_id,
        "number": number.digits,
        "first_word": number.first_word,
        "opt_out_scope": number.opt_out_scope,
        "sandbox": number.sandbox,
        "created_at": rfc3339(number.created_at_ms),
    }


def _plain(digits: str) -> str:
    """Returns a number or short code without the plus and the separators that people write."""
    return digits.translate(SEPARATORS).removeprefix("+")


def _checked(digits: str) -> str:
    plain = _plain(digits)
    if not _DIGITS.fullmatch(plain):
        raise invalid_field(
            "number", f"must have {DIGITS_MIN} to {DIGITS_MAX} digits, not {quote_value(digits)}"
        )
    return plain


def _owned_refusal() -> InvalidRequest:
    return invalid_field(
        "catch_all", "is for numbers that several accounts share: this one is owned"
    )


def _of(carrier: str | None) -> str:
    return "" if carrier is None else f" of the carrier {quote_value(carrier)}"


def _audit(tx: Connection, action: str, number: OwnNumber, now_ms: int) -> None:
    """Writes into the audit log of the account whose number it is, or that gets what is no
    other's.
    """
    if number.getter_id is not None:
        entry = audit_log.AuditEntry(action, number.text_id, number.digits)
        audit_log.write(tx, number.getter_id, OPERATOR, entry, now_ms=now_ms)
