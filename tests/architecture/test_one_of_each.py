"""What has one rule has one place: the statement that adds a ledger entry is written once, and
every transaction uses it, hot or not. So it is with the rule of the low-balance alarms, with
Idempotency-Keys, with forms of the portal that are done once, and with the reader of CSV.
"""

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import pytest

from heliograph.base import clock
from tests.support.parsed import named_in, texts_of
from tests.support.sources import PACKAGE, code_of, nodes_of, sources

SPANS: Final = {"MINUTE_MS": clock.MINUTE_MS, "HOUR_MS": clock.HOUR_MS, "DAY_MS": clock.DAY_MS}
# what the alarms' rule judges by
ALARMS: Final = {
    "balance_alarm_armed",
    "credits_alarm_armed",
    "low_balance_amount_minor",
    "low_balance_credits",
}

# Two files define these with one value, and either may change without the other.
PACE = "how often each of them does it"
OWN_LIMIT = "what each of them can bear"
COLUMN = "as wide as a column of each"
WORD = "a word that has a meaning of its own in each room"
SAME_BY_CHANCE: Final = {
    "ADDRESS_SHARE": OWN_LIMIT,
    "AGAIN_S": PACE,
    "BATCH_MAX": OWN_LIMIT,
    "COMPARED_MAX": OWN_LIMIT,
    "DAYS": "what a page shows",
    "DEFAULT": WORD,
    "DELIVERED": WORD,
    "DETAIL_MAX": COLUMN,
    "DIGITS": "of codes by SMS, and of those that apps make",
    "EVENT_PREFIX": "of events of a site, and of those that are posted",
    "EVERY_S": PACE,
    "FAILED": WORD,
    "FIELDS": "of the form of each page",
    "KEPT_MS": "for how long each of them is kept",
    "GROUP": "how each code is written for a reader",
    "LINES_A_SECOND_MAX": OWN_LIMIT,
    "LINES_MAX": OWN_LIMIT,
    "LOOK_S": PACE,
    "NAME_MAX": COLUMN,
    "OTP": WORD,
    "PAGE": OWN_LIMIT,
    "POLL_S": PACE,
    "RAW_OCTETS_MAX": "what is kept of a receipt, and what its column can have",
    "REFERENCE_MAX": COLUMN,
    "ROWS_AT_ONCE": OWN_LIMIT,
    "SUSPENDED": WORD,
    "TELL_S": PACE,
    "TEXTS_KEPT_MAX": OWN_LIMIT,
    "TOLD_S": PACE,
    "WINDOW_MAX": OWN_LIMIT,
}
KEYS: Final = "requests/stored_keys.py"
ONCE: Final = "portal/form_idempotency.py"
GIVE_KEYS: Final = {
    "requests/idempotency.py": "ordinary POSTs",
    "messages/api.py": "a send, which is stored with others in a batch",
    "messages/accept/batch.py": "the same send, as the batch looks its key up",
    "otp/api.py": "a verification, which is stored with others in a batch",
    "otp/verify.py": "the same verification, as the batch looks its key up",
    ONCE: "forms of the portal",
}
NAME_ONCE: Final = {
    "portal/page_request.py": "it says what the field is called",
    "portal/filled_form.py": "it leaves the field out of what was filled in",
    "portal/portal.py": "it offers to send a form again whose outcome nobody knows",
}
COMPARE_OTHER_HASHES: Final = {
    "audit/submissions.py": "texts of a log",
    "keys/issue.py": "a key that an operator was given",
    "users/members.py": "links of invitations",
    "users/operators.py": "secrets of sessions",
    "users/password_tries.py": "secrets of browsers",
    "users/portal_views.py": "sessions that look at a portal",
    "users/sign_ins.py": "links, and secrets of sessions",
    "users/sign_ups.py": "links of sign-ups",
    "users/two_step.py": "recovery codes",
}
SAMPLE_OF_ABOVE: Final = "a sample shows ids of rooms above"
PREFIXES_OF_ROOMS_ABOVE: Final = {
    ("webhooks/record_attempts.py", "whe"): "the file of endpoints stands above it",
    ("webhooks/sample_event.py", "cmp"): SAMPLE_OF_ABOVE,
    ("webhooks/sample_event.py", "inb"): SAMPLE_OF_ABOVE,
    ("webhooks/sample_event.py", "msg"): SAMPLE_OF_ABOVE,
    ("webhooks/sample_event.py", "snd"): SAMPLE_OF_ABOVE,
}
# the name of the table comes from elsewhere
INSERT_OF_ANY_TABLE: Final = re.compile(r"\bINSERT\s+(?:OR\s+\w+\s+)?INTO\s*$", re.IGNORECASE)


