"""A POST ends up only where it may: the address of the connection is judged, whatever was said
before, names may not answer, and TLS is verified.
"""

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv4Address, ip_network
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace

import pytest

from heliograph.webhooks.http import dns as resolve
from heliograph.webhooks.http.address_guard import AddressInfo, AllowedNetworks
from heliograph.webhooks.http.attempt import HttpResponse, PostFailure
from heliograph.webhooks.http.dns import (
    ACCOUNT_AT_ONCE,
    GOOD_AT_ONCE,
    NEW_AT_ONCE,
    SLOW_S,
    Resolver,
    of_account,
)
from tests.support.certificates import Authority
from tests.support.property.addresses import spelled
from tests.support.wire.name_server import name_server
from tests.support.wire.webhook_posting import BODY, SIGNED, posting
from tests.support.wire.webhook_receiver import OK, receiving, says

# of documentation: it is routed nowhere, and the operator of these tests has opened it
OUTSIDE = "198.51.100.7"
CUSTOMERS = AllowedNetworks(networks=(ip_network("198.51.100.0/24"),))


def reasons(outcomes: list[HttpResponse | PostFailure]) -> list[str]:
    return [
        outcome.reason if isinstance(outcome, PostFailure) else str(outcome.status)
        for outcome in outcomes
    ]


