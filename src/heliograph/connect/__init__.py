"""Lets partners provision customers, each a full account of its own, and move credits to them and
back.
"""

from heliograph.connect.credits import move_credits
from heliograph.connect.customer import (
    NEEDLE_MAX,
    Customer,
    accounts_with_ref,
    as_record,
    names_of,
    of_partner,
    page,
    require_active,
)
from heliograph.connect.provision import provision
from heliograph.connect.request import (
    CustomerRequest,
    read_credits_request,
    read_customer_request,
)

__all__ = [
    "NEEDLE_MAX",
    "Customer",
    "CustomerRequest",
    "accounts_with_ref",
    "api",
    "as_record",
    "move_credits",
    "names_of",
    "of_partner",
    "page",
    "provision",
    "read_credits_request",
    "read_customer_request",
    "require_active",
]
