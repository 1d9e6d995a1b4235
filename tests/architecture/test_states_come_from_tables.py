"""Every statement that writes a state takes its condition from the table of transitions in the
`states.py` of its room, and no text of a statement has a state as a literal.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Final

import pytest
import sqlalchemy as sa

import heliograph
from heliograph.accounts.states import ACCOUNT, CLOSED
from heliograph.campaigns.states import CAMPAIGN
from heliograph.database.database import metadata
from heliograph.database.statements import BatchStatement, Statement, TablesStatement
from heliograph.messages.states import MESSAGE, SEGMENT
from heliograph.otp.states import OTP
from heliograph.otp.tables import otps
from heliograph.webhooks.states import ENDPOINT, WAITING
from heliograph.webhooks.tables import webhook_endpoints
from tests.support.parsed import (
    ANY,
    columns_of,
    functions_of,
    looped_in,
    named_in,
    spelled_out,
    texts_of,
)
from tests.support.sources import PACKAGE, code_of, nodes_of, sources
from tests.support.stored_states import INSERTED, TABLES, Kept, governed

NO_STATE_OF_A_TABLE: Final = {  # columns that are called like states, and why they have no table
    "account_history.status": "what was decided, never changed",
    "sender_history.status": "what was decided, never changed",
    "carriers.state": "what was seen last: any may follow any (carriers/carrier_states.py)",
    "links.state": "what was seen last: any may follow any (carriers/carrier_states.py)",
    "site_logs.status": "a shop's own word",
    "webhook_attempts.status": "of HTTP",
    "webhook_deliveries.status": "of HTTP",
}
# They set whatever columns they are given, and a test looks at what those are.
SET_NO_STATE: Final = (("accounts/lifecycle.py", "_update"), ("campaigns/campaign.py", "change"))
STATES: Final = {state for kept in TABLES.values() for state in kept.transitions.states}
UPDATE: Final = re.compile(
    r"\bUPDATE\s+(?:ONLY\s+)?\"?(?P<table>\w+)\"?(?:\s+(?:AS\s+)?(?!SET\b)\w+)?\s+SET\s(?=(?P<rest>.*))",
    re.DOTALL | re.IGNORECASE,
)
UPSERT: Final = re.compile(
    r"\bINSERT\s+INTO\s+(?P<table>\w+).*\bDO\s+UPDATE\s+SET\s(?=(?P<rest>.*))",
    re.DOTALL | re.IGNORECASE,
)
LITERAL_STATE: Final = re.compile(
    r"\b(?:status|state|outcome)\s*(?:=|<>|!=|IN|NOT\s+IN)\s*\(?\s*'[a-z_]+'", re.IGNORECASE
)


def test_each_column_of_a_state_has_its_table_of_transitions() -> None:
    assert _modules()  # so that every table is known
    found = {
        f"{table.name}.{column.name}"
        for table in metadata.tables.values()
        for column in table.columns
        if column.name in ("status", "state", "outcome")
    }
    told = {f"{name}.{column}" for name, kept in TABLES.items() for column in kept.columns}
    assert found <= told | NO_STATE_OF_A_TABLE.keys()
    assert NO_STATE_OF_A_TABLE.keys() <= found


@pytest.mark.parametrize("name", TABLES)
def test_the_database_allows_the_states_of_the_table_and_no_other_word(name: str) -> None:
    """A CHECK does it. A state that is told by other columns has no word in the database."""
    kept = TABLES[name]
    checks = [
        str(each.sqltext)
        for each in metadata.tables[name].constraints
        if isinstance(each, sa.CheckConstraint)
        and re.match(rf"{kept.columns[0]} IN \(", str(each.sqltext))
    ]
    words = {word for check in checks for word in re.findall(r"'(\w+)'", check)}
    if name not in (otps.name, webhook_endpoints.name):
        assert words == set(kept.transitions.states) - {CLOSED, WAITING}


# statements that are declared


def test_a_declared_statement_that_writes_a_state_takes_its_condition_from_the_table() -> None:
    wrong = [
        f"{name} ({dialect}) writes the state of {table}, and does not take its condition from its"
        " table of transitions"
        for name, dialect, text in _declared_texts()
        for table in _written_freely(text)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE campaigns SET status = 'canceled' WHERE id = ?1",
        "UPDATE campaigns SET cursor = 1, status = 'canceled' WHERE status IN ('draft')",
        f"UPDATE campaigns SET status = 'sending' WHERE {CAMPAIGN.may_become('canceled')}",
        "UPDATE messages m SET status = g.status FROM unnest($1) AS g WHERE m.id = g.id",
        "UPDATE inflight SET state = ?1 WHERE state <> 'in_doubt'",
        "WITH x AS (UPDATE otps SET verified_at_ms = 7 WHERE id = 1) SELECT 1",
        "INSERT INTO senders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET status = 'approved'",
        "UPDATE campaigns c SET (status, status_reason) = ('canceled', NULL) WHERE id = 1",
        "UPDATE \"campaigns\" SET status = 'canceled'",
    ],
)
def test_a_statement_that_writes_a_state_as_it_likes_is_found(text: str) -> None:
    assert list(_written_freely(text))


@pytest.mark.parametrize(
    "text",
    [
        f"UPDATE campaigns SET status = 'canceled' WHERE {CAMPAIGN.may_become('canceled')}",
        f"UPDATE inflight i SET state = 'in_doubt' WHERE {SEGMENT.may_become('in_doubt', of='i.')}",
        f"UPDATE messages SET status = ?1 WHERE id = ?2 AND {MESSAGE.may_store('?1')}",
        "UPDATE campaigns SET status_reason = 'x' WHERE status = 'draft'",
    ],
)
def test_a_statement_that_asks_the_table_is_not(text: str) -> None:
    assert not list(_written_freely(text))


def _declared_texts() -> Iterator[tuple[str, str, str]]:
    """Yields (name, dialect, text) of all statements of the package."""
    for module in _modules():
        for name, value in vars(module).items():
            if isinstance(value, Statement | BatchStatement | TablesStatement):
                home = f"{module.__name__}.{name}"
                yield home, "postgresql", value.postgresql.sql
                yield home, "sqlite", value.sqlite.sql


@cache
def _modules() -> list[ModuleType]:
    """Returns all modules of the package, loaded."""
    return [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(heliograph.__path__, "heliograph.")
        if not module.name.startswith("heliograph.migrations")
        and not module.name.endswith("__main__")
    ]


def _written_freely(text: str) -> Iterator[str]:
    """Yields the tables whose state this text writes without asking the table of transitions."""
    for pattern in (UPDATE, UPSERT):
        for found in pattern.finditer(text):
            kept = TABLES.get(found["table"])
            if kept is None:
                continue
            set_part = re.split(r"\bWHERE\b|\bFROM\b", found["rest"], maxsplit=1)[0]
            for column in kept.columns:
                # several at once, such as `SET (status, status_reason) = (…)`
                if re.search(rf"\([^()]*\b{column}\b[^()]*\)\s*=", set_part):
                    yield found["table"]
                written = re.search(rf"(?<![\w.]){column}\s*=\s*('(\w+)'|[^,\s]+)", set_part)
                if written and not any(
                    each in found["rest"] for each in _conditions(kept, written[2], written[1])
                ):
                    yield found["table"]


def _conditions(kept: Kept, state: str | None, new: str) -> Iterator[str]:
    """Yields the conditions that a statement may have which writes this state; or, if the state is
    not told by a word in its text, the expression `new`.
    """
    table = next(name for name, each in TABLES.items() if each is kept)
    for of in ("", *(f"{alias}." for alias in (table, table[0], "i", "e", "m"))):
        if kept.transitions in (OTP, ENDPOINT, ACCOUNT):
            for to in kept.transitions.states:
                yield kept.transitions.may_become(to, of=of)
        elif state is not None:
            yield kept.transitions.may_become(state, of=of)
        else:
            yield kept.transitions.may_store(new, of)


# texts in the source


def test_no_text_of_a_statement_has_a_state_as_a_literal() -> None:
    wrong = [
        f"{source.path}:{node.lineno} {text[:70]!r}"
        for source in governed()
        for node, text in texts_of(source.tree)
        if LITERAL_STATE.search(text)
        or any(
            f"'{state}'" in text
            for table in INSERTED.findall(text)
            if table in TABLES
            for state in TABLES[table].transitions.states
        )
    ]
    assert not wrong, "\n".join(wrong)


# statements that are built with SQLAlchemy


def test_a_built_statement_that_writes_a_state_takes_its_condition_from_the_table() -> None:
    wrong = [
        f"{source.path}:{call.lineno} writes the state of {table}"
        for source in governed()
        for named in [named_in(source.tree.body)]
        for function in functions_of(source.tree)
        if (source.path, function.name) not in SET_NO_STATE
        for call, table, columns in _built_updates(function, named)
        if (columns & set(TABLES[table].columns) or ANY in columns)
        and not re.search(r"\.may_become\(", spelled_out(call, named_in([function])))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_state_is_written_by_a_text_that_is_not_declared() -> None:
    """Such a text is given to `sa.text` or to the driver; it may stand in a module by its name."""
    wrong = [
        f"{source.path}:{call.lineno} {text[:70]!r}"
        for source in governed()
        for call in nodes_of(source.tree)
        if isinstance(call, ast.Call)
        and code_of(call.func).split(".")[-1] in ("text", "exec_driver_sql")
        for _, text in texts_of(ast.Module([ast.Return(each) for each in call.args], []))
        if list(_written_freely(text))
    ]
    wrong += [
        f"{module.__name__}.{name}"
        for module in _modules()
        for name, value in vars(module).items()
        if isinstance(value, str | sa.TextClause) and list(_written_freely(str(value)))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("path", "name"), SET_NO_STATE)
def test_a_function_that_sets_what_it_is_given_is_given_no_state(path: str, name: str) -> None:
    room = path.split("/")[0]
    states = {column for kept in TABLES.values() for column in kept.columns}
    calls = [
        call
        for source in sources(PACKAGE)
        if source.path.startswith(f"{room}/")
        for call in nodes_of(source.tree)
        if isinstance(call, ast.Call) and code_of(call.func).split(".")[-1] == name
    ]
    assert calls
    assert not [code_of(call) for call in calls if columns_of(call) & states]


def test_the_code_names_a_state_by_its_constant_where_it_builds_a_statement() -> None:
    """The code says `columns.status == DRAFT`, for example, and not `columns.status == "draft"`."""
    wrong = [
        f"{source.path}:{node.lineno} {code_of(node)}"
        for source in governed()
        for node in nodes_of(source.tree)
        if isinstance(node, ast.expr) and _has_a_literal_state(node)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "sa.update(campaigns).where(campaigns.c.id == id).values(status=states.PAUSED)",
        "campaigns.update().values(status_reason=None, status=to)",
        "tx.execute(accounts.update().values({'status': 'active'}))",
        "sa.update(senders).values(**values)",
        "sa.update(senders).values(values)",
        "sa.update(tables.senders).values(status=APPROVED)",
        "query = sa.update(senders)\nquery = query.where(x)\nquery.values(status=APPROVED)",
        "them = senders.alias()\nsa.update(them).values(status=APPROVED)",
        "from heliograph.senders.tables import senders as them\nthem.update().values(status=x)",
        "tx.execute(sa.update(senders), [{'status': 'approved'}])",
        "tx.execute(sa.update(senders), rows)",
        "tx.execute(senders.update().where(senders.c.id == id), {'status': to})",
        "sqlite.insert(senders).values(id=1).on_conflict_do_update(set_={'status': to})",
        "for table in (senders, reserved_senders): tx.execute(table.update().values(status=x))",
        "for table in [senders]: tx.execute(sa.update(table).values(status=x))",
        "for table, key in ((senders, senders.c.id),): sa.update(table).values(status=x)",
        "both = (senders, sites)\nfor table in both: table.update().values(status=x)",
        "by_name = {'x': senders}\nfor table in by_name.values(): table.update().values(status=x)",
        "[tx.execute(table.update().values(status=x)) for table in (senders, sites)]",
        "for table in (senders, sites): tx.execute(table.update(), [{'status': x}])",
        "sa.update(senders).ordered_values((senders.c.status, x))",
        "senders.update().ordered_values(('status', x), ('id', 1))",
        "sqlalchemy.update(senders).values(status=x)",
        "make = sa.update\nmake(senders).values(status=x)",
        "from sqlalchemy import update as make\nmake(senders).values(status=x)",
    ],
)
def test_a_built_statement_that_writes_a_state_as_it_likes_is_found(line: str) -> None:
    [(_, table, columns)] = _built_updates(ast.parse(line))
    assert columns & {"status", ANY}
    assert table in TABLES


def _built_updates(
    tree: ast.AST, named_outside: Mapping[str, str] | None = None
) -> Iterator[tuple[ast.Call, str, set[str]]]:
    """Yields (the call that gives the values, the table, the columns) of all updates of those
    tables. A table and a statement may go by a name that they are given there, or outside.
    """
    named = {**(named_outside or {}), **named_in([tree])}
    named |= looped_in(tree, named, TABLES)
    for node in nodes_of(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("values", "ordered_values")
        ):
            for table in _tables_of("update", spelled_out(node.func.value, named)):
                yield node, table, columns_of(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _updates_by_dictionary(node, node.func, named)


def _updates_by_dictionary(
    call: ast.Call, function: ast.Attribute, named: Mapping[str, str]
) -> Iterator[tuple[ast.Call, str, set[str]]]:
    """Yields what `_built_updates` does, where dictionaries in the call have the columns."""
    if function.attr == "execute" and len(call.args) > 1:
        target, kind = spelled_out(call.args[0], named), "update"
    elif function.attr == "on_conflict_do_update":
        target, kind = spelled_out(function.value, named), "insert"
    else:
        return
    columns = {
        key.value
        for part in nodes_of(call)
        if isinstance(part, ast.Dict)
        for key in part.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    if any(isinstance(rows, ast.Name) for rows in call.args[1:]):
        columns.add(ANY)
    for table in _tables_of(kind, target) if columns else ():
        yield call, table, columns


def _tables_of(kind: str, text: str) -> Iterator[str]:
    """Yields the tables with states that a text updates, or inserts into: the one in `update(…)`,
    or before `.update()`; or those that a loop has there, one after the other.
    """
    found = re.search(rf"\b{kind}\(\s*([\w. ]+?)\s*(?:\.alias\(.*?\))?\)", text)
    found = found or re.search(rf"\b([\w. ]+?)\s*\.{kind}\(\)", text)
    words = re.findall(r"[\w.]+", found[1]) if found else []
    yield from dict.fromkeys(name for word in words for name in word.split(".") if name in TABLES)


def _has_a_literal_state(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return re.search(r"(\bc|columns)\.(status|state|outcome)$", code_of(node.left)) is not (
            None
        ) and any(
            isinstance(value, ast.Constant) and value.value in STATES for value in node.comparators
        )
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "values"
        and any(
            keyword.arg in ("status", "state", "outcome")
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value in STATES
            for keyword in node.keywords
        )
    )
