"""Provides what the tests need beside Python: PostgreSQL, Redis, Node, Kannel, HAProxy,
libfaketime, network namespaces, PHP, Java, Ruby, Chromium for pages, curl for the documentation,
patroni, etcd and PgBouncer for fail-over, and promtool and systemd's programs for deploy/.

Those that already run at their default addresses are used; otherwise private ones are started on
free ports and stopped at the end, whatever happens. `HELIOGRAPH_TEST_DATABASE_URL` and
`HELIOGRAPH_TEST_REDIS_URL` name others; `HELIOGRAPH_TEST_SERVICES=private` starts private ones in
any case. `python -m tests.support.services` says what was found and, as root on Debian or Ubuntu,
installs what is missing.
"""

import os
import socket


class ServiceMissing(Exception):
    """A service that the tests need is neither running nor installed. The message says
    what to do.
    """


def free_port() -> int:
    """Returns a TCP port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def private_only() -> bool:
    """Returns whether servers that already run are to be left alone."""
    wanted = os.environ.get("HELIOGRAPH_TEST_SERVICES", "")
    if wanted not in ("", "private"):
        raise ServiceMissing(f"HELIOGRAPH_TEST_SERVICES is {wanted!r}; it can only be 'private'.")
    return wanted == "private"