@pytest.mark.parametrize(
    "inside",
    [
        ["127.0.0.1"],
        ["::1"],
        ["0.0.0.0"],
        ["::ffff:127.0.0.1"],
        ["127.0.0.1", "::1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
    ],
    ids=",".join,
)
async def test_a_name_that_leads_outside_and_then_inside_is_refused_when_it_does(
    inside: list[str], tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    turns = chain([[OUTSIDE]], repeat(inside))
    async with (
        receiving(says(OK), authority.server("hooks.example.com")) as receiver,
        name_server(lambda _: next(turns)) as names,
    ):
        url = receiver.url("hooks.example.com", "https")
        allow = AllowedNetworks(CUSTOMERS.networks, ca_file=str(authority.file))
        async with posting(allow, look_up=names.look_up, dns_ttl_s=0, timeout_s=0.5) as poster:
            outcomes = [await poster.post(url, SIGNED, BODY) for _ in range(3)]
        assert receiver.connections == 0
        assert len(names.asked) >= 2
        assert reasons(outcomes)[0] in ("timeout", "connect")  # it was let out, to nobody
        assert reasons(outcomes)[1:] == ["refused_address"] * 2
        assert not any(
            address in outcome.detail
            for outcome in outcomes
            if isinstance(outcome, PostFailure)
            for address in (OUTSIDE, *inside)
        )


async def test_the_same_name_is_reached_once_loopback_is_open(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with (
        receiving(says(OK), authority.server("hooks.example.com")) as receiver,
        name_server(lambda _: ["127.0.0.1"]) as names,
    ):
        allow = AllowedNetworks(loopback=True, ca_file=str(authority.file))
        async with posting(allow, look_up=names.look_up) as poster:
            outcome = await poster.post(receiver.url("hooks.example.com", "https"), SIGNED, BODY)
    assert reasons([outcome]) == ["200"]
    assert receiver.bodies == [BODY]


async def test_of_a_name_with_addresses_inside_and_outside_only_those_outside_are_tried() -> None:
    async with (
        receiving(says(OK)) as receiver,
        name_server(lambda _: ["127.0.0.1", OUTSIDE, "::1"]) as names,
        posting(CUSTOMERS, look_up=names.look_up, timeout_s=0.5) as poster,
    ):
        outcome = await poster.post(receiver.url("hooks.example.com", "https"), SIGNED, BODY)
    assert reasons([outcome])[0] in ("timeout", "connect")
    assert receiver.connections == 0


async def test_no_spelling_of_loopback_in_a_url_reaches_it() -> None:
    async with receiving(says(OK)) as receiver, posting(AllowedNetworks()) as poster:
        names = ["localhost", "LOCALHOST", "localhost.", "a.localhost", "ⓛocalhost"]
        for host in [*spelled(IPv4Address("127.0.0.1")), "[::1]", "[::]", "0.0.0.0", "0", *names]:
            for scheme in ("https", "http"):
                outcome = await poster.post(receiver.url(host, scheme), SIGNED, BODY)
                assert reasons([outcome]) == ["refused_address"], host
    assert receiver.connections == 0


async def test_the_systems_own_names_of_loopback_are_judged_when_connecting() -> None:
    """`/etc/hosts` may give this machine any name."""
    async with (
        receiving(says(OK)) as receiver,
        posting(
            AllowedNetworks(), look_up=lambda _, port: socket.getaddrinfo("localhost", port)
        ) as poster,
    ):
        outcome = await poster.post(receiver.url("this-machine", "https"), SIGNED, BODY)
    assert reasons([outcome]) == ["refused_address"]
    assert receiver.connections == 0


async def test_of_a_names_many_addresses_four_are_tried() -> None:
    tried = set[str]()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        async with (
            name_server(lambda _: [f"127.9.9.{number}" for number in range(1, 100)]) as names,
            posting(look_up=names.look_up) as poster,
        ):
            outcome = await poster.post(f"https://hooks.example.com:{port}/", SIGNED, BODY)
            connector = poster._connector
            tried.update(
                found["host"]
                for found in connector._cached_hosts.next_addrs(("hooks.example.com", port))
            )
    assert reasons([outcome]) == ["connect"]
    assert tried == {f"127.9.9.{number}" for number in range(1, 5)}


async def test_a_name_that_nobody_has_is_a_failure_of_names() -> None:
    async with name_server(lambda _: []) as names, posting(look_up=names.look_up) as poster:
        outcome = await poster.post("https://hooks.example.com/", SIGNED, BODY)
    assert reasons([outcome]) == ["dns"]


async def test_names_whose_name_server_is_dead_hold_up_nobody_also_if_it_answers_at_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a busy machine stands still for most of a second
    monkeypatch.setattr(resolve, "SLOW_S", slow_s := 3 * SLOW_S)
    authority = Authority(tmp_path)
    round_of: Counter[str] = Counter()

    def look_up(host: str, port: int) -> Sequence[AddressInfo]:
        if host.startswith("dead"):
            round_of[host] += 1
            if round_of[host] != 2:
                time.sleep(2 * slow_s)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM)

    dead = [f"https://dead{number}.example.com:8443/" for number in range(2 * ACCOUNT_AT_ONCE)]
    many = [
        f"https://dead-too{number}.example.com:8443/"
        for number in range(NEW_AT_ONCE + GOOD_AT_ONCE)
    ]
    allow = AllowedNetworks(loopback=True, ca_file=str(authority.file))
    closing = says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    async with (
        receiving(closing, authority.server("hooks.example.com", "*.example.com")) as receiver,
        posting(allow, connections=1_000, look_up=look_up, dns_ttl_s=0, timeout_s=60.0) as poster,
    ):
        known = receiver.url("hooks.example.com", "https")
        await poster.post(known, SIGNED, BODY, "amina")
        for number in range(3):
            waiting = [
                asyncio.create_task(poster.post(url, SIGNED, BODY, "amina"))
                for url in (dead if number < 2 else dead + many)
            ]
            await asyncio.sleep(0.2)
            outcomes = [
                await poster.post(known, SIGNED, BODY, "amina"),
                await poster.post(
                    receiver.url(f"new{number}.example.com", "https"), SIGNED, BODY, "bilal"
                ),
            ]
            assert reasons(outcomes) == ["200", "200"]
            assert max(outcome.seconds for outcome in outcomes) < slow_s / 2
            if number < 2:
                assert set(reasons(await asyncio.gather(*waiting))) == {"dns"}
    for task in waiting:
        task.cancel()


@pytest.mark.parametrize(
    ("hosts", "valid_days", "trusted", "outcome"),
    [
        (("hooks.example.com",), 1, True, "200"),
        (("hooks.example.com",), 1, False, "unable to get local issuer certificate"),
        (("hooks.example.com",), -1, True, "certificate has expired"),
        (
            ("other.example.com", "127.0.0.1"),
            1,
            True,
            "Hostname mismatch, certificate is not valid for 'hooks.example.com'.",
        ),
    ],
    ids=["good", "an authority of nobody's", "expired", "another name"],
)
async def test_the_receiver_proves_its_name(
    hosts: tuple[str, ...], valid_days: int, trusted: bool, outcome: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    allow = AllowedNetworks(loopback=True, ca_file=str(authority.file) if trusted else None)
    async with (
        receiving(says(OK), authority.server(*hosts, valid_days=valid_days)) as receiver,
        name_server(lambda _: ["127.0.0.1"]) as names,
        posting(allow, look_up=names.look_up) as poster,
    ):
        got = await poster.post(receiver.url("hooks.example.com", "https"), SIGNED, BODY)
    assert (str(got.status) if isinstance(got, HttpResponse) else got.detail) == outcome
    assert isinstance(got, HttpResponse) or got.reason == "tls"
    # the events are not told to whoever cannot prove it
    assert receiver.bodies == ([BODY] if outcome == "200" else [])


async def test_a_certificate_that_a_receiver_signed_itself_is_none(tmp_path: Path) -> None:
    own = Authority(tmp_path, "127.0.0.1").server("127.0.0.1")
    async with (
        receiving(says(OK), own) as receiver,
        posting(AllowedNetworks(loopback=True, ca_file=str(Authority(tmp_path).file))) as poster,
    ):
        outcome = await poster.post(receiver.url(scheme="https"), SIGNED, BODY)
    assert reasons([outcome]) == ["tls"]
    assert receiver.bodies == []


async def test_a_server_that_does_not_speak_tls_hears_nothing_of_the_event() -> None:
    heard = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        heard.extend(await reader.read(65_536))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, posting() as poster:
        outcome = await poster.post(
            f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", SIGNED, BODY
        )
    assert reasons([outcome]) == ["tls"], outcome
    assert BODY not in heard


async def test_good_names_that_die_together_hold_up_another_for_little_more_than_a_second() -> None:
    dead = False

    def look_up(host: str, port: int) -> Sequence[AddressInfo]:
        if dead and host.startswith("theirs"):
            time.sleep(6 * SLOW_S)
        return socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM)

    resolver = Resolver(look_up)
    names = [f"theirs{number}.example.com" for number in range(2 * GOOD_AT_ONCE)]

    async def resolved(name: str) -> float:
        """Resolves a name in an account of its own. Returns how long that took."""
        of_account.set(name)
        began_s = time.monotonic()
        await resolver.resolve(name, 443)
        return time.monotonic() - began_s

    await asyncio.gather(
        *(asyncio.create_task(resolved(name)) for name in [*names, "ours.example.com"])
    )
    dead = True
    theirs = [asyncio.create_task(resolved(name)) for name in names]
    await asyncio.sleep(0.1)
    # two rounds of theirs are before it
    assert await asyncio.create_task(resolved("ours.example.com")) < 3 * SLOW_S
    assert min(await asyncio.gather(*theirs)) > 5 * SLOW_S


async def test_a_name_that_has_not_answered_in_time_is_slow_though_the_timer_was_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Event()

    def look_up(host: str, port: int) -> Sequence[AddressInfo]:
        ended.wait()
        return socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM)

    monkeypatch.setattr(resolve, "SLOW_S", slow_s := 0.2)
    # by which the timer is early
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() * 0.99)
    monkeypatch.setattr(resolve, "time", clock)
    resolver = Resolver(look_up)
    waiting = asyncio.create_task(resolver.resolve("dead.example.com", 443))
    await asyncio.sleep(2 * slow_s)
    assert resolver._places("dead.example.com") is resolver._slow
    ended.set()
    await waiting
