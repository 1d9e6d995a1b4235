"""Keeps proofs of the ledger that operators have asked for: who asked, how far each has come, and
what it found. One goes on at a time.
"""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.audit.tables import ledger_proof_findings, ledger_proofs
from heliograph.base import ids
from heliograph.database.reads import records_of
from heliograph.wallet import Discrepancy

PROOF_PREFIX: Final = "prf"
# this many are kept and listed: older ones tell nothing that a new one does not
PROOFS_KEPT_MAX: Final = 20
FINDINGS_KEPT_MAX: Final = 200  # of one proof: who has so many needs to see why, not how many
# A proof tells its progress every second. One that has told nothing for so long is not at work.
SILENT_MS: Final = 60_000


class StoredProof(NamedTuple):
    """Describes a proof. `step` says how many steps are done. The id is raw."""

    id: str
    asked_by: str
    asked_at_ms: int
    begun_at_ms: int | None
    beat_at_ms: int | None
    ended_at_ms: int | None
    step: int
    rows_read: int
    is_proven: bool | None

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(PROOF_PREFIX, self.id)

    @property
    def is_broken_off(self) -> bool:
        return self.ended_at_ms is not None and self.is_proven is None

    def is_silent(self, now_ms: int) -> bool:
        """Returns whether the proof has begun, and the process that made it is gone."""
        if self.ended_at_ms is not None or self.beat_at_ms is None:
            return False
        return self.beat_at_ms < now_ms - SILENT_MS


_COLUMNS: Final = [ledger_proofs.c[name] for name in StoredProof._fields]


def ask_proof(tx: Connection, asked_by: str, now_ms: int) -> StoredProof | None:
    """Stores that somebody asks for a proof, and forgets the oldest ones. Returns None while
    another one waits or goes on.
    """
    if open_proof(tx) is not None:
        return None
    columns = ledger_proofs.c
    newest = sa.select(columns.id).order_by(columns.id.desc()).limit(PROOFS_KEPT_MAX - 1)
    kept_ids = list(tx.execute(newest).scalars())
    of_findings = ledger_proof_findings.c.proof_id.not_in(kept_ids)
    tx.execute(sa.delete(ledger_proof_findings).where(of_findings))
    tx.execute(sa.delete(ledger_proofs).where(columns.id.not_in(kept_ids)))
    raw = ids.raw_of_number(ids.new_number(now_ms))
    asked = {"asked_by": asked_by, "asked_at_ms": now_ms}
    raw = ids.raw_of_number(ids.new_number(now_ms))
    _insert(tx, {"id": raw, "slot": 1, "step": 0, "rows_read": 0, **asked})
    stored = open_proof(tx)
    return stored if stored is not None and stored.id == raw else None


def _insert(tx: Connection, proof: dict[str, Any]) -> None:
    """Stores a proof. It does nothing if somebody else asks for one at this moment."""
    if tx.dialect.name != "postgresql":  # a writer is alone there
        tx.execute(ledger_proofs.insert().values(proof))
        return
    from sqlalchemy.dialects.postgresql import insert  # not needed on SQLite, and heavy

    tx.execute(insert(ledger_proofs).values(proof).on_conflict_do_nothing())


def open_proof(tx: Connection) -> StoredProof | None:
    """Returns the proof that waits or goes on, or None."""
    row = tx.execute(sa.select(*_COLUMNS).where(ledger_proofs.c.slot == 1)).one_or_none()
    return None if row is None else StoredProof(**row._asdict())


def newest_proofs(tx: Connection) -> list[StoredProof]:
    """Returns all proofs that are kept, newest first."""
    query = sa.select(*_COLUMNS).order_by(ledger_proofs.c.id.desc()).limit(PROOFS_KEPT_MAX)
    return records_of(StoredProof, tx.execute(query))


def findings_of(tx: Connection, proof_id: str) -> list[Discrepancy]:
    """Returns what a proof has found, by its raw id."""
    columns = ledger_proof_findings.c
    query = sa.select(columns.account_id, columns.what).where(columns.proof_id == proof_id)
    return records_of(Discrepancy, tx.execute(query.order_by(columns.number)))


def begin_proof(tx: Connection, proof_id: str, now_ms: int) -> bool:
    """Stores that a proof begins. Returns whether it did: another process may have begun it."""
    columns = ledger_proofs.c
    changed = tx.execute(
        sa.update(ledger_proofs)
        .where(columns.id == proof_id, columns.slot == 1, columns.begun_at_ms.is_(None))
        .values(begun_at_ms=now_ms, beat_at_ms=now_ms)
    )
    return changed.rowcount == 1


def store_progress(tx: Connection, proof_id: str, step: int, rows_read: int, now_ms: int) -> None:
    """Stores how far a proof has come, by its raw id. One that has ended already stays as it is."""
    tx.execute(
        sa.update(ledger_proofs)
        .where(ledger_proofs.c.id == proof_id, ledger_proofs.c.slot == 1)
        .values(step=step, rows_read=rows_read, beat_at_ms=now_ms)
    )


def end_proof(
    tx: Connection,
    proof_id: str,
    discrepancies: list[Discrepancy] | None,
    rows_read: int,
    now_ms: int,
) -> None:
    """Stores what a proof has found, or with None that it was broken off. One that has ended
    already stays as it is.
    """
    is_proven = None if discrepancies is None else not discrepancies
    ended = tx.execute(
        sa.update(ledger_proofs)
        .where(ledger_proofs.c.id == proof_id, ledger_proofs.c.slot == 1)
        .values(slot=None, ended_at_ms=now_ms, is_proven=is_proven)
    )
    if not ended.rowcount or discrepancies is None:
        return
    tx.execute(
        sa.update(ledger_proofs).where(ledger_proofs.c.id == proof_id).values(rows_read=rows_read)
    )
    rows = [
        {"proof_id": proof_id, "number": number, **discrepancy._asdict()}
        for number, discrepancy in enumerate(discrepancies[:FINDINGS_KEPT_MAX])
    ]
    if rows:
        tx.execute(ledger_proof_findings.insert(), rows)
