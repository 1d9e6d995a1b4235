"""Serves the simulator as an SMPP 3.4 server that other people's clients can use, and that
misbehaves when told to.
"""

from heliograph.carriers.smsc.chaos import KINDS, Chaos, Rule, read_chances
from heliograph.carriers.smsc.journal import Journal
from heliograph.carriers.smsc.script import read_script
from heliograph.carriers.smsc.server import Smsc
from heliograph.carriers.smsc.settings import SmscSettings

__all__ = [
    "KINDS",
    "Chaos",
    "Journal",
    "Rule",
    "Smsc",
    "SmscSettings",
    "read_chances",
    "read_script",
]
