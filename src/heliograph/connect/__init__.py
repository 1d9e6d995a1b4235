"""In this room partners provision customers, each a full account of its own, and move credits to
them and back.
"""

from heliograph.connect.api import endpoints
from heliograph.connect.credits import Moved, move_credits
from heliograph.connect.customer import Customer, as_record, by_id, page
from heliograph.connect.provision import Provisioned, provision
from heliograph.connect.request import Wish

__all__ = [
    "Customer",
    "Moved",
    "Provisioned",
    "Wish",
    "as_record",
    "by_id",
    "endpoints",
    "move_credits",
    "page",
    "provision",
]
