"""Runs a carrier's turn: it records answers and receipts, and claims messages to submit."""

from heliograph.messages.carrier.refs import AUTO, CarrierFacts, facts_of

__all__ = ["AUTO", "CarrierFacts", "facts_of", "match", "settle", "turn"]
