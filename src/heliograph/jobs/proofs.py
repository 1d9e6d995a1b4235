"""Makes the proofs of the ledger that operators ask for, each in a process of its own, which the
process that does the common work starts. They take long, and nothing else shall wait for them.

It reads one snapshot, as `heliograph ledger verify` does, and tells every second how far it is. One
that ends without a result, or of which nothing was heard for a minute, was broken off.
"""

import asyncio
import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from typing import Final

from heliograph.audit import begin_proof, end_proof, open_proof, prove, store_progress
from heliograph.base import clock
from heliograph.base.errors import Unavailable
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.database.reads import report_rows

LOOK_S: Final = 1.0  # a person waits for it
TOLD_EVERY_S: Final = 1.0
NICE: Final = 10  # what sends goes before it

log = Log(__name__)


async def keep_proving(db: Database, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do."""
    proofs = Proofs(db)

    async def start_next() -> None:
        await asyncio.to_thread(proofs.start_next, is_ours())

    try:
        await repeat(start_next, wait=LOOK_S, fault="ledger_proofs_not_looked_at")
    finally:
        proofs.stop()


class Proofs:
    """Starts the proofs, in one process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._id = ""
        self._prover: SpawnProcess | None = None

    def start_next(self, is_ours: bool = True) -> None:
        """Starts the proof that waits, and stores of one whose process is gone that it was broken
        off.
        """
        now_ms = clock.now_ms()
        if self._prover is not None:
            if self._prover.is_alive():
                return
            self._prover.close()
            self._prover = None
            self._break_off(self._id)
        if not is_ours:
            return
        with self._db.read() as tx:
            proof = open_proof(tx)
        if proof is None:
            return
        if proof.is_silent(now_ms):
            self._break_off(proof.id)
        elif proof.begun_at_ms is None:
            with self._db.write() as tx:
                is_begun = begin_proof(tx, proof.id, now_ms)
            if is_begun:
                self._id, self._prover = proof.id, start(self._db.url, proof.id, now_ms)

    def stop(self) -> None:
        """Ends the proof that goes on, if there is one, before this process ends."""
        if self._prover is not None and self._prover.is_alive():
            self._prover.kill()
            self._prover.join()
            with survive_faults("ledger_proof_not_stored"):
                self._break_off(self._id)

    def _break_off(self, proof_id: str) -> None:
        """Stores that a proof was broken off. If it has ended, nothing changes."""
        with self._db.write() as tx:
            end_proof(tx, proof_id, None, 0, clock.now_ms())


def start(url: str, proof_id: str, asked_ms: int) -> SpawnProcess:
    """Starts a process that makes a proof which has begun."""
    process = multiprocessing.get_context("spawn").Process(
        target=prove_apart, args=(url, proof_id, asked_ms), daemon=True
    )
    process.start()
    return process


def prove_apart(url: str, proof_id: str, asked_ms: int) -> None:
    """Makes a proof, and stores what it finds: all that such a process does."""
    os.nice(NICE)
    db = Database(url)
    with survive_faults("ledger_proof_failed"):
        prove_stored(db, proof_id, asked_ms)
    db.close()


def prove_stored(db: Database, proof_id: str, asked_ms: int) -> None:
    """Makes a proof that has begun, tells how far it is, and stores what it finds."""
    progress = _ProofProgress(db, proof_id)
    with db.read() as tx:
        read_one_snapshot(tx)
        with report_rows(tx, progress.read):
            found = prove(tx, asked_ms, progress.note_step)
    with db.write() as tx:
        end_proof(tx, proof_id, found, progress.rows_read, clock.now_ms())


class _ProofProgress:
    """Stores how far a proof is, once a second at most. A busy database is no reason to stop."""

    def __init__(self, db: Database, proof_id: str) -> None:
        self._db = db
        self._proof_id = proof_id
        self._step = 0
        self._stored_s = 0.0
        self.rows_read = 0

    def note_step(self, done: int) -> None:
        self._step = done
        self._store_progress()

    def read(self, rows: int) -> None:
        self.rows_read += rows
        if clock.monotonic_s() >= self._stored_s + TOLD_EVERY_S:
            self._store_progress()

    def _store_progress(self) -> None:
        with suppress(Unavailable), self._db.write() as tx:
            store_progress(tx, self._proof_id, self._step, self.rows_read, clock.now_ms())
        self._stored_s = clock.monotonic_s()
