"""Proofs over stored data: no message is lost, sent twice without a reason, or charged wrongly."""
