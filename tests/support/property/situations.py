"""Lists the ways to its end that a message can go: those which the money machine must have come
through.
"""

from tests.support.capability.sending import Row

SITUATIONS = {
    "delivered",
    "refused at submit, paid back",
    "refused in part, that part paid back",
    "undeliverable, not paid back",
    "expired in the queue, paid back",
    "in doubt to the end, paid back",
    "a send refused for its price",
    "a correction refused",
    "a correction upward",
    "a correction downward",
}


def situation_of(row: Row) -> str | None:
    """Returns the way to its end that a message has gone, if it is one of SITUATIONS."""
    taken = row.parts_accepted.bit_count()
    if row.status == "delivered":
        return "delivered"
    if row.error_code == "carrier_rejected":
        return "refused in part, that part paid back" if taken else "refused at submit, paid back"
    if row.error_code in ("undeliverable", "rejected") and not row.refunded:
        return "undeliverable, not paid back"
    if row.error_code == "expired" and not taken:
        return "expired in the queue, paid back"
    if row.error_code == "unknown" and row.refunded:
        return "in doubt to the end, paid back"
    return None
