"""A row of `webhook_queue` is a delivery that waits, and no column says so. Each statement that
writes such rows is listed here with the moves that it makes, and the table of transitions has them.
An outcome that is stored is one that the table lets follow.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from heliograph.database.transitions import NO_ROW
from heliograph.webhooks.states import DELIVERED, DELIVERY, EXHAUSTED, MISSED, WAITING
from tests.support.parsed import named_in, spelled_out
from tests.support.sources import PACKAGE, code_of, nodes_of, sources
from tests.support.stored_states import governed

_ENDINGS: Final = (DELIVERED, EXHAUSTED, MISSED)
# the file and the name of each statement, or of the function that builds it: (before, after)
MOVES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "webhooks/events_sql.py:_TELL": ((NO_ROW, WAITING),),
    "webhooks/events_sql.py:_WAITING": ((NO_ROW, WAITING),),
    "webhooks/deliver_sql.py:DONE": (
        (WAITING, DELIVERED),
        (WAITING, EXHAUSTED),
        (WAITING, WAITING),
        (WAITING, NO_ROW),
    ),
    "webhooks/deliver_sql.py:AGAIN": ((WAITING, WAITING),),
    "webhooks/deliver_sql.py:_MISS": ((WAITING, MISSED),),
    "webhooks/replay.py:replay_one": (
        (WAITING, WAITING),
        *((ending, WAITING) for ending in _ENDINGS),
    ),
    "webhooks/replay.py:replay_span": ((EXHAUSTED, WAITING), (MISSED, WAITING)),
    "webhooks/replay.py:_retry_early": ((WAITING, WAITING),),
    "webhooks/forget_endpoint.py:_QUEUE": ((WAITING, NO_ROW),),
    "webhooks/endpoints.py:forget": ((WAITING, NO_ROW),),
}
WRITTEN: Final = re.compile(
    r"\b(?:INSERT INTO|DELETE FROM|UPDATE) webhook_queue\b"
    r"|\bwebhook_queue\.(?:insert|delete|update)\("
    r"|\b(?:insert|delete|update)\((?:\w+\.)*webhook_queue\)"
    r"|\b(?:Insert|_some_of)\('webhook_queue'"
    r"|\(webhook_queue,.*\btable\.(?:insert|delete|update)\(",
    re.DOTALL | re.IGNORECASE,
)


def test_each_statement_that_writes_the_queue_is_listed_with_its_moves() -> None:
    found = {f"{source.path}:{name}" for source in governed() for name in _writers_of(source.tree)}
    assert found == MOVES.keys()


@pytest.mark.parametrize("statement", MOVES)
def test_the_table_of_transitions_has_the_moves_of_the_queue(statement: str) -> None:
    for was, to in MOVES[statement]:
        assert to in DELIVERY.begins if was == NO_ROW else DELIVERY.allows(was, to)


@pytest.mark.parametrize(
    "line",
    [
        "S = portable(A, B, 'DELETE FROM webhook_queue WHERE endpoint_id = :id')",
        "S = portable(A, B, f'INSERT INTO webhook_queue ({x}) VALUES (1)')",
        "S: Final = Insert('webhook_queue', WaitingEvents)",
        "def f(tx): tx.execute(tables.webhook_queue.delete().where(x))",
        "def f(tx): tx.execute(sa.update(webhook_queue).values(due_at_ms=1))",
        "def f(tx):\n    for table in (webhook_queue, x): tx.execute(table.delete())",
    ],
)
def test_a_statement_that_writes_the_queue_is_found(line: str) -> None:
    assert list(_writers_of(ast.parse(line))) in (["S"], ["f"])


def test_a_statement_that_reads_the_queue_is_not() -> None:
    line = "def f(tx): return [sa.select(each) for each in (webhook_queue, webhook_deliveries)]"
    assert not list(_writers_of(ast.parse(line)))


def _writers_of(tree: ast.Module) -> Iterator[str]:
    """Yields the names at the top of a module whose definitions write the queue."""
    for node in tree.body:
        if WRITTEN.search(code_of(node)):
            if isinstance(node, ast.AnnAssign):
                yield code_of(node.target)
            elif isinstance(node, ast.Assign):
                yield code_of(node.targets[0])
            else:
                yield getattr(node, "name", code_of(node))


# outcomes


def test_an_outcome_that_is_stored_asks_the_table() -> None:
    found = {
        (source.path, asked) for source in sources(PACKAGE) for asked in _outcomes_in(source.tree)
    }
    assert {path for path, _ in found} == {"webhooks/deliver.py", "webhooks/record_attempts.py"}
    assert all("DELIVERY.moved(" in asked for _, asked in found), found


def test_an_outcome_that_asks_nothing_is_found() -> None:
    [asked] = _outcomes_in(ast.parse("DeliveryRow(endpoint_id, event_id, MISSED, 1)"))
    assert "DELIVERY.moved(" not in asked


def _outcomes_in(tree: ast.Module) -> Iterator[str]:
    """Yields the outcome of each `DeliveryRow` that is made, with what its names stand for; of a
    call, with all that the function says.
    """
    named = named_in(tree.body)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and code_of(node.func).endswith("DeliveryRow"):
            outcome: ast.AST = node.args[2]
            if isinstance(outcome, ast.Call):
                outcome = functions[code_of(outcome.func)]
            yield spelled_out(outcome, named)
