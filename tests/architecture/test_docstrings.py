"""A docstring is a sentence. Fragments that leave the subject or the verb to the reader begin with
a question word ("What a carrier …"), or with a preposition ("Of one that …").

That a sentence is plain and true no test can tell: readers do.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.support.sources import PACKAGE, sources

QUESTION_WORD: Final = re.compile(
    r"(What|Who|Whom|Whose|Whether|How|Which|Where|Why|Whoever|Whatever|Whichever|Wherever)\b"
)
PREPOSITION: Final = re.compile(
    r"(Of|By|For|With|In|On|At|From|To|As|Like|Between|Beside|Against|Among|Until|Without)\b"
)
VERB: Final = re.compile(
    r"\b(is|are|was|were|has|have|may|must|can|gets?|goes|go|makes?|stands?|fails?|counts?|needs?"
    r"|reports?|enters?)\b|\?$"
)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_no_docstring_is_a_fragment() -> None:
    fragments = list(_fragments())
    assert not fragments, "\n".join(fragments)


def _fragments() -> Iterator[str]:
    for source in sources(PACKAGE):
        if source.path.startswith("migrations/"):  # written once, and never changed
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, Documented) and (text := ast.get_docstring(node)):
                sentence = _first_sentence(text)
                if _is_fragment(sentence):
                    name = getattr(node, "name", "the module")
                    yield f"{source.path}: {name}: {sentence}"


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]


def _is_fragment(sentence: str) -> bool:
    """Returns whether it begins as fragments do. A clause before the main one ends with a comma; a
    question word may begin a subject, if a verb of its own follows ("What comes is stored").
    """
    if PREPOSITION.match(sentence):
        return "," not in sentence
    return bool(QUESTION_WORD.match(sentence)) and not VERB.search(sentence)
