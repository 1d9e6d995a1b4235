"""Reads the body of POST /keywords and checks its form."""

from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from heliograph.base.forms import Form, as_text, quote_value, text_reader
from heliograph.base.short_texts import one_line
from heliograph.base.unknown_fields import PAYER
from heliograph.inbound.keywords.built_in import BUILT_IN, KeywordAction, KeywordLanguage
from heliograph.inbound.keywords.fold import fold
from heliograph.inbound.keywords.match import WORDS_MAX
from heliograph.inbound.tables import KEYWORD_MAX
from heliograph.keys import CUSTOMER_ID_MAX
from heliograph.text import SEGMENTS_MAX, count_segments

NUMBER_MAX: Final = 40  # characters: an id, or digits with a plus

Choice = TypeVar("Choice", bound=StrEnum)


class KeywordRequest(NamedTuple):
    """Holds a body of POST /keywords that is right in form."""

    keyword: str
    folded: str
    number: str | None
    action: KeywordAction
    reply: str | None
    language: KeywordLanguage | None
    customer_id: str | None
    warnings: list[str]


def read_keyword_request(body: dict[str, Any]) -> KeywordRequest:
    """Reads the body of a request that adds a keyword. Raises InvalidRequest for all bad fields
    together.
    """
    form = Form(body, costly=(PAYER,))
    keyword = form.value("keyword", read=text_reader(_keyword), required=True)
    number = form.text("number", most=NUMBER_MAX)
    action = form.value("action", read=lambda value: _one_of(KeywordAction, value))
    reply = form.value("reply", read=_reply)
    language = form.value("language", read=lambda value: _one_of(KeywordLanguage, value))
    customer_id = form.text("customer_id", most=CUSTOMER_ID_MAX)
    form.finish()
    assert keyword is not None
    folded = fold(keyword)
    return KeywordRequest(
        keyword=keyword,
        folded=folded,
        number=number,
        action=action or _usual_action(folded),
        reply=reply,
        language=language,
        customer_id=customer_id,
        warnings=form.warnings(),
    )


def _keyword(text: str) -> str:
    keyword = one_line("keyword", text, most=KEYWORD_MAX)
    folded = fold(keyword)
    if not 0 < len(folded) <= KEYWORD_MAX:
        raise ValueError(f"must have a letter or a digit, not {quote_value(keyword)}")
    if len(folded.split()) > WORDS_MAX:
        raise ValueError(f"must have at most {WORDS_MAX} words, not {len(folded.split())}")
    return keyword


def _usual_action(folded: str) -> KeywordAction:
    """Returns what a keyword does if the request does not say. A built-in word does what it always
    does, so that another reply to START or HELP takes nothing from it.
    """
    built_in = BUILT_IN.get(folded)
    return KeywordAction.NONE if built_in is None else built_in.action


def _reply(value: Any) -> str:
    text = as_text(value)
    if not text:
        raise ValueError(f"must have 1 character to {SEGMENTS_MAX} segments, not 0")
    _, segments = count_segments(text)
    if segments > SEGMENTS_MAX:
        raise ValueError(f"takes {segments} segments; allowed: {SEGMENTS_MAX}")
    return text


def _one_of(choices: type[Choice], value: Any) -> Choice:
    text = as_text(value)
    if found := next((each for each in choices if each.value == text), None):
        return found
    raise ValueError(f"must be one of {', '.join(choices)}, not {quote_value(text)}")
