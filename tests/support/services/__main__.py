"""Says where the tests find what they need, and as root installs what is missing (Debian, Ubuntu):
`python -m tests.support.services`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.services import (
    ServiceMissing,
    chromium,
    failover,
    faketime,
    haproxy,
    kannel,
    netns,
    node,
    php,
    postgres,
    private_only,
    prometheus,
    redis,
    systemd,
)

POLICY: Final = Path("/usr/sbin/policy-rc.d")
OTHERS_DONE_WITHIN_S: Final = 300


class Need(NamedTuple):
    name: str
    where: Callable[[], str | None]  # in words; None when it is missing
    packages: tuple[str, ...]
    advice: str


def _postgres() -> str | None:
    if server := postgres.find_server():
        return f"running, at {server.rsplit('@', 1)[-1]}"
    programs = postgres.find_programs()
    return f"a private server, with the programs in {programs}" if programs else None


def _redis() -> str | None:
    if named := os.environ.get("HELIOGRAPH_TEST_REDIS_URL"):
        return f"running, at {named.rsplit('@', 1)[-1]}"
    if not private_only() and redis.answers(redis.DEFAULT_URL):
        return f"running, at {redis.DEFAULT_URL}"
    program = shutil.which("redis-server")
    return f"a private server, with {program}" if program else None


NEEDS = (
    Need("PostgreSQL", _postgres, ("postgresql",), postgres.ADVICE),
    Need("Redis", _redis, ("redis-server",), redis.ADVICE),
    Need("Node", node.find_node, ("nodejs", "npm"), node.ADVICE),
    Need("Kannel", kannel.find_kannel, ("kannel",), kannel.ADVICE),
    Need("HAProxy", haproxy.find_haproxy, ("haproxy",), haproxy.ADVICE),
    Need("libfaketime", faketime.find_library, ("libfaketime",), faketime.ADVICE),
    Need("network namespaces", netns.find_ip, ("iproute2",), netns.ADVICE),
    Need("patroni, etcd and PgBouncer", failover.find_programs, failover.PACKAGES, failover.ADVICE),
    Need("systemd's programs", systemd.find_programs, ("systemd",), systemd.ADVICE),
    Need("promtool", prometheus.find_promtool, ("prometheus",), prometheus.ADVICE),
    Need("PHP and Guzzle", php.find_php, php.PHP_PACKAGES, php.PHP_ADVICE),
    Need("Java", php.find_java, ("default-jre-headless",), php.JAVA_ADVICE),
    Need(
        "Ruby",
        lambda: shutil.which("ruby"),
        ("ruby",),
        "Ruby is needed, for a sample on /docs: install it",
    ),
    Need("Chromium", chromium.find_chromium, chromium.PACKAGES, chromium.ADVICE),
    Need(
        "curl",
        lambda: shutil.which("curl"),
        ("curl",),
        "curl is needed, for the commands in the documentation: install it",
    ),
)


def main() -> None:
    missing = [need for need in NEEDS if need.where() is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        _install(missing)
    places = {need: need.where() for need in NEEDS}
    for need, place in places.items():
        print(f"{need.name}: {place or 'missing'}")
    if None in places.values():
        sys.exit("\n".join(need.advice for need, place in places.items() if place is None))


def _install(needs: list[Need]) -> None:
    """Installs Debian packages until the needs are met. Should that fail, what is still missing is
    named afterwards.
    """
    _apt_get("update")
    with _nothing_started():
        for need in needs:
            for package in need.packages:
                # some packages of nodejs bring npm with them, and refuse to stand beside a second
                # one
                if need.where() is None:
                    print("Installing", package, flush=True)
                    _apt_get("install", "-y", "--no-install-recommends", package)


@contextmanager
def _nothing_started() -> Iterator[None]:
    """Keeps services from starting. Debian's packages start theirs when they are installed, unless
    /usr/sbin/policy-rc.d says no.
    """
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def _apt_get(*arguments: str) -> None:
    done = subprocess.run(
        # another checkout may be installing the same at this moment
        ["apt-get", "-qq", "-o", f"DPkg::Lock::Timeout={OTHERS_DONE_WITHIN_S}", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stderr, file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except ServiceMissing as missing:
        sys.exit(str(missing))
