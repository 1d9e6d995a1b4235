"""Code that opens a transaction commits it, and only a few kinds of files do that
(docs/architecture.md, "Transactions and locks").

A use case takes `tx` first and never commits: so what belongs together is stored together, whoever
calls.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch

from tests.support.sources import PACKAGE, Source, code_of, nodes_of, sources

MAY_OPEN_A_TRANSACTION = {
    "*/api.py": "a request is a transaction",
    "campaigns/advance.py": "a background job is a transaction",
    "portal/*": "a page is a transaction",
    "console/*": "a page is a transaction",
    "cli/*": "a command is a transaction",
    "database/database.py": "this is where transactions are made",
    "database/postgresql/hot.py": "and this is where those of the hot paths are",
    "database/hot_sqlite.py": "and these, of the other database",
    "database/postgresql/engine.py": (
        "how long a connection may take to commit is the connection's own matter"
    ),
    "database/write_probe.py": "whether a transaction can be committed is found out by one",
    "contacts/tag_many.py": "each step of many contacts is a transaction, so nobody waits for all",
    "jobs/erasure.py": "each batch of what is erased is a transaction, so nobody waits for all",
    "database/migrate.py": "a migration is a transaction, and runs before anything else does",
    "database/partitions.py": (
        "each month's partition is a transaction, and nobody waits for the next one's lock"
    ),
    "database/restored_copy.py": (
        "where a database is served is said in its database and in a file, one after the other"
    ),
    "messages/sweeps/restored.py": (
        "each batch of what is kept of a restored copy, let go or canceled is a transaction"
    ),
    "processes/checks/restore_check.py": "it is a command's work",
    "processes/checks/sealed_secrets.py": (
        "each batch of secrets that are sealed anew is a transaction"
    ),
    "processes/checks/secret_key.py": (
        "the first process makes its key the database's before it does anything else"
    ),
    "contacts/stored_import.py": "each step of an import is a transaction",
    "contacts/import_file.py": "each batch of a file's contacts is a transaction",
    "messages/reports/count_rollups.py": (
        "a quarter of an hour is counted in one transaction and stored in another, which is short"
    ),
    "messages/accept/acceptor.py": "a batch of sends is a transaction",
    "messages/carrier/turn.py": "a carrier's turn is a transaction",
    "messages/sweeps/sweep.py": "each step of a sweep is a batch, and so a transaction",
    "messages/doubt/receipts.py": (
        "each look at receipts for doubts is a batch, and so a transaction"
    ),
    "messages/sweeps/accepted_during_opt_out.py": (
        "what was accepted beside an opt-out is seen only by a transaction that begins after it"
    ),
    "messages/sweeps/pause.py": (
        "each batch of runs that are held, let go or failed is a transaction"
    ),
    "messages/doubt/decide.py": "each batch of an operator's decisions is a transaction",
    "messages/doubt/match_receipt.py": "an operator's match of a receipt is a transaction",
    "messages/queue/metrics.py": "each measurement is one, as short as its statement",
    "messages/retention/unmatched_limit.py": (
        "each batch of receipts that are dropped is a transaction"
    ),
    "messages/carrier/match.py": "each look at unmatched receipts is a batch, and so a transaction",
    "database/postgresql/advisory_lock.py": (
        "a lock that is held for a moment only is a transaction's"
    ),
    "campaigns/audience/audience_lock.py": (
        "each step of freezing an audience is a batch, and so a transaction"
    ),
    "campaigns/from_file.py": (
        "a campaign to a file of numbers begins with a transaction, and each batch of them is one"
    ),
    "inbound/receive/receiver.py": "a batch of texts from handsets is a transaction",
    "inbound/receive/overdue.py": "each text whose parts do not come is a transaction",
    "otp/verify.py": "a batch of verifications is a transaction",
    "webhooks/deliver.py": "taking endpoints over, and letting them go, are transactions",
    "webhooks/read_due.py": (
        "what is due is read in a transaction, and what is pruned goes out of its queue"
    ),
    "webhooks/record_attempts.py": "a batch of webhook outcomes is a transaction",
    "processes/listen.py": "its endpoint comes and goes with it",
    "database/leases.py": "a process shows that it lives",
    "jobs/contact_imports.py": "it looks for imports, each of whose steps is a transaction",
    "alerts/send_notifications.py": "taking what is due is a transaction, and its outcome another",
    "jobs/alerts.py": "each look for alerts is a transaction",
    "jobs/carrier_figures.py": (
        "a quarter of an hour is counted in one transaction and stored in another, which is short"
    ),
    "jobs/samples.py": "each sample of the service's figures is a transaction",
    "jobs/ledger_hours.py": (
        "an hour is added up in one transaction and stored in another, which is short"
    ),
    "jobs/proofs.py": (
        "a proof reads one snapshot, and each time that it tells how far it is is a transaction"
    ),
    "jobs/portal_views.py": "looks that are over end in one transaction",
    "jobs/rate_sheets.py": "each rate sheet that is applied is a transaction",
    "database/pruning.py": "each batch of long work is a transaction",
    "jobs/pruning.py": "which endpoints have gone is read in one, and how far events go is another",
    "jobs/retention.py": "each batch of what is erased or deleted is a transaction",
    "processes/api_processes.py": "before it answers, it compares clocks and keys",
    "processes/demo.py": "the demo sets its account up as the commands would",
    "api/app.py": "it notes when keys were last used, every ten seconds for all of them",
    "processes/carriers.py": "it notes what its carriers report: their state",
    "processes/sweeps.py": "each check of a sweep is a batch, and so a transaction",
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
    for node in nodes_of(source.tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.split(" ")[0] in ("BEGIN", "COMMIT")
        ):
            yield node.lineno, node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, receiver = node.func.attr, code_of(node.func.value)
            if method in OPENERS_OF_DRIVERS or (
                method in OPENERS_OF_OURS and receiver.split(".")[-1] in OUR_DATABASE
            ):
                yield node.lineno, f"{receiver}.{method}()"
