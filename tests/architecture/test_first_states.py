"""A stored row begins in a state that the table of transitions of its room lets it begin in:
whoever stores it takes the state from `begun_as`.
"""

import ast
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.support.parsed import named_in, spelled_out
from tests.support.sources import nodes_of
from tests.support.stored_states import INSERTED, TABLES, governed


def test_a_row_begins_in_a_state_that_the_table_lets_it_begin_in() -> None:
    wrong = [
        f"{source.path}:{line} stores {state} in {table} without begun_as"
        for source in governed()
        for line, table, state in _first_states(source.tree)
        if ".begun_as(" not in state
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "S = f\"INSERT INTO messages (id, status) VALUES (:id, '{SENT}')\"",
        "S = f\"INSERT INTO webhook_deliveries (outcome) SELECT m.*, '{MISSED}' FROM :m AS m\"",
        "tx.execute(campaigns.insert().values(id=1, status=states.SENDING))",
        "tx.execute(sa.insert(campaigns).values(id=1, status=SENDING))",
        "row = campaigns.insert()\ntx.execute(row.values(status='sending'))",
    ],
)
def test_a_row_that_begins_as_it_likes_is_found(line: str) -> None:
    assert [state for _, _, state in _first_states(ast.parse(line)) if "begun_as" not in state]


def _first_states(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yields (line, table, state) of each statement that stores rows in these tables: of a text the
    names that stand in quotation marks, of a built one the values of the columns that hold states.
    """
    named = named_in(tree.body)
    for node in nodes_of(tree):
        if isinstance(node, ast.JoinedStr):
            yield from _states_in_text(node, named)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".values"):
            target = spelled_out(node.func, named)
            found = re.search(r"\binsert\(\s*(?:\w+\.)*?(\w+)\)|\b(\w+)\.insert\(\)", target)
            table = (found[1] or found[2]) if found else ""
            for value in node.keywords if table in TABLES else ():
                if value.arg in TABLES[table].columns:
                    yield node.lineno, table, spelled_out(value.value, named)


def _states_in_text(
    text: ast.JoinedStr, named: Mapping[str, str]
) -> Iterator[tuple[int, str, str]]:
    table = ""
    before = ""
    for part in text.values:
        if isinstance(part, ast.FormattedValue):
            if table in TABLES and before.endswith("'"):
                yield text.lineno, table, spelled_out(part.value, named)
            continue
        before = str(part.value) if isinstance(part, ast.Constant) else ""
        table = next(reversed(INSERTED.findall(before)), table)