def test_ledger_entries_are_inserted_by_one_file() -> None:
    assert _inserting_into("ledger_entries") == {"wallet/entry.py"}


def test_low_balance_alarms_are_judged_by_one_function() -> None:
    judged = [
        f"{source.path}:{node.lineno} {code_of(node)}: ask alarm.judge"
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Compare | ast.BoolOp)
        and any(
            isinstance(value, ast.Attribute) and value.attr in ALARMS for value in _compared(node)
        )
    ]
    assert not judged, "\n".join(judged)


def test_idempotency_keys_are_written_and_aged_by_one_file() -> None:
    assert _inserting_into("idempotency_keys") == {KEYS}
    aged = {
        source.path
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.BinOp) and "KEPT_MS" in map(ast.unparse, (node.left, node.right))
        if source.path == KEYS or _imports_from(source.tree, "heliograph.requests", "KEPT_MS")
    }
    assert aged == {KEYS}


def test_only_these_files_give_a_request_its_idempotency_key() -> None:
    giving = {
        source.path
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if (isinstance(node, ast.Call) and code_of(node.func) in ("ScopedKey", "run_once"))
        or (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and node.attr in ("idempotency_key", "body_sha256")
        )
    }
    assert giving - {KEYS} == set(GIVE_KEYS)


def test_a_form_is_done_once_by_one_file() -> None:
    """The value that a form is done once by is made, shown, read and used by
    `portal/form_idempotency.py`.
    """
    portal = [source for source in sources(PACKAGE) if source.path.startswith("portal/")]
    naming = {
        source.path
        for source in portal
        for node in nodes_of(source.tree)
        if (isinstance(node, ast.Constant) and node.value == "once")
        or (isinstance(node, ast.Name) and node.id == "ONCE_FIELD")
    }
    assert naming == {ONCE, *NAME_ONCE}
    shown = {
        f"{source.path}: {code_of(keyword)}"
        for source in portal
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Call) and code_of(node.func) == "page"
        for keyword in node.keywords
        if keyword.arg == "once"
    }
    assert not shown, f"every page has it (PageRequest.once_after): {shown}"
    fields = {
        f"{path.name}: {found}"
        for path in (PACKAGE / "portal" / "templates").rglob("*.html")
        for found in re.findall(
            r'(name="once"[^>]*|ui.token."once"[^)]*.)', path.read_text("utf-8")
        )
    }
    assert len(fields) >= 6, "there are such forms"
    assert all(found.endswith('ui.token("once", once)') for found in fields), fields


