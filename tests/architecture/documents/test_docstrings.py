"""A docstring is a sentence with a subject and a verb. Fragments leave one of them to the reader.
They begin with a question word ("What a carrier …") or with a preposition ("Of one that …"), or
their only verb stands in a relative clause ("A queue whose items are due").

It begins with the verb that says what the thing is for ("Stores …"), and not with "This is". Only
an error's may begin so, because it is the message that its reader gets.

A test's own docstring goes on where its name ends, so it may begin with "It".

Every public function of a module of `src` has one.

That a sentence is plain and true no test can tell: readers do.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.sources import PACKAGE, ROOT, code_of, nodes_of, sources

FOLDERS: Final = (
    PACKAGE,
    *(ROOT / folder for folder in ("assets", "bench", "examples", "tests", "tools")),
)
QUESTION_WORD: Final = re.compile(
    r"(What|Who|Whom|Whose|Whether|How|Which|Where|Why|Whoever|Whatever|Whichever|Wherever)\b"
)
PREPOSITION: Final = re.compile(
    r"(Of|By|For|With|In|On|At|From|To|As|Like|Between|Beside|Against|Among|Until|Without)\b"
)
POINTING: Final = re.compile(r"(This|These|It|Here)\b")
FIRST_CLAUSE: Final = re.compile(r"[:;](\s|$)|[.!?]$")
ASIDE: Final = re.compile(r"\([^()]*\)")
QUOTED: Final = re.compile(r"`[^`]*`|\"[^\"]*\"")
ENDPOINT: Final = re.compile(r"\b(GET|POST|PUT|DELETE|HEAD)\b|\S*/[\w/{}.-]*\w")
WORD: Final = re.compile(r"[A-Za-z][\w'-]*|,")


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


AUXILIARIES: Final = _words_of(
    """
    are can cannot could did do does had has have is may might must shall should was were will would
    """
)
# in "may have gone" only "may" is finite
FINITE: Final = AUXILIARIES - {"do", "had", "have"}
# how a sentence may begin, whose subject is the thing itself
BEGINNINGS: Final = _words_of(
    """
    accepts acts adds ages answers applies approves asks asserts audits awaits batches begins binds
    breaks brings builds buys caches calls cancels carries changes charges checks chooses claims
    classifies closes collects combines commits compares compiles completes computes connects
    contains converts copies corrects counts creates credits cuts deals decides declares decodes
    defines deletes delivers describes detaches disables does drains draws drops emits encodes
    encrypts ends enters erases expands explains extends extracts fails fills finds follows forbids
    forgets forks freezes gives goes grants groups guards handles hands has hashes heeds holds
    identifies implements imports inserts installs invites is issues judges keeps kills knows lays
    leads leaves lets limits links listens lists loads locks logs looks loses makes manages maps
    marks matches measures mends migrates models moves names needs notes obeys opens opts owes pairs
    parses passes pauses pays places plots polls posts prepares presses prices prints promotes
    proves provides provisions pulls puts queues quotes raises reads reconciles records refuses
    registers remembers removes renders renews repeats replaces replays reports requires reserves
    resolves resumes retires returns revokes runs saves says schedules seals searches sees selects
    sells sends serves sets settles shares shows shuts signs sorts speaks spells splits spreads
    stands starts stops stores submits suspends sweeps takes tallies tells throws tries turns
    uploads uses verifies waits wakes wants watches withdraws works writes yields
    """
)
# these are nouns as often: "Counts of past days", "Names that people have"
NOUNS_TOO: Final = _words_of(
    """
    acts ages answers audits batches binds breaks caches calls cancels changes charges checks claims
    copies counts credits cuts deals draws drops ends forks goes groups guards handles
    holds imports issues judges leads limits links lists locks logs looks maps marks matches
    measures moves names notes pairs passes pauses places plots polls posts prices prints queues
    quotes reads records repeats replays reports reserves returns runs schedules seals searches
    shares shows signs sorts stands starts stops tallies tries turns uses waits watches works
    """
)
BEHIND_A_NOUN: Final = frozenset({"of", "are", "were", "have"})
BEHIND_A_NAME: Final = frozenset({"that", "which", "who", "whose"})
# "Notes that …", "Records who …"
SAYING: Final = frozenset(
    {"answers", "calls", "checks", "claims", "judges", "leads", "notes", "reads", "records"}
    | {"reports", "returns", "shows"}
)
# how a command's help begins, which tells its reader what to do
ORDERS: Final = _words_of(
    """
    add approve ask bind block bring buy cancel change close continue correct create delete end
    erase freeze give hold keep let lift list make open prove register reject remove replay reserve
    revoke say send set show stop suspend take tell turn watch withdraw work write
    """
)
# finite verbs of a clause with a subject of its own
VERBS: Final = (
    AUXILIARIES
    | (BEGINNINGS - NOUNS_TOO)
    | _words_of(
        """
        acts add adds agree allow answered answers arrives ask became become becomes begin believes
        binds blocks breaks bring came changes cites come comes counts decide depends dies differ
        drops ends falls find fires get gets give go goes guards hangs hits holds import install
        keep lasts leads leave left lists looks make manage matter mean means measures meets met
        misbehave move moves need needs opt outlives passes print provision provisions reach reaches
        reads refuse renew report reports run runs saw say see send serve settle share show showed
        shows sign speak stand stands starts stays stood stops take took tries turn use uses visits
        wait waits want went wins wishes works write wrote
        """
    )
)
# they are verbs right behind a plural ("Clients call"), and else nouns
BEHIND_PLURALS: Final = _words_of("answer call change hold judge let look name race set try work")
# each begins a clause that has a verb of its own
SUBORDINATE: Final = _words_of(
    """
    because how if that unless what whatever when whenever where wherever whether which whichever
    while who whoever whom whose why
    """
)
# these do too, or are prepositions: a comma tells that nothing more comes
PERHAPS_SUBORDINATE: Final = frozenset({"after", "as", "before", "since", "until"})
# they are verbs behind the pronoun of their clause, and else nouns or participles
ONLY_IN_A_CLAUSE: Final = frozenset(
    {"answer", "change", "found", "kept", "made", "said", "sent", "signs", "told", "took"}
)
# after one of these the word is a noun, or an infinitive
NO_VERB_AFTER: Final = _words_of(
    """
    be been a an the no one any each every many some its his her their our your one's of in on by
    for from with without to at into between through over own not
    """
)
JOINS: Final = frozenset({"and", "or", "nor", "but"})
# what a reader gets whole: the message of an error that docs/api.md words
WORDED_ELSEWHERE: Final = {
    "RateLimited": "docs/api.md gives the text of RATE_LIMITED",
}
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_every_public_function_has_a_docstring() -> None:
    """Asks it of the functions that a module of `src` defines, and also below an `if` or a `try`. A
    function inside of another one is for that one alone, and a method is read with its class, which
    may inherit its docstring. `upgrade` of a migration is what the docstring of its module says.
    """
    found = [
        (source.path, node)
        for source in sources(PACKAGE)
        if not source.path.startswith("migrations/versions/")
        for node in _functions_of(source.tree)
        if not node.name.startswith("_")
    ]
    assert found
    without = [
        f"{path}:{node.lineno}: {node.name}" for path, node in found if not ast.get_docstring(node)
    ]
    assert not without, "\n".join(without)


@pytest.mark.parametrize(
    "text",
    [
        "def asked(): ...",
        "async def asked(): ...",
        "if TYPE_CHECKING:\n    pass\nelse:\n    def asked(): ...",
        "try:\n    import re\nexcept ImportError:\n    def asked(): ...",
    ],
)
def test_a_function_of_a_module_is_found(text: str) -> None:
    assert [node.name for node in _functions_of(ast.parse(text))] == ["asked"]


@pytest.mark.parametrize(
    "text", ["class Door:\n    def method(self): ...", "def asked():\n    def inside(): ..."]
)
def test_a_method_and_a_function_inside_of_another_are_not_asked(text: str) -> None:
    assert not {"method", "inside"} & {node.name for node in _functions_of(ast.parse(text))}


def test_no_docstring_is_a_fragment() -> None:
    fragments = [
        place for place, node, sentence in _documented() if _begins_as_fragments_do(sentence)
    ]
    assert not fragments, "\n".join(fragments)


def test_the_main_clause_of_every_docstring_has_a_verb() -> None:
    """It begins with the verb ("Stores …"), or has one that is not in a relative clause. The help
    of a command and the message of an error may tell the reader what to do ("List accounts").
    """
    errors = _errors()
    without = [
        place
        for place, node, sentence in _documented()
        if _name(node) not in WORDED_ELSEWHERE
        and not ((_is_command(node) or _name(node) in errors) and ORDERS & {*_words(sentence)[:1]})
        and not _has_a_main_verb(sentence)
    ]
    assert not without, "\n".join(without)


def test_every_exception_is_still_there() -> None:
    assert WORDED_ELSEWHERE.keys() <= {_name(node) for _, node, _ in _documented()}


@pytest.mark.parametrize(
    "sentence",
    [
        "The bits of all segments.",
        "--limit of a list",
        "A time.",
        "One change of an account's status, which the operator has made.",
        "All country codes that are accepted, upper case.",
        "Every message that is kept, in the order of ids.",
        "A queue whose items are due a fixed time after they were put in.",
        "A form that was sent and is done once.",
        "All accepted sends, in order.",
        "The most memory that a process has ever had.",
        "Whether servers that already run are to be left alone.",
        "Messages that may not have gone.",
        "Counts of past days.",
        "Names that people may have.",
        "The API keys of an account: a list, a form that makes one, and what it is for.",
        "Ids (what is shown) of all that waits.",
        "How many looks at a queue there were.",
        "A request that acts for the customer of this name.",
        "GET /messages/{id} and POST /sms/send.",
    ],
)
def test_a_sentence_without_a_main_verb_is_found(sentence: str) -> None:
    assert not _has_a_main_verb(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Stores a message.",
        "Counts the messages that wait.",
        "A command that ends soon leaves its garbage to the end of its process.",
        "What answers HTTP ends in order: it says that it stops.",
        "Before a command touches the database, this asks: is it one?",
        "An account that may not have sent anything is suspended.",
        "Clients call `GET /balance`, and people work beside them.",
        "`python -m bench` measures what it is told to.",
    ],
)
def test_a_sentence_with_a_main_verb_passes(sentence: str) -> None:
    assert _has_a_main_verb(sentence)


def test_no_docstring_begins_by_pointing_at_its_thing() -> None:
    errors = _errors()
    pointing = [
        place
        for place, node, sentence in _documented()
        if POINTING.match(sentence)
        and _name(node) not in errors
        and not _name(node).startswith("test_")
    ]
    assert not pointing, "\n".join(pointing)


def _has_a_main_verb(sentence: str) -> bool:
    """Returns whether one verb more is there than subordinate clauses take, up to the first colon.
    It begins with a known verb, or a subject stands before its verb.
    """
    words = _words(sentence)
    if not words:
        return False
    if words[0] in BEGINNINGS and not _is_noun(*words[:2]):
        return True
    waiting: list[str] = []  # clauses whose verb is still to come
    inside = False  # a clause, whose verb another one may follow ("that was sent and is done")
    auxiliary_at = -9  # behind one, the next two words are no verbs of their own ("may not have")
    for at, (before, word) in enumerate(zip(["", *words], words, strict=False)):
        if word == ",":
            waiting = [each for each in waiting if each not in PERHAPS_SUBORDINATE]
        elif word in SUBORDINATE | PERHAPS_SUBORDINATE:
            waiting.append(word)
        elif _is_verb(word, before) and (at - auxiliary_at > 2 or word in FINITE):
            if word in AUXILIARIES:
                auxiliary_at = at
            if waiting:
                waiting.pop()
                inside = True
            elif not (inside and before in JOINS):
                return True
    return False


def _is_verb(word: str, before: str) -> bool:
    if not before:
        return False  # a beginning that is not in BEGINNINGS
    if word in AUXILIARIES:
        return word in FINITE or before != "to"
    if before in SUBORDINATE and (word.endswith("ed") or word in ONLY_IN_A_CLAUSE):
        return True
    if word in BEHIND_PLURALS:
        return _is_plural(before)
    return word in VERBS and before not in NO_VERB_AFTER and not before.endswith(("'s", "ed"))


def _is_plural(word: str) -> bool:
    if word in NO_VERB_AFTER | AUXILIARIES or word in {"this", "as", "always"}:
        return False
    return word in {"people", "they"} or (word.endswith("s") and not word.endswith(("'s", "ss")))


def _is_noun(word: str, behind: str = "") -> bool:
    """Returns whether this word of NOUNS_TOO is a noun, by the word behind it."""
    return word in NOUNS_TOO and (
        behind in BEHIND_A_NOUN or (behind in BEHIND_A_NAME and word not in SAYING)
    )


def _words(sentence: str) -> list[str]:
    """Returns the words and commas up to the first colon, in lower case. What is quoted counts as a
    name, and so do methods and paths, and what stands in brackets.
    """
    named = ENDPOINT.sub("X", QUOTED.sub("X", ASIDE.sub("X", sentence)))
    return WORD.findall(FIRST_CLAUSE.split(named, maxsplit=1)[0].lower())


def _is_command(node: Documented) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        ".command(" in code_of(each) for each in node.decorator_list
    )


def _functions_of(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yields the functions that a module defines outside of classes and other functions."""
    inside: list[ast.AST] = [module]
    while inside:
        node = inside.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif not isinstance(node, ast.ClassDef):
            inside += ast.iter_child_nodes(node)


