"""Implements an SMPP 3.4 client: `link.SmppLink` is a `Link`, configured by `SmppSettings`."""

from heliograph.carriers.smpp.outcomes import read_overrides
from heliograph.carriers.smpp.reference import user_message_reference
from heliograph.carriers.smpp.settings import SmppSettings

__all__ = [
    "SmppSettings",
    "describe_submission",
    "link",
    "read_overrides",
    "statuses",
    "trial_bind",
    "user_message_reference",
]
