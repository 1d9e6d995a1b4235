"""Whatever the rooms below the portal refuse, a French page says in French: each class of error,
and each sentence that their code has for one. What no page shows is listed here, with the reason.
"""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple

import pytest

import heliograph
from heliograph.base.errors import MethodNotAllowed, ServiceError
from heliograph.portal import languages
from heliograph.portal.languages import refusals
from tests.support.sources import PACKAGE, nodes_of

VALUE: Final = "X7"  # what stands in the places of a sentence
BY_API: Final = "it judges a request of a program, with its key"
BY_OTP: Final = "pages send no one-time passwords, and verify none"
BY_COMMAND: Final = "only commands of the operator do that"
BY_CONSOLE: Final = "the console is in English"
NO_PAGE_SHOWS: Final = {
    "DoneAlready": BY_CONSOLE,
    "Expired": BY_OTP,
    "Forbidden": f"{BY_API}; pages have sentences of their own",
    "HeadersTooLarge": "no page is asked before the header was read",
    "Incorrect": BY_OTP,
    "InvalidJson": BY_API,
    "InvalidRequest": "nobody raises it without a sentence",
    "KeyUnknown": BY_COMMAND,
    "Locked": BY_OTP,
    "StoredMeanwhile": BY_CONSOLE,
    "ViewEnded": BY_CONSOLE,
    "LockedForCodes": BY_OTP,
    "MissingKey": BY_API,
    "NoSuchPath": f"{BY_API}; pages say that there is no such page",
    "NameTaken": BY_CONSOLE,
    "NoneOutstanding": BY_OTP,
    "NoSecondStep": BY_CONSOLE,
    "PayloadTooLarge": f"{BY_API}; forms and files have sentences of their own",
    "ProcessesRun": BY_COMMAND,
    "RangeBlocked": BY_OTP,
    "RemovedAlready": "the list of what is there still is shown, with a notice",
    "SiteNotConnected": BY_API,
    "StillOwed": BY_COMMAND,
    "StillUnderWay": BY_COMMAND,
    "TooManyUnverified": BY_OTP,
    "TooOften": BY_OTP,
    "TooSoon": BY_OTP,
    "Unauthorized": BY_API,
    "UrlTooLong": "no page is asked before the header was read",
}
# rooms and files of which no page shows a sentence
NO_PAGE_ASKS: Final = {
    "alerts": BY_CONSOLE,
    "api": BY_API,
    "audit": BY_COMMAND,
    "base/addresses.py": "it reads settings",
    "base/json.py": BY_API,
    "carriers": BY_COMMAND,
    "cli": BY_COMMAND,
    "console": BY_CONSOLE,
    "database": "what it refuses to pages is Unavailable, which is said by its reason",
    "inbound": f"{BY_CONSOLE}; of texts that came in the portal shows no refusal",
    "jobs": "they end by themselves; what a page shows of it is stored in other rooms",
    "keys/acting_for_customer.py": BY_API,
    "messages/sweeps/cancel.py": BY_CONSOLE,
    "opt_outs/api.py": BY_API,
    "opt_outs/request.py": BY_API,
    "keys/tiers.py": BY_COMMAND,
    "messages/doubt": BY_COMMAND,
    "migrations": BY_COMMAND,
    "otp": BY_OTP,
    "plugin": "plugins tell of themselves by the API, and pages only read it",
    "pricing": BY_CONSOLE,
    "processes": BY_COMMAND,
    "requests/endpoint.py": BY_API,
    "text/numbering_plans.py": "it is run where plans are read anew",
    "text/segments.py": "pages ask it about texts that were judged",
    "wallet/files/statement.py": BY_CONSOLE,
    "wallet/pay_out.py": BY_COMMAND,
    "webhooks/sign.py": BY_API,
}
SENTENCES_OF_NO_PAGE: Final = {
    "is for one recipient, not for X7": BY_API,
    "must be false or left out, not true: whoever runs this service has not allowed this account"
    " to send to those who have opted out": "pages send no transactional texts",
    "is required, because X7 looks like X7 of another account, which is approved": BY_CONSOLE,
    "There is no entry X7.": BY_CONSOLE,
    "This user is no operator.": BY_COMMAND,
    "must stay admin: the console has one admin at least. Make another one first": BY_CONSOLE,
    "There is no such user.": BY_CONSOLE,
    "A customer that was provisioned in sandbox stays there.": BY_COMMAND,
    "Several accounts are named X7; say which by its id: X7.": BY_COMMAND,
    "The name X7 is not reserved.": BY_COMMAND,
    "The sender X7 is X7; only one that is X7 can be X7.": BY_COMMAND,
    "There is no account with the id or name X7.": BY_COMMAND,
    "There is no user X7.": BY_COMMAND,
    "What a customer stores is counted with its partner's: set the quota of X7.": BY_COMMAND,
    "must be all, or some of X7; not X7X7": "the form of a key has a box for each permission",
    "cannot be reserved: at most X7 names can be": BY_COMMAND,
    "must be an object of strings, not X7": "a form has no other values than strings",
    "must not be null: a contact is known by it": "a form has no null",
}
# sentences that are put together of parts, and what they are then
PUT_TOGETHER: Final = {
    "X7 X7.": ["name is required."],
    "The X7 cannot be read.": ["The form cannot be read.", "The query cannot be read."],
    "sender X7.": ["sender must have 1 to 11 characters, not 12."],
    "has X7, but the first line has X7": [
        "has 1 cell, but the first line has 2",
        "has 3 cells, but the first line has 2",
    ],
    "None of the recipients can be sent to. The first, X7, X7.X7": [
        "None of the recipients can be sent to. The first, '1', has no rate: the operator has set"
        " no price for such numbers.",
        "None of the recipients can be sent to. The first, '1', is a number of NG, and this account"
        " may not send there. 1 more cannot be sent to either; error.rejected has them.",
    ],
    "The sender X7 X7; X7 shows its status.": [
        "The sender 'X' is suspended; GET /sender-ids shows its status.",
        "The sender 'X' is suspended; GET /sender-ids with a live key shows its status.",
    ],
    "The sender X7 is not approved for X7; X7 lists its senders, and POST /sender-ids registers"
    " one.": [
        "The sender 'X' is not approved for this account; GET /sender-ids lists its senders, and"
        " POST /sender-ids registers one."
    ],
    "The file has no header, and line X7 has numbers in columns X7. Put a line with the names of"
    " the columns first, and name the column of the phone numbers X7.": [
        "The file has no header, and line 1 has numbers in columns 1, 2. Put a line with the names"
        " of the columns first, and name the column of the phone numbers phone."
    ],
    "The file's header must name the column of the numbers X7 (or X7); it names X7.": [
        "The file's header must name the column of the numbers phone (or number, mobile); it names"
        " a, b."
    ],
}
# what makes a refusal, and which of its arguments says why
MAKERS: Final = {"ValueError": 0, "invalid_field": 1, "FieldError": 1, "refuse": 1}


