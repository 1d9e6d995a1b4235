"""Implements an SMPP 3.4 client: `SmppLink` is a carrier's `Link`, configured by `SmppSettings`."""

from heliograph.carriers.smpp.encode import user_message_reference
from heliograph.carriers.smpp.link import SmppLink
from heliograph.carriers.smpp.outcomes import read_overrides
from heliograph.carriers.smpp.settings import SmppSettings

__all__ = ["SmppLink", "SmppSettings", "read_overrides", "user_message_reference"]