def _documented() -> Iterator[tuple[str, Documented, str]]:
    """Yields what has a docstring, with the docstring's place and its first sentence. The place is
    what a failure shows: file, line, name and the sentence.
    """
    for folder in FOLDERS:
        for source in sources(folder):
            path = (folder / source.path).relative_to(ROOT)
            for node in nodes_of(source.tree):
                if isinstance(node, Documented) and (text := ast.get_docstring(node)):
                    sentence = _first_sentence(text)
                    line = node.body[0].lineno
                    yield f"{path}:{line}: {_name(node)}: {sentence}", node, sentence


def _name(node: Documented) -> str:
    return getattr(node, "name", "the module")


def _errors() -> set[str]:
    """Returns the names of all classes that are exceptions."""
    bases = {
        node.name: {code_of(base).rpartition(".")[2] for base in node.bases}
        for folder in FOLDERS
        for source in sources(folder)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.ClassDef)
    }
    errors: set[str] = {"Exception"}
    while more := {name for name, of in bases.items() if of & errors} - errors:
        errors |= more
    return errors


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]


def _begins_as_fragments_do(sentence: str) -> bool:
    """Returns whether it begins with a preposition and is no clause before the main one, which ends
    with a comma. A question word may begin a subject, if a verb of its own follows ("What comes is
    stored").
    """
    if PREPOSITION.match(sentence):
        return "," not in sentence
    return bool(QUESTION_WORD.match(sentence)) and not _has_a_main_verb(sentence)
