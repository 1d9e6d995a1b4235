"""Stores keywords of accounts: words that do something when they come in to a number."""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import invalid_field
from heliograph.carriers import all_carriers
from heliograph.database.reads import records_of
from heliograph.inbound.keywords.built_in import BUILT_IN, KeywordAction
from heliograph.inbound.keywords.request import KeywordRequest
from heliograph.inbound.numbers import NUMBER_PREFIX
from heliograph.inbound.tables import keywords, numbers

KEYWORD_PREFIX: Final = "kw"
KEYWORDS_MAX: Final = 1_000  # of an account in a mode; one list, which people have to read


class KeywordOwner(NamedTuple):
    """Says whose keywords are meant, and of which mode. `account_id` is raw."""

    account_id: str
    sandbox: bool


def of_owner(owner: KeywordOwner) -> sa.ColumnElement[bool]:
    """Returns the condition that selects the owner's keywords."""
    columns = keywords.c
    return (columns.account_id == owner.account_id) & columns.sandbox.is_(owner.sandbox)


class Keyword(NamedTuple):
    """Holds a keyword. Ids are raw. Without a number it holds for all numbers of its account;
    `folded` is the word as it is compared.
    """

    id: str
    account_id: str
    sandbox: bool
    number_id: str | None
    keyword: str
    folded: str
    action: str
    reply: str | None
    language: str | None
    created_at_ms: int
    digits: str | None = None  # of its number


class SavedKeyword(NamedTuple):
    keyword: Keyword
    created: bool  # false: it was there, and was changed
    changed: bool
    before: Keyword | None = None  # as it was, if it was there


_WITH_DIGITS: Final = sa.select(keywords, numbers.c.digits).select_from(
    keywords.outerjoin(numbers, numbers.c.id == keywords.c.number_id)
)


def save_keyword(
    tx: Connection, owner: KeywordOwner, request: KeywordRequest, number_id: str | None, now_ms: int
) -> SavedKeyword:
    """Adds a keyword, or changes what it does. The caller holds the account's row. Raises
    InvalidRequest if another account has it on a number that they share, and if there are too many.
    """
    _check_action(request)
    of_number = (
        keywords.c.number_id.is_(None) if number_id is None else keywords.c.number_id == number_id
    )
    existing = tx.execute(
        _WITH_DIGITS.where(of_owner(owner), of_number, keywords.c.folded == request.folded)
    ).one_or_none()
    values = {
        "keyword": request.keyword,
        "action": request.action.value,
        "reply": request.reply,
        "language": request.language and request.language.value,
    }
    if existing is not None:
        before = Keyword(**existing._asdict())
        after = Keyword(**{**before._asdict(), **values})
        if after != before:
            tx.execute(keywords.update().where(keywords.c.id == before.id).values(values))
        return SavedKeyword(after, created=False, changed=after != before, before=before)
    count = tx.execute(sa.select(sa.func.count()).where(of_owner(owner))).scalar_one()
    if count >= KEYWORDS_MAX:
        raise invalid_field("keyword", f"is one too many: an account has at most {KEYWORDS_MAX:,}")
    raw_id = ids.raw_of_number(ids.new_number(now_ms))
    try:
        with tx.begin_nested():
            tx.execute(
                keywords.insert().values(
                    id=raw_id,
                    **owner._asdict(),
                    number_id=number_id,
                    folded=request.folded,
                    created_at_ms=now_ms,
                    **values,
                )
            )
    except IntegrityError as error:
        raise invalid_field(
            "keyword",
            f"must be a free one: another account has {quote_value(request.keyword)} there",
        ) from error
    inserted = tx.execute(_WITH_DIGITS.where(keywords.c.id == raw_id)).one()
    return SavedKeyword(Keyword(**inserted._asdict()), created=True, changed=True)


def owner_of_keyword(tx: Connection, keyword_id: str) -> KeywordOwner:
    """Returns whose a keyword is, for the operator. Raises NotFound."""
    columns = keywords.c
    found = tx.execute(
        sa.select(columns.account_id, columns.sandbox).where(
            columns.id == ids.raw_of_text(KEYWORD_PREFIX, keyword_id)
        )
    ).one_or_none()
    if found is None:
        raise NotFound("There is no such keyword.")
    return KeywordOwner(**found._asdict())


def remove_keyword(tx: Connection, owner: KeywordOwner, keyword_id: str) -> Keyword:
    """Removes a keyword, by its text id. Raises NotFound, the same for another account's and for
    none.
    """
    raw_id = ids.raw_of_text(KEYWORD_PREFIX, keyword_id)
    found = tx.execute(_WITH_DIGITS.where(keywords.c.id == raw_id, of_owner(owner))).one_or_none()
    if found is None:
        raise NotFound("There is no such keyword.")
    tx.execute(keywords.delete().where(keywords.c.id == found.id))
    return Keyword(**found._asdict())


