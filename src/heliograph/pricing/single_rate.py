"""Changes one rate, which holds at once."""

from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.carriers import current_rates
from heliograph.pricing.difference import Difference, RateChange
from heliograph.pricing.rate_change import require_no_loss, store_changes
from heliograph.pricing.sheets import apply_due


def change_rate(
    tx: Connection, rate: current_rates.Rate, *, is_removed: bool, allows_loss: bool, now_ms: int
) -> RateChange:
    """Sets a rate, or removes that of its account and destination. Raises NotFound if there is none
    to remove, and InvalidRequest.
    """
    then = None if is_removed else current_rates.check(rate)
    apply_due(tx, now_ms=now_ms)  # it also keeps others from changing rates meanwhile
    today = current_rates.load(tx)
    destination = rate.destination if then is None else then.destination
    before = current_rates.find_stored(today, rate.account_id, destination)
    if is_removed and before is None:
        raise NotFound(f"There is no such rate for {quote_value(rate.destination)}.")
    change = RateChange(before, then)
    require_no_loss(tx, today, Difference([change]), allows_loss=allows_loss)
    store_changes(tx, Difference([change]))
    return change
