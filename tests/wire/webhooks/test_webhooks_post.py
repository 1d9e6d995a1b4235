"""A POST to receivers that do what they like ends in time, reads little, follows nothing, and is
never sent twice.
"""

import asyncio
import gzip
import resource
import socket

import pytest

from heliograph.webhooks.http.attempt import HttpResponse, PostFailure
from tests.support.wire.webhook_posting import BODY, SIGNED, head, posting
from tests.support.wire.webhook_receiver import OK, Behaviour, after, receiving, says, without_end

CHUNK = b"x" * 65_536
CHUNKS_OF_A_GIB = 2**30 // len(CHUNK)
GROWTH_MAX_KIB = 16 * 1_024
# octets: of the kernel's, between two sockets of this machine, and what is received at most
BUFFERS_MAX = 16 * 2**20
ENDS_WITHIN_S = 0.5  # beyond its time, on a machine that does other things too


async def outcome_of(behave: Behaviour, timeout_s: float = 5.0) -> HttpResponse | PostFailure:
    """Returns the outcome of one POST to a receiver of this behaviour, which heard it once."""
    async with receiving(behave) as receiver, posting(timeout_s=timeout_s) as poster:
        outcome = await poster.post(receiver.url(), SIGNED, BODY)
        assert len(receiver.heads) == len(receiver.bodies) == 1
    return outcome


async def test_a_post_arrives_as_it_was_signed_and_nothing_is_added_that_invites_more() -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        outcome = await poster.post(receiver.url(), SIGNED, BODY)
    assert isinstance(outcome, HttpResponse)
    assert (outcome.status, outcome.ok, outcome.text, outcome.retry_after) == (
        200,
        True,
        "ok",
        None,
    )
    assert 0 < outcome.seconds < 5
    assert receiver.bodies == [BODY]
    request, *lines = receiver.heads[0].rstrip("\r\n").split("\r\n")
    assert request == "POST /hook?a=b HTTP/1.1"
    heard = dict(line.split(": ", 1) for line in lines)
    assert heard == {
        **SIGNED,
        "Host": f"127.0.0.1:{receiver.port}",
        "Accept": "*/*",
        "Content-Length": str(len(BODY)),
    }


