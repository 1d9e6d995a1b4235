"""Provides Redis for the tests: a database number of our own on a server that runs, or a private
server.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from tests.support.services import ServiceMissing, private_only
from tests.support.services.private import PrivateService

DEFAULT_URL = "redis://127.0.0.1:6379"
CLAIM = "heliograph-tests"  # the key that says: this database number belongs to a run of the tests
CLAIM_S = 6 * 3600  # a claim that was left behind ends by itself
ADVICE = (
    "Redis is needed: install it (Debian, Ubuntu: sudo apt-get install redis-server), or name an"
    " empty database of a server, as in HELIOGRAPH_TEST_REDIS_URL=redis://HOST:6379/9"
)


class PrivateRedis(PrivateService):
    """Runs a server that stores nothing on disk."""

    def __init__(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise ServiceMissing(ADVICE)
        super().__init__()
        self._program = program
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        return [
            self._program,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]

    def is_ready(self) -> bool:
        return answers(self.url)


@contextmanager
def redis_server() -> Iterator[str]:
    """Yields the URL of an empty Redis database that is ours alone until the end of the block."""
    if running := _claim_database():
        try:
            yield running
        finally:
            with _client(running) as client:
                client.flushdb()
        return
    with PrivateRedis() as server:
        yield server.url


def empty(url: str) -> None:
    """Removes every key of our own database, and only there; the claim stays."""
    with _client(url) as client, client.pipeline() as commands:
        commands.flushdb().set(CLAIM, os.getpid(), ex=CLAIM_S).execute()


def answers(url: str) -> bool:
    """Returns whether a Redis server is there that we may use."""
    with _client(url) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def _claim_database() -> str | None:
    """Claims a database number that is empty and that nobody else's tests use: the one that was
    named, or one of the server at the default address.
    """
    if named := os.environ.get("HELIOGRAPH_TEST_REDIS_URL"):
        if not answers(named):
            raise ServiceMissing(
                f"HELIOGRAPH_TEST_REDIS_URL cannot be used: {named} does not answer."
            )
        if not _claim(named):
            raise ServiceMissing(
                f"HELIOGRAPH_TEST_REDIS_URL cannot be used: {named} is not empty, and the tests"
                " empty it."
            )
        return named
    if private_only() or not answers(DEFAULT_URL):
        return None
    candidates = (f"{DEFAULT_URL}/{number}" for number in range(15, 0, -1))
    return next((url for url in candidates if _claim(url)), None)


def _claim(url: str) -> bool:
    with _client(url) as client:
        try:
            return client.dbsize() == 0 and bool(
                client.set(CLAIM, os.getpid(), nx=True, ex=CLAIM_S)
            )
        except redis.ResponseError:  # a server with fewer database numbers
            return False


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=5)
