"""Defines how long a client may take for each step, and how much is read from it after its last
response.
"""

from typing import Final

FIRST_S: Final = 10.0  # from the connection to the first octet
HEAD_S: Final = 10.0  # from there to the end of the headers
BODY_S: Final = 30.0  # from there to the end of the body: the largest needs 35 kB a second
# longer than the 60 s after which common proxies close an idle connection themselves
KEEP_ALIVE_S: Final = 65.0
UNREAD_S: Final = 60.0  # for the client to take the response off our hands
# after the last response what still comes is thrown away: closing at once would take it back from a
# client that is sending
LINGER_S: Final = 2.0
# of what comes after its response; more is left unread: reading it takes time that others need
LINGER_OCTETS: Final = 1 << 20
