"""The text of a one-time password is stored sealed: until a carrier takes it, nobody who reads the
database learns the code.
"""

from typing import Final

from heliograph.base.secrets import Keys, Sealer

_PURPOSE: Final = "text of a one-time password"


def text_sealer(secret_key: Keys) -> Sealer:
    """Returns the sealer for the process that stores such a text, and for the one that hands it
    to a carrier.
    """
    return Sealer(secret_key, _PURPOSE)
