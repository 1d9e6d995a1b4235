"""Chooses the carrier that a list of work is of, and names carriers."""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.carriers import Carrier, all_carriers, setting
from heliograph.messages.carrier import CarrierFacts, facts_of
from heliograph.messages.doubt import work_lists

DIGITS_MAX: Final = 5  # of the number of a carrier


class WorkOfCarrier(NamedTuple):
    """Says how much waits of a carrier."""

    id: int
    name: str
    in_doubt: int
    unmatched: int


class CarrierNames(NamedTuple):
    """Knows carriers by their numbers. Of one that was removed only the number is known."""

    by_id: dict[int, Carrier]

    def of(self, carrier_id: int | None) -> str:
        if carrier_id is None:
            return "–"
        carrier = self.by_id.get(carrier_id)
        return f"removed ({carrier_id})" if carrier is None else carrier.name

    @property
    def resending(self) -> frozenset[int]:
        """Returns the carriers whose messages in doubt are sent once more by themselves."""
        return frozenset(
            carrier.id
            for carrier in self.by_id.values()
            if setting(carrier, "in_doubt") == "resend"
        )

    def facts(self, carrier_id: int) -> CarrierFacts:
        carrier = self.by_id.get(carrier_id)
        if carrier is None:
            return CarrierFacts(carrier_id, self.of(carrier_id))
        return facts_of(carrier)


def carrier_names(tx: Connection) -> CarrierNames:
    """Returns what names the carriers."""
    return CarrierNames({carrier.id: carrier for carrier in all_carriers(tx)})


def work_by_carrier(tx: Connection, names: CarrierNames) -> list[WorkOfCarrier]:
    """Returns how much waits of each carrier, sorted by name."""
    found = [
        WorkOfCarrier(each.carrier_id, names.of(each.carrier_id), each.in_doubt, each.unmatched)
        for each in work_lists.count_waiting(tx, names.by_id)
    ]
    return sorted(found, key=lambda work: work.name)


def chosen_carrier(work: list[WorkOfCarrier], asked: str | None, kind: str) -> WorkOfCarrier | None:
    """Returns the carrier with this number, or the one of which the most waits when none is asked
    for. It is None where there is no carrier. Raises NotFound.
    """
    if asked is None:
        return max(work, key=lambda each: int(getattr(each, kind)), default=None)
    is_number = asked.isascii() and asked.isdigit() and len(asked) <= DIGITS_MAX
    found = [each for each in work if is_number and each.id == int(asked)]
    if not found:
        raise NotFound(f"There is no carrier with the number {quote_value(asked)}.")
    return found[0]
