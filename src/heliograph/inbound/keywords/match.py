"""Decides which keyword a text is, if any: purely, of what is known of the number's own ones."""

import string
from collections.abc import Mapping
from typing import Final, NamedTuple

from heliograph.inbound.keywords.built_in import BUILT_IN, KeywordAction, KeywordLanguage
from heliograph.inbound.keywords.fold import fold
from heliograph.inbound.keywords.suspicion import seems_to_opt_out
from heliograph.inbound.tables import KEYWORD_MAX

WORDS_MAX: Final = 4  # that a keyword is made of
# a body that is longer without its edges is not a keyword; folding it would cost for nothing
_WHOLE_MAX: Final = 4 * KEYWORD_MAX
_EDGES: Final = (
    string.whitespace + string.punctuation
)  # of any length: some centres pad with spaces


class KeywordRule(NamedTuple):
    """Says what one of a number's own keywords does. `reply` is null where it has none."""

    action: KeywordAction
    reply: str | None = None
    language: KeywordLanguage | None = None


class MatchedKeyword(NamedTuple):
    """Holds the keyword that a text is, folded, and what it does."""

    word: str
    rule: KeywordRule


def candidates(text: str, *, first_word: bool) -> list[str]:
    """Returns the folded words of which a text may be one, the longest first: the whole text, and
    where `first_word` holds what it begins with.
    """
    text = text.strip(_EDGES)
    whole = [fold(text)] if len(text) <= _WHOLE_MAX else []
    begin = text[:_WHOLE_MAX].split()[:WORDS_MAX] if first_word else []
    beginnings = [fold(" ".join(begin[:count])) for count in range(len(begin), 0, -1)]
    found = dict.fromkeys(word for word in (*whole, *beginnings) if 0 < len(word) <= KEYWORD_MAX)
    return list(found)


def match(
    text: str, own: Mapping[str, KeywordRule], *, first_word: bool = False
) -> MatchedKeyword | None:
    """Returns which keyword a text is: one of the number's own ones (by folded word), a built-in
    one, or None. A built-in word that opts out always does, whatever its owner says.
    """
    for word in candidates(text, first_word=first_word):
        built_in = BUILT_IN.get(word)
        rule = own.get(word)
        if rule is None and built_in is not None:
            rule = KeywordRule(built_in.action, language=built_in.language)
        if rule is None:
            continue
        if built_in is not None and built_in.action is KeywordAction.OPT_OUT:
            rule = rule._replace(
                action=KeywordAction.OPT_OUT, language=rule.language or built_in.language
            )
        return MatchedKeyword(word, rule)
    return None


def is_opt_out_suspected(text: str, matched: MatchedKeyword | None) -> bool:
    """Returns whether somebody should read the text, because it seems to opt out and does not."""
    if matched is not None and matched.rule.action is not KeywordAction.NONE:
        return False
    return seems_to_opt_out(text)