def keywords_page(tx: Connection, owner: KeywordOwner, wanted: PageWanted) -> list[Keyword]:
    """Returns at most `limit` + 1 keywords, newest first: the one too many tells that there is a
    next page.
    """
    query = _WITH_DIGITS.where(of_owner(owner))
    if wanted.before is not None:
        query = query.where(keywords.c.id < wanted.before)
    rows = tx.execute(query.order_by(keywords.c.id.desc()).limit(wanted.limit + 1))
    return records_of(Keyword, rows)


def all_keywords(tx: Connection, owner: KeywordOwner) -> list[Keyword]:
    """Returns all keywords of an account in a mode, at most KEYWORDS_MAX, by their words."""
    order = (keywords.c.folded, numbers.c.digits, keywords.c.id)
    return records_of(Keyword, tx.execute(_WITH_DIGITS.where(of_owner(owner)).order_by(*order)))


def keywords_of_number(tx: Connection, number_id: str, *, limit: int) -> list[Keyword]:
    """Returns at most `limit` keywords that are for a number (raw id) alone, by their words. Where
    several accounts share it, they are those of all of them.
    """
    query = _WITH_DIGITS.where(keywords.c.number_id == number_id).order_by(keywords.c.folded)
    return records_of(Keyword, tx.execute(query.limit(limit)))


def keyword_with_id(tx: Connection, keyword_id: str) -> Keyword:
    """Returns the keyword with this id in text form, whoever has it. Raises NotFound."""
    raw_id = ids.raw_of_text(KEYWORD_PREFIX, keyword_id)
    found = tx.execute(_WITH_DIGITS.where(keywords.c.id == raw_id)).one_or_none()
    if found is None:
        raise NotFound("There is no such keyword.")
    return Keyword(**found._asdict())


def action_of(
    tx: Connection, owner: KeywordOwner, folded: str, carrier_id: int, digits: str
) -> KeywordAction | None:
    """Returns what a word (folded) does now on a number of a carrier, or None if it is no keyword
    there. One of the number goes before one of all numbers, and both before a built-in one.
    """
    of_number = (numbers.c.carrier_id == carrier_id) & (numbers.c.digits == digits)
    query = (
        sa.select(keywords.c.action)
        .outerjoin(numbers, numbers.c.id == keywords.c.number_id)
        .where(
            of_owner(owner), keywords.c.folded == folded, keywords.c.number_id.is_(None) | of_number
        )
        .order_by(keywords.c.number_id.is_(None))
        .limit(1)
    )
    own = tx.execute(query).scalar_one_or_none()
    if own is not None:
        return KeywordAction(own)
    return BUILT_IN[folded].action if folded in BUILT_IN else None


def number_of_keyword(
    tx: Connection,
    owner: KeywordOwner,
    number_text: str,
    *,
    carrier_id: int | None = None,
    or_shared: bool = False,
) -> str:
    """Returns the raw id of the number that is meant by its digits, or by its text id: one of the
    account's, or where `or_shared` holds one that several accounts share. Raises InvalidRequest.
    """
    columns = numbers.c
    is_own = columns.account_id == owner.account_id
    query = sa.select(columns.id, columns.carrier_id).where(
        columns.sandbox.is_(owner.sandbox),
        is_own | columns.account_id.is_(None) if or_shared else is_own,
    )
    raw_id = ids.raw_of_text(NUMBER_PREFIX, number_text)
    if raw_id is None:
        query = query.where(columns.digits == number_text.removeprefix("+"))
    else:
        query = query.where(columns.id == raw_id)
    if carrier_id is not None:
        query = query.where(columns.carrier_id == carrier_id)
    matching_numbers = tx.execute(query).all()
    if not matching_numbers:
        raise invalid_field(
            "number", f"must be a number of the account, not {quote_value(number_text)}"
        )
    if len(matching_numbers) > 1:
        having = {row.carrier_id for row in matching_numbers}
        names = [each.name for each in all_carriers(tx) if each.id in having]
        if or_shared:
            raise invalid_field(
                "carrier", f"is required: {', '.join(names)} have {quote_value(number_text)}"
            )
        raise invalid_field(
            "number", f"must be an id: {len(names)} of your numbers are {quote_value(number_text)}"
        )
    return str(matching_numbers[0].id)


def as_keyword_record(found: Keyword) -> dict[str, Any]:
    """Returns a keyword as its account sees it."""
    return {
        "id": keyword_text_id(found),
        "number": found.digits,
        "keyword": found.keyword,
        "action": found.action,
        "reply": found.reply,
        "language": found.language,
        "sandbox": found.sandbox,
        "created_at": rfc3339(found.created_at_ms),
    }


def keyword_text_id(found: Keyword) -> str:
    """Returns the keyword's id in text form."""
    return ids.text_of_raw(KEYWORD_PREFIX, found.id)


def _check_action(asked: KeywordRequest) -> None:
    """Refuses to make a word that opts out do anything else, because people rely on it."""
    built_in = BUILT_IN.get(asked.folded)
    opts_out = built_in is not None and built_in.action is KeywordAction.OPT_OUT
    if opts_out and asked.action is not KeywordAction.OPT_OUT:
        raise invalid_field(
            "action",
            f"must be {KeywordAction.OPT_OUT.value} for {quote_value(asked.keyword)},"
            " which always opts"
            f" out, not {asked.action.value}",
        )