class Said(NamedTuple):
    """Holds a sentence of the code, with values in its places, and where it stands."""

    at: str
    text: str


def _modules() -> Iterator[tuple[str, ModuleType]]:
    for found in pkgutil.walk_packages(heliograph.__path__, "heliograph."):
        if "__main__" not in found.name and "migrations" not in found.name:
            module = importlib.import_module(found.name)
            assert module.__file__ is not None
            yield module.__file__.removeprefix(f"{PACKAGE}/"), module


MODULES: Final = dict(_modules())


def _classes(of: type[ServiceError] = ServiceError) -> Iterator[type[ServiceError]]:
    for each in of.__subclasses__():
        if each.__module__.startswith("heliograph."):
            yield each
        yield from _classes(each)


CLASSES: Final = {each.__name__: each for each in _classes()}


def _sentences() -> Iterator[Said]:
    for path, module in MODULES.items():
        if any(path == none or path.startswith(f"{none}/") for none in NO_PAGE_ASKS):
            continue
        for node in nodes_of(ast.parse((PACKAGE / path).read_text("utf-8"))):
            if isinstance(node, ast.Call):
                text = _why(node, module)
                if text is not None:
                    yield Said(f"{path}:{node.lineno}", text)


def _why(call: ast.Call, module: ModuleType) -> str | None:
    """Returns the sentence of a call that makes a refusal, if the code has it there."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = MAKERS.get(name, 0 if name in CLASSES else None)
    if name == MethodNotAllowed.__name__:
        place = 1
    if place is None or place >= len(call.args):
        return None
    return _text(call.args[place], module)


def _text(node: ast.AST, module: ModuleType) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, module) or VALUE for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, module) if isinstance(node.value, ast.Name) else None
    value: Any = getattr(module, node.id, None) if isinstance(node, ast.Name) else None
    return value if isinstance(value, str) else None


ALL: Final = sorted(set(_sentences()))


@pytest.fixture(autouse=True)
def _french() -> Iterator[None]:
    languages.use_language("fr")
    yield
    languages.use_language("en")


def is_english(words: object) -> bool:
    return 'lang="en"' in refusals.translated_refusal(words)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_each_class_of_error_is_said_in_french(name: str) -> None:
    if name in NO_PAGE_SHOWS or name == MethodNotAllowed.__name__:
        return
    assert not is_english(CLASSES[name]())


def test_each_sentence_of_a_refusal_is_said_in_french() -> None:
    assert len(ALL) > 200
    assert [
        f"{said.at}: {text}"
        for said in ALL
        if said.text not in SENTENCES_OF_NO_PAGE
        for text in PUT_TOGETHER.get(said.text, [said.text])
        if is_english(text)
    ] == []


def test_what_is_listed_here_is_still_said_in_english_and_there() -> None:
    assert [name for name in NO_PAGE_SHOWS if name not in CLASSES] == []
    # they take figures, a session, a path, and an account
    others = ("StillOwed", "NoSecondStep", "RemovedAlready", "NameTaken")
    made = [name for name in NO_PAGE_SHOWS if name not in others]
    assert [name for name in made if not is_english(CLASSES[name]())] == []
    texts = {said.text for said in ALL}
    assert [text for text in (*SENTENCES_OF_NO_PAGE, *PUT_TOGETHER) if text not in texts] == []
    assert [text for text in SENTENCES_OF_NO_PAGE if not is_english(text)] == []
    assert [path for path in NO_PAGE_ASKS if not (PACKAGE / path).exists()] == []


@pytest.mark.parametrize(
    ("english", "french"),
    [
        (
            "The wallet holds 12.50 GHS; this takes 1,250.00 GHS.",
            "Le portefeuille contient 12,50\u00a0GHS\u202f; il faut 1\u202f250,00\u00a0GHS.",
        ),
        (
            "file must have at most 20,000 rows; split it.",
            "file doit avoir au plus 20\u202f000 lignes\u202f; divisez-le.",
        ),
        (
            "mode must be one of live, sandbox, not 'live and 1,000.5'.",
            "mode doit être l’une des valeurs réel, bac à sable, et non 'live and 1,000.5'.",
        ),
        (
            "events must name at least one of a.b and c.d, or all",
            "events doit nommer au moins l’un de a.b et c.d, ou all",
        ),
        (
            "a is required. 2 more fields are wrong.",
            "a est obligatoire. 2 autres champs sont erronés.",
        ),
        (
            "email must be an email address of at most 254 characters, not 'a; b; c; d; e'; name"
            " is empty. 2 more fields are wrong.",
            "email doit être une adresse e-mail de 254 caractères au plus, et non 'a; b; c; d; e'"
            "\u202f; name est vide. 2 autres champs sont erronés.",
        ),
        (
            'email must have 1 to 9 characters, not "x\'; y"; phone is empty',
            'email doit avoir de 1 à 9 caractères, et non "x\'; y"\u202f; phone est vide',
        ),
        (  # what is cut short has no quote at its end
            f"opted_out must be yes or no, not '{'x; ' * 13}…; name is empty; phone must be a phone"
            " number such as 233201234567, not ' x'",
            f"opted_out doit être yes ou no, et non '{'x; ' * 13}…\u202f; name est vide\u202f;"
            " phone doit être un numéro tel que 233201234567, et non ' x'",
        ),
        (
            "a is required; found 'b; c' instead; d is required",
            "a est obligatoire\u202f; trouvé à la place\u00a0: 'b; c'\u202f; d est obligatoire",
        ),
        (
            "Home town must have 1 to 500 characters, not 501; tag 2 must be one line of printable"
            " characters",
            "Home town doit avoir de 1 à 500 caractères, et non 501\u202f; l’étiquette 2 doit être"
            " une seule ligne de caractères imprimables",
        ),
        (
            "None of the recipients can be sent to. The first, '0244', is not a phone number in"
            " international digits such as 233201234567; for numbers as they are dialled in a"
            " country give countryCode, such as GH.",
            "Aucun des destinataires ne peut recevoir d’envoi. Le premier, '0244', n’est pas un"
            " numéro au format international tel que 233201234567\u202f; pour des numéros tels"
            " qu’on les compose dans un pays, indiquez countryCode, par exemple GH.",
        ),
        (
            "a custom field must have 1 to 64 characters, not 0",
            "un champ personnalisé doit avoir de 1 à 64 caractères, et non 0",
        ),
        (
            "The first line is wrong: column 2, 'x; y', is given twice; and 4 more.",
            "La première ligne est incorrecte\u00a0: la colonne 2, 'x; y', est donné deux fois"
            "\u202f; et 4 autres.",
        ),
        (
            "The first line is wrong: column 2, 'x y', is given twice; b is required.",
            "La première ligne est incorrecte\u00a0: la colonne 2, 'x y', est donné deux fois"
            "\u202f; b est obligatoire.",
        ),
    ],
)
def test_lists_numbers_and_amounts_are_written_in_french(english: str, french: str) -> None:
    assert refusals.translated_refusal(english) == french
