"""Runs a carrier's turn: it records answers and receipts, and claims messages to submit."""

from heliograph.messages.carrier.match import learn_id_format, rematch
from heliograph.messages.carrier.refs import AUTO, CarrierFacts, facts_of
from heliograph.messages.carrier.settle import NOT_ENCODED
from heliograph.messages.carrier.turn import Turn

__all__ = ["AUTO", "NOT_ENCODED", "CarrierFacts", "Turn", "facts_of", "learn_id_format", "rematch"]
