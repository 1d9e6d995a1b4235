"""In this room partners provision customers, each a full account of its own, and move credits to
them and back.
"""

from heliograph.connect.customer import as_record
from heliograph.connect.provision import provision
from heliograph.connect.request import REFERENCE_MAX, CustomerRequest

__all__ = [
    "REFERENCE_MAX",
    "CustomerRequest",
    "api",
    "as_record",
    "provision",
]
