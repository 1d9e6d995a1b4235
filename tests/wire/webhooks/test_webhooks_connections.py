"""Connections to receivers of webhooks are kept or ended, and nothing that stands in one is taken
for an answer that it is not.
"""

import asyncio
import ssl
import time
from pathlib import Path

import pytest

from heliograph.webhooks.http.address_guard import AllowedNetworks
from heliograph.webhooks.http.attempt import HttpResponse, PostFailure
from heliograph.webhooks.http.http_response import READ_MAX, BadResponse
from heliograph.webhooks.http.tls import BESIDE_MAX, RECORD_MAX, TooManyTlsOctets
from tests.support.certificates import Authority
from tests.support.loops import LoopThread
from tests.support.wire.webhook_posting import BODY, SIGNED, head, posting
from tests.support.wire.webhook_receiver import OK, receiving, says

RECORD_OCTETS = 22  # that TLS 1.3 adds to the plain text: a head of 5, a type of 1, a tag of 16


async def test_an_answer_that_nobody_asked_for_is_never_taken_for_the_next_ones() -> None:
    """The answer stands behind the one that was asked for, comes a moment later, or stands in the
    socket when the next request is made.
    """
    smuggled = head(200, "Content-Length: 0")
    turns = iter([says(OK + smuggled), says(OK, smuggled, pause_s=0.05), says(OK)])
    answered = asyncio.Event()

    async def behave(writer: asyncio.StreamWriter) -> None:
        turn = next(turns, None)
        if turn is None:
            writer.write(head(500, "Content-Length: 0"))
        else:
            await turn(writer)
        answered.set()

    async with receiving(behave) as receiver, posting() as poster:
        statuses = []
        for _ in range(4):
            answered.clear()
            outcome = await poster.post(receiver.url(), SIGNED, BODY)
            assert isinstance(outcome, HttpResponse), outcome
            statuses.append(outcome.status)
            await answered.wait()
            await asyncio.sleep(0.01)  # the kernel hands on what was smuggled
        assert statuses == [200, 200, 200, 500]
        assert receiver.connections == 3


async def test_a_server_that_speaks_first_gives_no_answer() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server, posting() as poster:
        connection = await poster._connector.connect(
            poster._target(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", "").where,
            [],
            poster._connecting,
        )
        await asyncio.sleep(0.05)  # what it says is here before the request is written
        with pytest.raises(BadResponse):
            await connection.protocol.response_to(b"POST")  # type: ignore[union-attr]
        connection.close()


async def test_accounts_share_no_connection() -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        for account_id in ("amina", "chidi", "amina", "chidi"):
            assert isinstance(
                await poster.post(receiver.url(), SIGNED, BODY, account_id), HttpResponse
            )
    assert receiver.connections == 2


async def test_what_tls_hides_is_counted_too(tmp_path: Path) -> None:
    """A hundred thousand session tickets came for the answer, and held the event loop for
    seconds.
    """
    authority = Authority(tmp_path)
    tls = authority.server("127.0.0.1")
    tls.num_tickets = 30_000
    with LoopThread("receiver") as thread:
        server = receiving(says(OK), tls)
        receiver = thread.run(server.__aenter__())
        async with posting(
            AllowedNetworks(loopback=True, ca_file=str(authority.file)), timeout_s=15.0
        ) as poster:
            used_s = time.thread_time()
            outcome = await poster.post(receiver.url(scheme="https"), SIGNED, BODY)
            used_s = time.thread_time() - used_s
            assert all(connection.transport is None for connection in poster._connected)
        thread.run(server.__aexit__(None, None, None))
    assert isinstance(outcome, PostFailure), outcome
    assert (outcome.reason, outcome.detail) == ("bad_answer", TooManyTlsOctets.reason)
    assert used_s < 0.03


async def test_a_kept_connection_over_tls_is_counted_anew_for_each_post(tmp_path: Path) -> None:
    """What each answer's own records add would otherwise end it after some hundred POSTs."""
    authority = Authority(tmp_path)
    posts = (BESIDE_MAX + RECORD_MAX) // RECORD_OCTETS + 100
    trusting = AllowedNetworks(loopback=True, ca_file=str(authority.file))
    async with (
        receiving(says(OK), authority.server("127.0.0.1")) as receiver,
        posting(trusting) as poster,
    ):
        for _ in range(posts):
            assert isinstance(
                await poster.post(receiver.url(scheme="https"), SIGNED, BODY), HttpResponse
            )
        assert receiver.connections == 1


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_long_chain_and_a_long_answer_are_no_offence(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    """A record that is not yet whole was counted as if it were none of the answer, and the
    certificates with it.
    """
    authority = Authority(tmp_path)
    tls = authority.server(
        *(f"{number:03}.{'a' * 50}.example" for number in range(600)), "127.0.0.1"
    )
    tls.minimum_version = tls.maximum_version = version
    long = head(200, f"Content-Length: {READ_MAX}") + b"x" * READ_MAX
    async with (
        receiving(says(long), tls) as receiver,
        posting(AllowedNetworks(loopback=True, ca_file=str(authority.file))) as poster,
    ):
        for _ in range(3):
            assert isinstance(
                await poster.post(receiver.url(scheme="https"), SIGNED, BODY), HttpResponse
            )


async def test_a_kept_connection_that_ends_under_a_post_is_a_failure_and_not_a_second_post() -> (
    None
):
    turns = iter([says(OK), says(close=True), says(OK)])

    async def behave(writer: asyncio.StreamWriter) -> None:
        await next(turns)(writer)

    async with receiving(behave) as receiver, posting() as poster:
        outcomes = [await poster.post(receiver.url(), SIGNED, BODY) for _ in range(3)]
        assert [getattr(outcome, "reason", None) for outcome in outcomes] == [None, "closed", None]
        assert (len(receiver.heads), receiver.connections) == (3, 2)
