"""A docstring is a sentence. Fragments that leave the subject or the verb to the reader begin with
a question word ("What a carrier …"), or with a preposition ("Of one that …").

It begins with the verb that says what the thing is for ("Stores …"), and not with "This is". Only
an error's may begin so, because it is the message that its reader gets.

That a sentence is plain and true no test can tell: readers do.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

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
THIRD_PERSON: Final = re.compile(r"(?!This\b)[A-Z][a-z]+s\b")
OTHER_VERB: Final = re.compile(
    r"\b(could|will|would|do|does|did|be|been|called|knows?|ends?|holds?|keeps?|takes?|gives?"
    r"|sends?|shows?|reads?|writes?|says?|tells?|comes?|waits?|stays?|lets?|asks?|begins?|runs?"
    r"|leads?|means?|names?|answers?|stores?|changes?|returns?)\b"
)
POINTING: Final = re.compile(r"(This|These|It|Here)\b")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_no_docstring_is_a_fragment() -> None:
    fragments = list(_fragments())
    assert not fragments, "\n".join(fragments)


def test_the_docstring_of_a_function_has_a_verb() -> None:
    """It begins with the verb ("Stores …"), or has one of the usual ones. A command's is its help,
    and tells the reader what to do ("List accounts").
    """
    without = [
        f"{path}: {_name(node)}: {sentence}"
        for path, node, sentence in _documented()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not any(".command(" in ast.unparse(each) for each in node.decorator_list)
        and not _has_a_verb(sentence)
    ]
    assert not without, "\n".join(without)


@pytest.mark.parametrize("sentence", ["The bits of all segments.", "--limit of a list", "A time."])
def test_a_sentence_without_a_verb_is_found(sentence: str) -> None:
    assert not _has_a_verb(sentence)


def test_no_docstring_begins_by_pointing_at_its_thing() -> None:
    errors = _errors()
    pointing = [
        f"{path}: {_name(node)}: {sentence}"
        for path, node, sentence in _documented()
        if POINTING.match(sentence) and _name(node) not in errors
    ]
    assert not pointing, "\n".join(pointing)


def _has_a_verb(sentence: str) -> bool:
    return bool(
        THIRD_PERSON.match(sentence) or VERB.search(sentence) or OTHER_VERB.search(sentence)
    )


def _fragments() -> Iterator[str]:
    for path, node, sentence in _documented():
        if _is_fragment(sentence):
            yield f"{path}: {_name(node)}: {sentence}"


def _documented() -> Iterator[tuple[str, Documented, str]]:
    """Yields what has a docstring, with its file and the docstring's first sentence."""
    for source in sources(PACKAGE):
        if source.path.startswith("migrations/"):  # written once, and never changed
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, Documented) and (text := ast.get_docstring(node)):
                yield source.path, node, _first_sentence(text)


def _name(node: Documented) -> str:
    return getattr(node, "name", "the module")


def _errors() -> set[str]:
    """Returns the names of all classes that are exceptions."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for source in sources(PACKAGE)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
    }
    errors: set[str] = {"Exception"}
    while more := {name for name, of in bases.items() if of & errors} - errors:
        errors |= more
    return errors


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
