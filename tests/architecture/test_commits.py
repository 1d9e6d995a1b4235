"""Who opens a transaction commits it, and only a few kinds of files do (docs/architecture.md,
"Rules that keep it sound").

A use case takes `tx` first and never commits: so what belongs together is stored together, whoever
calls.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch

from tests.architecture.sources import PACKAGE, Source, sources

MAY_OPEN_A_TRANSACTION = {
    "*/api.py": "a request is a transaction",
    "*/jobs.py": "a background job is a transaction",
    "portal/*": "a page is a transaction",
    "entry/cli/*": "a command is a transaction",
    "base/db.py": "this is where transactions are made",
    "base/hot_postgres.py": "and this is where those of the hot paths are",
    "base/hot_sqlite.py": "and these, of the other database",
    "base/postgres_engine.py": (
        "how long a connection may take to commit is the connection's own matter"
    ),
    "base/writable.py": "whether a transaction can be committed is found out by one",
    "base/migrate.py": "a migration is a transaction, and runs before anything else does",
    "base/partitions.py": (
        "each month's partition is a transaction, and nobody waits for the next one's lock"
    ),
    "base/home.py": (
        "where a database is at home is said in its database and in a file, one after the other"
    ),
    "messages/restored.py": (
        "each batch of what is kept of a restored copy, let go or canceled is a transaction"
    ),
    "entry/restoring.py": "it is a command's work",
    "entry/sealed.py": "each batch of secrets that are sealed anew is a transaction",
    "entry/secret_key.py": (
        "the first process makes its key the database's before it does anything else"
    ),
    "contacts/importing.py": "each batch of a file's contacts is a transaction",
    "messages/accept.py": "a batch of sends is a transaction",
    "messages/turn.py": "a carrier's turn is a transaction",
    "messages/sweep.py": "each step of a sweep is a batch, and so a transaction",
    "messages/doubts.py": "each look at receipts for doubts is a batch, and so a transaction",
    "messages/hold.py": "each batch of runs that are held, let go or failed is a transaction",
    "messages/decide.py": "each batch of an operator's decisions is a transaction",
    "messages/unmatched.py": "an operator's match of a receipt is a transaction",
    "messages/measure.py": "each measurement is one, as short as its statement",
    "messages/crowded.py": "each batch of receipts that are dropped is a transaction",
    "messages/parked.py": "each look at parked receipts is a batch, and so a transaction",
    "base/advisory.py": "a lock that is held for a moment only is a transaction's",
    "campaigns/hold.py": "each step of freezing an audience is a batch, and so a transaction",
    "campaigns/listed.py": (
        "a campaign to a file of numbers begins with a transaction, and each batch of them is one"
    ),
    "otp/verify.py": "a batch of verifications is a transaction",
    "otp/erase.py": "each batch of texts that are erased is a transaction",
    "webhooks/deliver.py": "taking endpoints over, and letting them go, are transactions",
    "webhooks/read.py": (
        "what is due is read in a transaction, and what is pruned goes out of its queue"
    ),
    "webhooks/record.py": "a batch of webhook outcomes is a transaction",
    "entry/listen.py": "its endpoint comes and goes with it",
    "base/leases.py": "a process shows that it lives",
    "entry/pruning.py": "each batch of what is deleted is a transaction",
    "entry/retention.py": "each batch of what is erased or deleted is a transaction",
    "entry/demo.py": "the demo sets its account up as the commands would",
    "entry/app.py": "it notes when keys were last used, every ten seconds for all of them",
    "entry/dispatch.py": "it notes what its carriers report: their state",
    "entry/sweeps.py": "each check of a sweep is a batch, and so a transaction",
}
OPENERS_OF_OURS = ("write", "transact", "hot")  # methods of base.db.Database
OPENERS_OF_DRIVERS = ("commit", "begin", "transaction")
OUR_DATABASE = ("db", "_db", "database", "_database")


def test_transactions_are_opened_and_committed_in_their_places_only() -> None:
    elsewhere = [
        f"{source.path}:{line}: {what}: take `tx` from the caller, or name the file in"
        " MAY_OPEN_A_TRANSACTION, with a reason"
        for source in sources(PACKAGE)
        if not any(fnmatch(source.path, place) for place in MAY_OPEN_A_TRANSACTION)
        for line, what in _transactions(source)
    ]
    assert not elsewhere, "\n".join(elsewhere)


def _transactions(source: Source) -> Iterator[tuple[int, str]]:
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.split(" ")[0] in ("BEGIN", "COMMIT")
        ):
            yield node.lineno, node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, receiver = node.func.attr, ast.unparse(node.func.value)
            if method in OPENERS_OF_DRIVERS or (
                method in OPENERS_OF_OURS and receiver.split(".")[-1] in OUR_DATABASE
            ):
                yield node.lineno, f"{receiver}.{method}()"
