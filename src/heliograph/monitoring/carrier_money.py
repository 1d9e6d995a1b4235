"""Says what the segments that carriers took were charged, and what they cost. It is pure.

A message's credits are divided over its segments, so that the sum over all of them is what the
message was charged. What no carrier takes is refunded: of a message that failed, what is left is
divided over what carriers took. So all credits of carriers are what is left in the ledger
(docs/decisions/console.md, O16).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from heliograph.messages.states import all_parts
from heliograph.pricing import CarrierCost, Costs


class CarrierCurrency(NamedTuple):
    """Names a carrier and the currency of its costs, which is empty where none is known."""

    carrier_id: int
    currency: str


class SegmentMoney(NamedTuple):
    """Adds up segments, the credits that they were charged, and what they cost, in millionths of
    the currency's unit.
    """

    segments: int = 0
    credits: int = 0
    cost_micro: int = 0

    def plus(self, more: "SegmentMoney") -> "SegmentMoney":
        return SegmentMoney(
            self.segments + more.segments,
            self.credits + more.credits,
            self.cost_micro + more.cost_micro,
        )


class SegmentPrices:
    """Adds money up at these costs."""

    def __init__(self, costs: Iterable[CarrierCost]) -> None:
        self._costs = Costs(costs)
        # of a number: no cost depends on more
        self.digits_needed = max(map(len, self._costs.prefixes), default=0)

    def add(self, to: dict[CarrierCurrency, SegmentMoney], row: Any) -> None:
        """Adds the money of a row that `carrier_rollups` has counted. A number that was erased has
        no prefix, so what its segments cost is not known.
        """
        cost = None if row.prefix is None else self._costs.cost_of(row.carrier_id, row.prefix)
        key = CarrierCurrency(row.carrier_id, "" if cost is None else cost.currency)
        paid_parts = all_parts(row.of_segments) if row.failed_parts is None else row.failed_parts
        segments = row.refs * int(row.parts).bit_count()
        more = SegmentMoney(
            segments,
            row.refs * credits_of(row.credits, paid_parts, row.parts),
            0 if cost is None else segments * cost.amount_micro,
        )
        to[key] = to.get(key, SegmentMoney()).plus(more)


def credits_of(credits: int, paid_parts: int, parts: int) -> int:
    """Returns the share of some segments (bits of `parts`) in the credits that these segments were
    charged (bits of `paid_parts`). The first k of n segments have k/n of the credits, rounded down,
    and the k-th has what that leaves to it: over all of them it is the credits.
    """
    bits = [bit for bit in range(paid_parts.bit_length()) if paid_parts >> bit & 1]
    return sum(
        credits * (place + 1) // len(bits) - credits * place // len(bits)
        for place, bit in enumerate(bits)
        if parts >> bit & 1
    )
