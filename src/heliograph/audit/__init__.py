"""Proves from stored data that no message is lost, sent twice without a reason, or charged
wrongly.
"""

from heliograph.audit.audit import Audit, audit
from heliograph.audit.events import events_size
from heliograph.audit.prove_ledger import PROOF_STEPS, prove
from heliograph.audit.requested_proofs import (
    StoredProof,
    ask_proof,
    begin_proof,
    end_proof,
    findings_of,
    newest_proofs,
    open_proof,
    store_progress,
)
from heliograph.audit.smsc_log import NotALog, SmscLog, read_logs

__all__ = [
    "PROOF_STEPS",
    "Audit",
    "NotALog",
    "SmscLog",
    "StoredProof",
    "ask_proof",
    "audit",
    "begin_proof",
    "end_proof",
    "events_size",
    "findings_of",
    "newest_proofs",
    "open_proof",
    "prove",
    "read_logs",
    "store_progress",
]
