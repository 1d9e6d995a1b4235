"""Webhooks reach no address that is not outside, in whatever spelling; and what is outside stays
reachable.
"""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.errors import InvalidRequest
from heliograph.webhooks.http.address_guard import (
    AddressRefused,
    AllowedNetworks,
    check_url,
    guarded_socket,
    judge,
)
from tests.support.property.addresses import Address, spelled

Network = IPv4Network | IPv6Network

# Written down apart from the guard's own list: IANA's registries of special addresses, and RFCs
# 4291, 6052, 3056, 4380, 4214.
_FORBIDDEN = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15
198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255 168.63.129.16 100.100.100.200
:: ::1 ::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64
2001::/32 2001:2::/48 2001:10::/28 2001:20::/28
2001::/23 2001:db8::/32 2002::/16 3ffe::/16 3fff::/20 5f00::/16 fc00::/7 fd00:ec2::254 fe80::/10
fec0::/10 ff00::/8
"""
_NEVER_OPENED = """
0.0.0.0/8 127.0.0.0/8 169.254.0.0/16 224.0.0.0/4 255.255.255.255 168.63.129.16 100.100.100.200
100.96.0.96 192.0.0.192
::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16 fd00:ec2::/32 fe80::/10 ff00::/8
"""
FORBIDDEN = [ip_network(text) for text in _FORBIDDEN.split()]
NEVER_OPENED = [ip_network(text) for text in _NEVER_OPENED.split()]
EVERYTHING = AllowedNetworks(networks=(ip_network("0.0.0.0/0"), ip_network("::/0")))


def within(network: Network) -> st.SearchStrategy[Address]:
    """Returns addresses of the network, its first and last one and their like often."""
    first, last = int(network.network_address), int(network.broadcast_address)
    return st.integers(first, last).map(
        lambda number: ip_address(number.to_bytes(4 if network.version == 4 else 16, "big"))
    )


forbidden = st.sampled_from(FORBIDDEN).flatmap(within)
forbidden_v4 = (
    st.sampled_from([network for network in FORBIDDEN if network.version == 4])
    .flatmap(within)
    .map(int)
)
any_v6 = st.integers(0, 2**128 - 1).map(IPv6Address)
any_address = st.one_of(
    st.integers(0, 2**32 - 1).map(IPv4Address),
    any_v6,
    st.integers(0x2000 << 112, (0x4000 << 112) - 1).map(IPv6Address),
)


@given(forbidden)
def test_nothing_is_sent_to_an_address_that_is_not_outside(address: Address) -> None:
    assert judge(address) is not None
    with pytest.raises(AddressRefused):
        guarded_socket(
            (
                socket.AF_INET if address.version == 4 else socket.AF_INET6,
                socket.SOCK_STREAM,
                6,
                "",
                (str(address), 443),
            ),
            AllowedNetworks(),
        )


@given(forbidden_v4, any_v6.map(int))
def test_an_address_that_stands_for_another_one_is_refused_as_what_it_is(
    inside: int, rest: int
) -> None:
    low, high = rest & 0xFFFFFFFF, rest & ((1 << 80) - 1)
    forms = {
        "IPv4-mapped": (0xFFFF << 32) | inside,
        "NAT64": (0x64FF9B << 96) | inside,
        "6to4": (0x2002 << 112) | (inside << 80) | high,
        "Teredo": (0x20010000 << 96) | (high & ~0xFFFFFFFF) | (inside ^ 0xFFFFFFFF),
    }
    for kind, number in forms.items():
        assert judge(IPv6Address(number), EVERYTHING) == kind
    assert judge(IPv6Address((0xFFFF << 32) | low)) == "IPv4-mapped"  # of public ones too


@given(forbidden)
def test_no_spelling_of_such_an_address_passes_as_a_url(address: Address) -> None:
    for host in spelled(address):
        for url in (
            f"https://{host}/hook",
            f"https://{host}:8443",
            f"http://{host}/",
            f"https://{host}?a=b",
        ):
            with pytest.raises(InvalidRequest) as refused:
                check_url(url)
            assert [field for field, _ in refused.value.fields] == ["url"]


@given(any_address)
def test_what_is_allowed_lies_outside_and_what_is_outside_is_allowed(address: Address) -> None:
    if judge(address) is None:
        assert not any(address in network for network in FORBIDDEN)
        assert address.is_global
        assert not address.is_multicast
        check_url(f"https://{address}/" if address.version == 4 else f"https://[{address}]:8443/")
    elif not any(address in network for network in FORBIDDEN):
        assert not address.is_global or address not in ip_network("2000::/3")


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("::10.0.0.1", "IPv4-compatible"),
        ("100::1", "discard-only"),
        ("2001:10::1", "ORCHID"),
        ("2001:20::1", "ORCHID"),
        ("2001:1::1", "reserved"),
        ("fec0::1", "private"),
        ("fd00::1", "private"),
        ("fd00:ec2::254", "a cloud's metadata service"),
        ("::ffff:0:10.0.0.1", "IPv4-mapped"),
    ],
)
def test_a_refusal_names_the_kind_of_address(address: str, kind: str) -> None:
    assert judge(ip_address(address)) == kind


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.170.2",
        "168.63.129.16",
        "192.0.0.192",
        "100.100.100.200",
        "100.96.0.96",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fd00:42::42",
        "fd00:c1::a9fe:a9fe",
        "fd00:a9fe:a9fe::1",
        "fd00:100::100:200",
    ],
)
@pytest.mark.parametrize(
    "opened",
    [EVERYTHING, AllowedNetworks(networks=(ip_network("100.64.0.0/10"), ip_network("fc00::/7")))],
)
def test_the_metadata_services_of_clouds_are_never_opened(
    address: str, opened: AllowedNetworks
) -> None:
    assert judge(ip_address(address), opened) == "a cloud's metadata service"


@given(st.sampled_from(NEVER_OPENED).flatmap(within))
def test_no_opening_of_networks_opens_metadata_or_what_stands_for_others(address: Address) -> None:
    assert judge(address, EVERYTHING) is not None


@given(st.data())
def test_an_opened_network_opens_itself_and_nothing_beside_it(data: st.DataObject) -> None:
    opened = AllowedNetworks(networks=(ip_network("10.20.0.0/16"), ip_network("fd12:3456::/48")))
    inside = data.draw(st.sampled_from(opened.networks).flatmap(within))
    assert judge(inside, opened) is None
    beside = data.draw(
        forbidden.filter(lambda address: not any(address in network for network in opened.networks))
    )
    assert judge(beside, opened) is not None


@given(any_address)
def test_the_opening_of_loopback_opens_loopback_only(address: Address) -> None:
    development = AllowedNetworks(loopback=True)
    assert judge(ip_address("127.8.9.1"), development) is None
    assert judge(ip_address("::1"), development) is None
    if not address.is_loopback:
        assert judge(address, development) == judge(address)
