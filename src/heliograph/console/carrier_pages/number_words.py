"""Says in words what a number does with the texts that come to it."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.carriers import all_carriers
from heliograph.console.named_account import OwnerOfRow, owners_of_rows
from heliograph.inbound import OwnNumber

# of `OwnNumber.opt_out_scope`: what an opt-out stops
STOPPED: Final = {"account": "all texts of the account", "sender": "texts from this number"}


class ListedNumber(NamedTuple):
    """Holds a number with its carrier's name. `owner` gets its texts; of a shared number these are
    the texts of no other account, and there may be no owner.
    """

    number: OwnNumber
    carrier: str
    owner: OwnerOfRow | None

    @property
    def is_shared(self) -> bool:
        return self.number.account_id is None

    @property
    def stopped(self) -> str:
        """Returns what an opt-out on this number stops."""
        return STOPPED[self.number.opt_out_scope]

    @property
    def in_words(self) -> str:
        """Returns all of it in one sentence, as the log holds it."""
        owner = self.owner and self.owner.text_id
        belongs = f"belongs to {owner}"
        if self.is_shared:
            belongs = f"shared, the rest to {owner or 'no account'}"
        keyword = "may stand before other words" if self.number.first_word else "is the whole text"
        return (
            f"{self.number.digits} of {self.carrier}: {belongs}; a keyword {keyword}; an opt-out"
            f" stops {self.stopped}"
        )


def listed_numbers(tx: Connection, found: Iterable[OwnNumber]) -> list[ListedNumber]:
    """Returns the numbers with the names of their carriers and accounts, in the same order."""
    rows = list(found)
    names = {carrier.id: carrier.name for carrier in all_carriers(tx)}
    owners = owners_of_rows(tx, {each.getter_id for each in rows if each.getter_id})
    return [
        ListedNumber(each, names[each.carrier_id], owners.get(each.getter_id or ""))
        for each in rows
    ]


def listed_number(tx: Connection, number: OwnNumber) -> ListedNumber:
    """Returns one number with the names of its carrier and account."""
    [listed] = listed_numbers(tx, [number])
    return listed
