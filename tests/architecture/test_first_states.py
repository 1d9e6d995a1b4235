"""A stored row begins in a state that the table of transitions of its room lets it begin in:
whoever stores it takes the state from `begun_as`. If rows of a kind are deleted in some states and
not in others, whoever deletes one asks the table too.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from heliograph.campaigns.tables import campaigns
from heliograph.jobs.pruning import KEPT
from heliograph.otp.tables import otps
from heliograph.webhooks.tables import webhook_deliveries
from tests.support.parsed import named_in, spelled_out
from tests.support.sources import code_of, nodes_of
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
        elif isinstance(node, ast.Call) and code_of(node.func).endswith(".values"):
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


# rows that are deleted

# In some state that another one follows, their rows are not deleted.
ENDING_IN_SOME: Final = {
    name
    for name, kept in TABLES.items()
    if any(
        kept.transitions.moves.get(was)
        for was in kept.transitions.states
        if was not in kept.transitions.ends
    )
}
DELETION: Final = re.compile(
    r"\bdelete\((?:\w+\.)*(\w+)\)|\b(\w+)\.delete\(\)|\bDELETE FROM (\w+)", re.IGNORECASE
)


def test_a_row_is_deleted_in_the_states_in_which_the_table_lets_it_end() -> None:
    assert campaigns.name in ENDING_IN_SOME
    wrong = [
        f"{source.path}:{line} deletes rows of {table} without may_become(NO_ROW)"
        for source in governed()
        for line, table in _free_deletions(source.tree)
    ]
    assert not wrong, "\n".join(wrong)


def test_rows_that_are_deleted_by_their_age_may_end_in_every_state() -> None:
    pruned = {rule.table for rule in KEPT} & TABLES.keys()
    assert {otps.name, webhook_deliveries.name} <= pruned
    assert not pruned & ENDING_IN_SOME


@pytest.mark.parametrize(
    "line",
    [
        "tx.execute(sa.delete(campaigns).where(campaigns.c.id == 1))",
        "tx.execute(tables.campaigns.delete().where(campaigns.c.status == 'draft'))",
        'S = f"DELETE FROM campaigns WHERE id = :id AND {CAMPAIGN.may_become(CANCELED)}"',
    ],
)
def test_a_row_that_is_deleted_as_somebody_likes_is_found(line: str) -> None:
    assert list(_free_deletions(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "tx.execute(sa.delete(campaigns).where(sa.text(CAMPAIGN.may_become(NO_ROW))))",
        'S = f"DELETE FROM campaigns WHERE id = :id AND {CAMPAIGN.may_become(NO_ROW)}"',
        "tx.execute(campaign_recipients.delete().where(campaigns.c.id == 1))",
    ],
)
def test_a_row_that_is_deleted_as_the_table_says_is_not(line: str) -> None:
    assert not list(_free_deletions(ast.parse(line)))


def _free_deletions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields (line, table) of each statement of the source that deletes such rows and does not ask
    the table of transitions.
    """
    for node in nodes_of(tree):
        if isinstance(node, ast.stmt) and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            text = code_of(node)
            for found in DELETION.finditer(text):
                table = found[1] or found[2] or found[3]
                if table in ENDING_IN_SOME and ".may_become(NO_ROW)" not in text:
                    yield node.lineno, table
