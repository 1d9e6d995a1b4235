"""The links of a text are found, and what is suspicious about their hosts is told."""

import pytest

from heliograph.text.links import HOSTS_OF_TEXT_MAX, HostTrait, hosts_in, names_in, trait_of


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("Pay at https://Shop.Example.com/a?b=1, or call", ["shop.example.com"]),
        ("Pay at example.com.", ["example.com"]),
        ("bit.ly/3abc bit.ly/4abc t.co:443/x", ["bit.ly", "t.co"]),
        ("www.example.gh", ["www.example.gh"]),
        ("http://bank.com@evil.ng/", ["evil.ng"]),
        ("http://[2001:db8::1]:80/ http://3232235777/", ["[2001:db8::1]", "3232235777"]),
        ("10.1.2.3/pay", ["10.1.2.3"]),
        ("http://p\u0430ypal.com/", ["xn--pypal-4ve.com"]),
        ("Call now.It is free: 10.5/kg, 1.2.3.4, 3.50 and/or e.g. amina@example.com", []),
        ("first.last.x@example.com http://localhost/ http://", []),
        (" ".join(f"h{k}.com" for k in range(30)), [f"h{k}.com" for k in range(20)]),
    ],
)
def test_hosts_of_links(text: str, hosts: list[str]) -> None:
    assert hosts_in(text) == hosts
    assert len(hosts) <= HOSTS_OF_TEXT_MAX


@pytest.mark.parametrize(
    ("host", "trait"),
    [
        ("10.1.2.3", HostTrait.IP_ADDRESS),
        ("0x7f.1", HostTrait.IP_ADDRESS),
        ("[2001:db8::1]", HostTrait.IP_ADDRESS),
        ("www.bit.ly", HostTrait.SHORTENER),
        ("shop.xn--pypal-4ve.com", HostTrait.PUNYCODE),
        ("rabbit.ly", None),
        ("example.com", None),
    ],
)
def test_what_is_suspicious_about_a_host(host: str, trait: HostTrait | None) -> None:
    assert trait_of(host) is trait


def test_names_in_a_host() -> None:
    assert names_in("www.amina-login.co.gh") == {"amina-login", "amina", "login"}
    assert names_in("10.100.200.30") == set()
