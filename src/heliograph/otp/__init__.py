"""One-time passwords: sent, given back, and kept from being guessed or pumped."""

from heliograph.otp.api import endpoints
from heliograph.otp.erase import Eraser
from heliograph.otp.guards import Blocked, blocked, unblock
from heliograph.otp.issue import Issuing
from heliograph.otp.tables import KEPT

__all__ = ["KEPT", "Blocked", "Eraser", "Issuing", "blocked", "endpoints", "unblock"]
