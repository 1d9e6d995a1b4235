"""Reads conversations: what an account and a phone have written to each other.

There is a conversation with each phone that has written. Nothing is stored for it: the list is made
of each phone's newest text, and one conversation of the texts from the phone and the messages to
it, which are merged by their ids, for these are in order of time.
"""

from typing import Final, NamedTuple, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.paging import PageWanted
from heliograph.database.reads import records_of
from heliograph.inbound.read import INBOUND_COLUMNS, InboundText
from heliograph.inbound.tables import DIGITS_MAX, inbound
from heliograph.messages import read
from heliograph.messages.read import newest_texts

# texts that one page of the list looks through, 10 ms: a phone may have written thousands of them
LOOKED_AT_MAX: Final = 2_000

Line: TypeAlias = InboundText | read.Message


class Conversation(NamedTuple):
    """Holds the newest text of a phone, and the newest message to it if that is newer."""

    newest: InboundText
    answer: read.Message | None

    @property
    def phone(self) -> str:
        assert self.newest.sender is not None
        return self.newest.sender


class ConversationsPage(NamedTuple):
    """Holds a page of the list. `next_before` is the raw id where the next one begins."""

    conversations: list[Conversation]
    next_before: str | None


class LinesPage(NamedTuple):
    """Holds a page of one conversation, the newest line first."""

    lines: list[Line]
    next_before: str | None


def conversations_page(
    tx: Connection, account_id: str, wanted: PageWanted, *, sandbox: bool
) -> ConversationsPage:
    """Returns a page of the account's conversations, by when the phone wrote last, newest first. It
    may hold fewer than `limit`, and still have a next one.
    """
    of_account = _of_account(account_id, sandbox)
    walked_query = (
        sa.select(inbound.c.id, inbound.c.sender)
        .where(*of_account, inbound.c.sender.is_not(None))
        .order_by(inbound.c.id.desc())
    )
    if wanted.before is not None:
        walked_query = walked_query.where(inbound.c.id < wanted.before)
    walked = walked_query.limit(LOOKED_AT_MAX).subquery("walked")
    newer = inbound.alias("newer")
    is_older = sa.exists().where(
        newer.c.account_id == account_id,
        newer.c.sandbox.is_(sandbox),
        newer.c.sender == walked.c.sender,
        newer.c.id > walked.c.id,
    )
    query = (
        sa.select(*INBOUND_COLUMNS)
        .join_from(walked, inbound, inbound.c.id == walked.c.id)
        .where(sa.not_(is_older))
        .order_by(walked.c.id.desc())
        .limit(wanted.limit + 1)
    )
    texts = records_of(InboundText, tx.execute(query))
    next_before = texts[wanted.limit - 1].id if len(texts) > wanted.limit else None
    if next_before is None:
        ids = sa.select(walked.c.id).order_by(walked.c.id.desc())
        next_before = tx.execute(ids.offset(LOOKED_AT_MAX - 1).limit(1)).scalar()
    return ConversationsPage(
        _with_answers(tx, account_id, texts[: wanted.limit], sandbox), next_before
    )


def conversation_page(
    tx: Connection, account_id: str, phone: str, wanted: PageWanted, *, sandbox: bool
) -> LinesPage:
    """Returns a page of what an account and a phone have written to each other, newest first. The
    phone is given as it writes its sender: digits, or a name.
    """
    lines: list[Line] = [*texts_of(tx, account_id, phone, wanted, sandbox=sandbox)]
    number = number_of(phone)
    if number is not None:
        filters = read.Filters(recipient=number)
        more = wanted._replace(limit=wanted.limit + 1)
        lines += read.report(tx, account_id, more, filters, sandbox=sandbox).messages
    lines.sort(key=lambda line: line.id, reverse=True)
    is_last = len(lines) <= wanted.limit
    return LinesPage(lines[: wanted.limit], None if is_last else lines[wanted.limit - 1].id)


def texts_of(
    tx: Connection, account_id: str, phone: str, wanted: PageWanted, *, sandbox: bool
) -> list[InboundText]:
    """Returns at most `limit` + 1 texts that a phone has sent to the account, newest first."""
    query = sa.select(*INBOUND_COLUMNS).where(
        *_of_account(account_id, sandbox), inbound.c.sender == phone
    )
    if wanted.before is not None:
        query = query.where(inbound.c.id < wanted.before)
    rows = tx.execute(query.order_by(inbound.c.id.desc()).limit(wanted.limit + 1))
    return records_of(InboundText, rows)


def newest_of(tx: Connection, account_id: str, phone: str, *, sandbox: bool) -> InboundText | None:
    """Returns the newest text that a phone has sent to the account, if there is one."""
    found = texts_of(tx, account_id, phone, PageWanted(1, None), sandbox=sandbox)
    return found[0] if found else None


def number_of(phone: str) -> int | None:
    """Returns a phone as messages have their recipient; None for a name."""
    is_number = phone.isascii() and phone.isdigit() and len(phone) <= DIGITS_MAX
    return int(phone) if is_number and str(int(phone)) == phone else None


def _of_account(account_id: str, sandbox: bool) -> list[sa.ColumnElement[bool]]:
    return [inbound.c.account_id == account_id, inbound.c.sandbox.is_(sandbox)]


def _with_answers(
    tx: Connection, account_id: str, found: list[InboundText], sandbox: bool
) -> list[Conversation]:
    numbers = {each.id: number_of(each.sender or "") for each in found}
    asked = [
        newest_texts.NewerThan(number, raw_id)
        for raw_id, number in numbers.items()
        if number is not None
    ]
    answers = newest_texts.newest_to(tx, account_id, asked, sandbox=sandbox)
    return [Conversation(each, answers.get(numbers[each.id] or 0)) for each in found]
