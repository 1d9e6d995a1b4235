"""Keeps keywords: words that a handset sends, alone or before others, and that do something."""

from heliograph.inbound.keywords.answers import built_in_answer
from heliograph.inbound.keywords.built_in import KeywordAction, KeywordLanguage
from heliograph.inbound.keywords.by_operator import (
    give_back_keywords,
    remove_any_keyword,
    save_keyword_for,
)
from heliograph.inbound.keywords.find_keywords import (
    NOTHING,
    IncomingText,
    KeywordBrand,
    brands,
    find_keywords,
)
from heliograph.inbound.keywords.keyword import (
    Keyword,
    KeywordOwner,
    action_of,
    all_keywords,
    as_keyword_record,
    keyword_text_id,
    keyword_with_id,
    keywords_of_number,
    keywords_page,
)
from heliograph.inbound.keywords.match import MatchedKeyword, match
from heliograph.inbound.keywords.request import NUMBER_MAX

__all__ = [
    "NOTHING",
    "NUMBER_MAX",
    "IncomingText",
    "Keyword",
    "KeywordAction",
    "KeywordBrand",
    "KeywordLanguage",
    "KeywordOwner",
    "MatchedKeyword",
    "action_of",
    "all_keywords",
    "api",
    "as_keyword_record",
    "brands",
    "built_in_answer",
    "find_keywords",
    "give_back_keywords",
    "keyword_text_id",
    "keyword_with_id",
    "keywords_of_number",
    "keywords_page",
    "match",
    "remove_any_keyword",
    "save_keyword_for",
]
