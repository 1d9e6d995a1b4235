"""Proves the ledger, step by step: what `heliograph ledger verify` and the console do alike."""

from collections.abc import Callable
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.audit.charges import verify_charges
from heliograph.audit.events import verify_events
from heliograph.audit.rollups import verify_rollups
from heliograph.audit.tallies import verify_tallies
from heliograph.wallet import Discrepancy, verify, verify_hours


class ProofStep(NamedTuple):
    """Describes a step, and what it does: it returns what is wrong. `find` gets the moment of the
    question: what happens later is not looked at.
    """

    name: str
    find: Callable[[Connection, int], list[Discrepancy]]


PROOF_STEPS: Final = (
    ProofStep("wallets and entries", lambda tx, asked_ms: verify(tx)),
    ProofStep("charges and refunds", lambda tx, asked_ms: verify_charges(tx)),
    ProofStep("statistics of campaigns", lambda tx, asked_ms: verify_tallies(tx)),
    ProofStep("figures of reports", lambda tx, asked_ms: verify_rollups(tx)),
    ProofStep("sums by hour", verify_hours),
    ProofStep("webhook events", verify_events),
)


def prove(
    tx: Connection, asked_ms: int, tell: Callable[[int], object] = lambda done: None
) -> list[Discrepancy]:
    """Returns all that is wrong with the ledger: nothing, if it is sound, and at most
    DISCREPANCIES_MAX of each step. `tell` is told how many steps are done.
    """
    found: list[Discrepancy] = []
    for done, step in enumerate(PROOF_STEPS):
        tell(done)
        found += step.find(tx, asked_ms)
    tell(len(PROOF_STEPS))
    return found