def test_files_in_csv_are_read_by_one_room() -> None:
    """`base/csv` alone takes lines apart, and everybody else asks its reader."""
    importing = {
        source.path
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if (isinstance(node, ast.Import) and any(alias.name == "csv" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "csv" and not node.level)
    }
    assert importing == {"base/csv/reader.py", "base/csv/records.py"}
    reading = {
        source.path
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Call) and code_of(node.func).endswith("read_records")
    }
    assert reading == {"base/csv/reader.py"}


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Returns the functions of a file by their names."""
    return {
        node.name: node
        for node in nodes_of(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_no_function_has_a_twin_for_ordinary_transactions() -> None:
    twins = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources(PACKAGE)
        for named in [_functions(source.tree)]
        for node in named.values()
        if node.name.endswith("_now")
        or node.name.removesuffix("_hot") in named.keys() - {node.name}
    ]
    twins = [twin for twin in twins if not twin.endswith(" close_hot")]  # it ends connections
    assert not twins, f"database.hot.run_in runs what the hot paths run: {twins}"


def test_bodies_of_requests_are_compared_by_one_function() -> None:
    comparing = {
        source.path
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Compare)
        and any("sha256" in code_of(value) for value in _compared(node))
    }
    assert comparing - set(COMPARE_OTHER_HASHES) == {KEYS}
    assert set(COMPARE_OTHER_HASHES) < comparing


def test_the_prefix_of_an_id_is_written_where_it_is_defined() -> None:
    """Whoever makes or reads an id asks for its prefix by name."""
    literal = {
        (source.path, node.args[0].value)
        for source in sources(PACKAGE)
        for node in nodes_of(source.tree)
        if isinstance(node, ast.Call)
        and code_of(node.func).rpartition(".")[2] in ("text_of_raw", "raw_of_text")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert literal == set(PREFIXES_OF_ROOMS_ABOVE)


def test_no_two_classes_have_the_same_name() -> None:
    """A name means one thing, also where it begins with _ and is its module's own."""
    places: dict[str, list[str]] = defaultdict(list)
    for source in sources(PACKAGE):
        for node in nodes_of(source.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(source.path)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert len(places) > 800, "there are so many classes"
    assert not shared, shared


def test_no_constant_is_defined_in_two_files() -> None:
    """What two files need has one home. An underscore before a name makes no other name of it."""
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source in sources(PACKAGE):
        if not source.path.startswith("migrations/"):  # frozen
            for name, value in _constants(source.tree):
                places[name.lstrip("_"), value].append(source.path)
    twice = {name: found for (name, _), found in places.items() if len(found) > 1}
    others = {name: found for name, found in twice.items() if name not in SAME_BY_CHANCE}
    assert len(places) > 1_000, "there are so many constants"
    assert not others, "give it one home:\n" + "\n".join(map(str, sorted(others.items())))
    assert set(SAME_BY_CHANCE) == set(twice), "these are defined once: take them out"


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yields each constant of a module and its value. A number counts however it is written, as a
    product too.
    """
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target: ast.expr = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        else:
            continue
        if isinstance(target, ast.Name) and target.id.isupper() and node.value is not None:
            number = _number_of(node.value)
            value = code_of(node.value) if number is None else f"{number:g}"
            if not value.startswith("TypeVar("):
                yield target.id, value


def _number_of(node: ast.expr) -> float | None:
    """Returns the number that an expression of numbers and of spans of time is, or None."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return SPANS.get(name)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            factors = [each for each in map(_number_of, (left, right)) if each is not None]
            return math.prod(factors) if len(factors) == 2 else None
    return None


def _compared(node: ast.Compare | ast.BoolOp) -> Iterator[ast.expr]:
    yield from node.values if isinstance(node, ast.BoolOp) else [node.left, *node.comparators]


def _imports_from(tree: ast.Module, room: str, name: str) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(room)
        and any(alias.name == name for alias in node.names)
        for node in nodes_of(tree)
    )


@pytest.mark.parametrize(
    "line",
    [
        "INSERT = 'INSERT INTO ledger_entries (id) VALUES (?)'",
        "INSERT = 'insert into ledger_entries (id) VALUES (?)'",
        "INSERT = f'INSERT INTO {ledger_entries.name} (id) VALUES (?)'",
        "INSERT = Insert(ledger_entries.name, Entry)",
        "ledger_entries.insert().values(id=1)",
        "sa.insert(tables.ledger_entries).values(id=1)",
        "from heliograph.wallet.tables import ledger_entries as kept\nkept.insert()",
        "INSERT = 'INSERT INTO ' + table.name + ' VALUES (1)'",
        "INSERT = 'INSERT OR IGNORE INTO ledger_entries (id) VALUES (?)'",
        "INSERT = 'INSERT INTO public.ledger_entries (id) VALUES (1)'",
        "tx.execute(sa.insert(table=ledger_entries))",
    ],
)
def test_an_insertion_is_found_in_all_its_forms(line: str) -> None:
    assert _inserts_into("ledger_entries", ast.parse(line))


def _inserting_into(table: str) -> set[str]:
    """Returns the files that insert rows of this table, in SQL or by SQLAlchemy."""
    return {
        source.path
        for source in sources(PACKAGE)
        if not source.path.startswith("migrations/") and _inserts_into(table, source.tree)
    }


def _inserts_into(table: str, tree: ast.Module) -> bool:
    """Returns whether a file does, or may: where a text ends before the name of its table."""
    if any(INSERT_OF_ANY_TABLE.search(text) for _, text in texts_of(tree)):
        return True
    names = [table, *(alias for alias, name in named_in([tree]).items() if name == table)]
    either = f"(?:{'|'.join(map(re.escape, names))})"
    return bool(
        re.search(
            rf"(?i:INSERT\s+(?:OR\s+\w+\s+)?INTO)\s+(?:public\.)?\"?(?:{table}\b|{{{either}\.name)|\b{either}\.insert\("
            rf"|(?i:\binsert)\(\s*(?:table=)?\s*[\"']?(?:\w+\.)*{either}\b",
            code_of(tree),
        )
    )