async def test_connections_are_kept_cookies_are_not_and_the_environments_proxy_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cookie = head(200, "Set-Cookie: session=1; Path=/", "Content-Length: 0")
    async with receiving(says(cookie)) as receiver, receiving(says(OK)) as proxy:
        for name in (
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
        ):
            monkeypatch.setenv(name, f"http://amina:s3cret@127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with posting() as poster:
            outcomes = [await poster.post(receiver.url(), SIGNED, BODY) for _ in range(3)]
    assert all(isinstance(outcome, HttpResponse) and outcome.ok for outcome in outcomes)
    assert (receiver.connections, proxy.connections) == (1, 0)
    assert not any(
        "cookie" in heard.lower() or "authorization" in heard.lower() for heard in receiver.heads
    )


@pytest.mark.parametrize(
    ("behave", "status"),
    [
        (says(head(500, "Content-Length: 4"), b"oops"), 500),
        (says(head(204)), 204),
        (says(head(410, "Content-Length: 0")), 410),
        (says(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", close=True), 200),
        (says(head(100), head(103, "Link: <x>"), head(200, "Content-Length: 2"), b"ok"), 200),
        # what is too long is not read to its end; the status counts
        (without_end(head(200, f"Content-Length: {2**30}"), CHUNK, CHUNKS_OF_A_GIB), 200),
    ],
    ids=["500", "204", "410", "until the end", "after 100 and 103", "1 GiB"],
)
async def test_an_answer_is_its_status(behave: Behaviour, status: int) -> None:
    outcome = await outcome_of(behave)
    assert isinstance(outcome, HttpResponse), outcome
    assert (outcome.status, outcome.ok) == (status, 200 <= status < 300)


@pytest.mark.parametrize(
    "behave",
    [
        after(60, OK),
        without_end(b"HTTP/1.1 200 OK\r\nX-A: ", b"", 1_000, pause_s=1.0),
        without_end(b"", b"H", 1_000, pause_s=1.0),
        without_end(head(200, "Content-Length: 1000"), b"x", 1_000, pause_s=0.1),
        without_end(head(200, "Transfer-Encoding: chunked"), b"1\r\nx\r\n", 1_000, pause_s=0.1),
        without_end(b"", head(100), 1_000, pause_s=0.1),
    ],
    ids=[
        "before",
        "in a header",
        "a drip of the first line",
        "a drip of the answer",
        "a drip of chunks",
        "100 Continue for ever",
    ],
)
async def test_who_hangs_or_drips_has_its_time_and_no_more(behave: Behaviour) -> None:
    outcome = await outcome_of(behave, timeout_s=0.6)
    assert isinstance(outcome, PostFailure), outcome
    assert outcome.reason == "timeout"
    assert 0.59 < outcome.seconds < 0.6 + ENDS_WITHIN_S


async def test_the_end_of_its_time_is_not_rounded_to_a_second() -> None:
    async with receiving(after(60, OK)) as receiver, posting(timeout_s=5.2) as poster:

        async def post_after(seconds: float) -> HttpResponse | PostFailure:
            await asyncio.sleep(seconds)
            return await poster.post(receiver.url(), SIGNED, BODY)

        outcomes = await asyncio.gather(*(post_after(part / 4) for part in range(4)))
    assert all(
        isinstance(outcome, PostFailure) and 5.19 < outcome.seconds < 5.2 + ENDS_WITHIN_S
        for outcome in outcomes
    ), outcomes


async def test_an_answer_in_the_last_moment_counts_and_one_after_it_does_not() -> None:
    assert isinstance(await outcome_of(after(2.6, OK), timeout_s=3.0), HttpResponse)
    late = await outcome_of(after(3.4, OK), timeout_s=3.0)
    assert isinstance(late, PostFailure)
    assert late.reason == "timeout"


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (says(close=True), "closed"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Le", close=True), "closed"),
        (says(head(200, "Content-Length: 100"), b"only this", close=True), "closed"),
        (says(head(200, "Transfer-Encoding: chunked"), b"9\r\nonly", close=True), "closed"),
        (says(b"220 mail.example.com ESMTP\r\n"), "bad_answer"),
        (says(head(200, "Content-Length: 3", "Content-Length: 4"), b"abcd"), "bad_answer"),
        (without_end(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 1_000, 10_000), "bad_answer"),
        (without_end(b"HTTP/1.1 200 OK\r\nX-A: ", CHUNK, CHUNKS_OF_A_GIB), "bad_answer"),
        (without_end(b"HTTP/1.1 200 ", CHUNK, CHUNKS_OF_A_GIB), "bad_answer"),
    ],
    ids=[
        "nothing",
        "half a head",
        "half an answer",
        "half a chunk",
        "another protocol",
        "two lengths",
        "endless headers",
        "an endless header",
        "an endless first line",
    ],
)
async def test_what_is_no_whole_answer_is_a_failure(behave: Behaviour, reason: str) -> None:
    outcome = await outcome_of(behave)
    assert isinstance(outcome, PostFailure), outcome
    assert outcome.reason == reason
    assert outcome.seconds < 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with receiving(says(OK)) as inside, posting() as poster:
        redirect = says(
            head(
                status,
                f"Location: {inside.url()}",
                f"URI: {inside.url()}",
                f"Refresh: 0; url={inside.url()}",
                "Content-Length: 0",
            )
        )
        async with receiving(redirect) as receiver:
            outcome = await poster.post(receiver.url(), SIGNED, BODY)
    assert isinstance(outcome, HttpResponse)
    assert (outcome.status, outcome.ok) == (status, False)
    assert (len(receiver.heads), inside.connections) == (1, 0)


async def test_what_is_kept_of_an_answer_can_be_stored_and_shown() -> None:
    answer = b"\0a\xff\xed\xa0\x80" + "é".encode() * 1_000
    outcome = await outcome_of(
        says(
            head(503, "Retry-After: 12\xff0" + "1" * 200, f"Content-Length: {len(answer)}"), answer
        )
    )
    assert isinstance(outcome, HttpResponse)
    assert outcome.text.startswith("\ufffda\ufffd")
    assert len(outcome.text.encode("utf-16-le")) <= 2 * 1_024
    assert "\0" not in outcome.text
    assert outcome.retry_after is not None
    assert outcome.retry_after.startswith("12\ufffd01")
    assert len(outcome.retry_after) == 64
    assert (outcome.text + outcome.retry_after).encode()


async def test_a_compressed_answer_stays_as_it_came() -> None:
    bomb = gzip.compress(bytes(50 * 2**20))
    assert len(bomb) < 65_536
    outcome = await outcome_of(
        says(head(200, "Content-Encoding: gzip", f"Content-Length: {len(bomb)}"), bomb)
    )
    assert isinstance(outcome, HttpResponse)
    assert outcome.text.startswith("\x1f\ufffd")


@pytest.mark.parametrize(
    ("begin", "again"),
    [
        (head(200, f"Content-Length: {2**30}"), CHUNK),
        (head(200, "Transfer-Encoding: chunked"), b"10000\r\n" + CHUNK + b"\r\n"),
        (head(200, "Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 10_000),
        (head(200, "Connection: close"), CHUNK),
    ],
    ids=["a length", "chunks", "small chunks", "until the end"],
)
async def test_of_a_gib_only_the_beginning_is_read_and_memory_stays_flat(
    begin: bytes, again: bytes
) -> None:
    async with (
        receiving(without_end(begin, again, CHUNKS_OF_A_GIB)) as receiver,
        posting(connections=50) as poster,
    ):
        await poster.post(receiver.url(), SIGNED, BODY)
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcomes = await asyncio.gather(
            *(poster.post(receiver.url(), SIGNED, BODY) for _ in range(20))
        )
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert all(
        isinstance(outcome, HttpResponse) and outcome.ok and outcome.text.startswith("xxx")
        for outcome in outcomes
    ), outcomes
    # what was not read to its end is not used again
    assert len(receiver.heads) == receiver.connections == 21
    assert grown_kib < GROWTH_MAX_KIB


CHUNKED = head(200, "Transfer-Encoding: chunked")
EMPTY = head(200, "Content-Length: 0")


@pytest.mark.parametrize(
    ("begin", "again", "reason"),
    [
        (CHUNKED + b"1;", CHUNK, None),
        (CHUNKED, b"1;" + b"x" * 8_000 + b"\r\nx\r\n", None),
        (CHUNKED, b"1\r\nx\r\n" * 10_000, None),
        (CHUNKED + b"0\r\n", b"a: b\r\n" * 10_000, None),
        (b"", EMPTY * 1_000, None),
        (b"", b"HTTP/1.1 200 OK\r\n\r\n" * 1_000, None),
        (b"", head(100) * 1_000, "bad_answer"),
        (b"", head(100, *["X-A: " + "b" * 3_000] * 5), "bad_answer"),
    ],
    ids=[
        "an endless chunk size",
        "long chunk sizes",
        "chunks of one octet",
        "endless trailers",
        "endless answers",
        "endless heads",
        "100 Continue for ever",
        "100 Continue at length",
    ],
)
async def test_what_stands_around_an_answer_costs_little(
    begin: bytes, again: bytes, reason: str | None
) -> None:
    """Little means octets, memory, and the time of this process: what aiohttp made of such answers
    took a tenth of a second each.
    """
    sent = 0

    async def behave(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(begin)
        while sent < 2**28:
            writer.write(again)
            await writer.drain()
            sent += len(again)

    outcome = await outcome_of(behave)
    assert getattr(outcome, "reason", None) == reason, outcome
    assert isinstance(outcome, PostFailure) or outcome.ok
    assert outcome.seconds < 2
    assert sent < BUFFERS_MAX


async def test_nobody_listens() -> None:
    async with posting() as poster:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            outcome = await poster.post(
                f"http://127.0.0.1:{closed.getsockname()[1]}/", SIGNED, BODY
            )
    assert isinstance(outcome, PostFailure)
    assert (outcome.reason, outcome.detail) == ("connect", "Connection refused")
