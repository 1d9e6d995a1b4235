"""Makes clients of `httpx` for servers that speak HTTP without TLS.

Each new client of httpx reads the certificate authorities that the machine trusts, and so does
each `httpx.get`. That takes 25 ms of a processor, more than the whole request, and tests make
thousands of clients that never meet a certificate. These do not read them.
"""

import ssl
from functools import partial
from typing import Final

import httpx

TRUSTS_NOBODY: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

get = partial(httpx.get, verify=TRUSTS_NOBODY)
post = partial(httpx.post, verify=TRUSTS_NOBODY)
stream = partial(httpx.stream, verify=TRUSTS_NOBODY)
new_client = partial(httpx.Client, verify=TRUSTS_NOBODY)
