"""Operators ask for proofs of the ledger, which are made apart, one at a time, and broken off if
their process ends.
"""

import os
import signal
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from heliograph import audit, wallet
from heliograph.audit import PROOF_STEPS, StoredProof
from heliograph.audit.requested_proofs import PROOFS_KEPT_MAX, SILENT_MS
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.jobs import proofs
from heliograph.jobs.proofs import Proofs, prove_stored
from heliograph.wallet import ledger
from heliograph.wallet.tables import wallets
from tests.support.factories import open_account


@pytest.fixture
def job(db: Database) -> Iterator[Proofs]:
    job = Proofs(db)
    yield job
    job.stop()


def ask(db: Database) -> StoredProof | None:
    with db.write() as tx:
        return audit.ask_proof(tx, "kofi@example.com", clock.now_ms())


def newest(db: Database) -> StoredProof:
    with db.read() as tx:
        return audit.newest_proofs(tx)[0]


def ended(db: Database, job: Proofs) -> StoredProof:
    """Waits until the process that proves has ended, and the job has looked at it."""
    assert job._prover is not None
    job._prover.join(60)
    job.start_next()
    return newest(db)


def test_a_proof_is_made_by_a_process_of_its_own(db: Database, job: Proofs) -> None:
    account_id = open_account(db, "amina", credits=500)
    assert ask(db) is not None
    assert ask(db) is None, "one at a time"
    job.start_next()
    assert newest(db).begun_at_ms is not None
    proof = ended(db, job)
    assert (proof.is_proven, proof.step) == (True, len(PROOF_STEPS))
    assert proof.rows_read > 0
    with db.write() as tx:
        tx.execute(sa.update(wallets).values(sms_credits=501))
    assert ask(db) is not None
    job.start_next()
    proof = ended(db, job)
    assert proof.is_proven is False
    with db.read() as tx:
        (found,) = audit.findings_of(tx, proof.id)
    assert found.account_id == account_id
    assert "holds 501 credits" in found.what


def test_a_proof_whose_process_is_killed_was_broken_off(
    db: Database, job: Proofs, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(db)
    job.start_next()
    assert job._prover is not None
    assert job._prover.pid is not None
    os.kill(job._prover.pid, signal.SIGKILL)
    assert ended(db, job).is_broken_off
    assert ask(db) is not None
    # the process that began it is gone, too
    with db.write() as tx:
        assert audit.begin_proof(tx, newest(db).id, clock.now_ms())
    Proofs(db).start_next()
    assert newest(db).ended_at_ms is None
    clock.move(SILENT_MS + 1)
    Proofs(db).start_next()
    assert newest(db).is_broken_off


def test_a_proof_tells_how_far_it_is(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "TOLD_EVERY_S", 0.0)
    account_id = open_account(db, "amina", credits=500)
    ask(db)
    proof_id = newest(db).id
    told: list[tuple[int, int]] = []
    tell = audit.store_progress

    def remembered(tx: sa.Connection, proof_id: str, step: int, rows: int, now_ms: int) -> None:
        tell(tx, proof_id, step, rows, now_ms)
        told.append((step, rows))

    monkeypatch.setattr(proofs, "store_progress", remembered)
    with db.write() as tx:
        ledger.grant(tx, account_id, 5, "gift", now_ms=clock.now_ms())
        audit.begin_proof(tx, proof_id, clock.now_ms())
    prove_stored(db, proof_id, clock.now_ms())
    assert [step for step, _ in told] == sorted(step for step, _ in told)
    assert {step for step, _ in told} == set(range(len(PROOF_STEPS) + 1))
    assert told[-1][1] == newest(db).rows_read >= 3  # a wallet and its entries


def test_old_proofs_are_forgotten(db: Database) -> None:
    for _ in range(PROOFS_KEPT_MAX + 3):
        proof = ask(db)
        assert proof is not None
        with db.write() as tx:
            found = [wallet.Discrepancy(proof.id, "wrong")]
            audit.end_proof(tx, proof.id, found, 1, clock.now_ms())
    with db.read() as tx:
        kept = audit.newest_proofs(tx)
        assert len(kept) == PROOFS_KEPT_MAX
        assert all(audit.findings_of(tx, each.id) for each in kept)
