"""Takes texts from handsets: each is decoded, put together of its parts, given to whom it is
for, and stored with what its keywords do, before its carrier is answered.
"""

from heliograph.inbound.receive.decode import ENCODINGS

__all__ = ["ENCODINGS", "overdue", "receiver"]
