"""Says why a message failed, in the language that is spoken."""

import re
from typing import Final, NamedTuple

from heliograph.messages.states import ERROR_MESSAGES
from heliograph.portal.languages.page_language import marked, translated
from heliograph.portal.languages.refusals import translated_refusal

# what stands in brackets behind the sentence of the error's code, where it is no carrier's
OURS: Final = (
    marked("(it was in doubt whether it was sent; the operator decided so)"),
    marked("(it cannot be encoded for this carrier)"),
)
_IN_BRACKETS: Final = re.compile(r"\((.*)", re.DOTALL)  # cut short, it has no end


class ToldFailure(NamedTuple):
    """Holds why a message failed: `words` in the language that is spoken, and what the `carrier`
    said literally, which is data. That is empty if it said nothing.
    """

    words: str
    carrier: str = ""


def told_failure(error_message: str) -> ToldFailure:
    """Returns what the `error_message` of a message says: the sentence of its code, and in brackets
    what the carrier or this service adds. What is not known is shown as it is.
    """
    for sentence in ERROR_MESSAGES.values():
        if not error_message.startswith(sentence):
            continue
        rest = error_message.removeprefix(sentence).strip()
        if rest in OURS:
            return ToldFailure(f"{translated(sentence)} {translated(rest)}")
        added = _IN_BRACKETS.fullmatch(rest)
        if added is not None or not rest:
            carrier = "" if added is None else added[1].removesuffix(")")
            return ToldFailure(translated(sentence), carrier)
    return ToldFailure(translated_refusal(error_message))


def failure_words(code: str) -> str:
    """Returns the sentence of an error's code. One that is not known is shown as it is."""
    return translated(ERROR_MESSAGES[code]) if code in ERROR_MESSAGES else code
