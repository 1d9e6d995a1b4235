"""The URL of a webhook is taken, or is refused with what is wrong with it."""

from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.base.errors import InvalidRequest
from heliograph.base.settings import SettingError, Settings
from heliograph.webhooks.http.address_guard import AllowedNetworks, allowed_networks, check_url

DEVELOPMENT = AllowedNetworks(loopback=True)
SETTINGS = Settings(Path("/data"), "sqlite:////data/heliograph.db", "s" * 32)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com",
        "https://hooks.example.com/",
        "https://EXAMPLE.com:443/a/b;c=1,2?x=%20&y[]=1".replace("[]", "%5B%5D"),
        "https://xn--mnchen-3ya.example:8443/hook?",
        "https://93.184.216.34/x",
        "https://[2606:2800:220:1::1]:1024",
        "https://a.example:65535?b",
        "https://0x7f.example.com",
        "https://1.2.3.4.example.com",
        "https://hooks",
        "https://example.com/@amina?to=a@b:c//d",
        "https://" + ".".join(["a" * 63] * 3) + ".example/" + "b" * 1_800,
    ],
)
def test_a_url_that_every_reader_reads_alike_is_taken(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://hooks.example.com/", "must begin with https://"),
        ("ftp://hooks.example.com/", "must be written https://HOST"),
        ("HTTPS://hooks.example.com/", "must be written https://HOST"),
        ("hooks.example.com", "must be written https://HOST"),
        ("", "must be written https://HOST"),
        ("https://", "must be written https://HOST"),
        ("https:///path", "must be written https://HOST"),
        ("https:hooks.example.com", "must be written https://HOST"),
        ("https://hooks.example.com:/", "must be written https://HOST"),
        ("https://hooks.example.com:+443/", "must be written https://HOST"),
        ("https://hooks.example.com\\@10.0.0.1/", "credentials"),
        ("https://amina:s3cret@hooks.example.com/", "credentials"),
        ("https://hooks.example.com\\.10.0.0.1/", "must be written https://HOST"),
        ("https://hooks.example.com/#top", "fragment"),
        ("https://hooks.example.com#@10.0.0.1/", "fragment"),
        ("https://hooks.example.com:22/", "must have port 443 or 1024..65535, not 22"),
        ("https://hooks.example.com:80/", "not 80"),
        ("https://hooks.example.com:0/", "not 0"),
        ("https://hooks.example.com:65536/", "not 65536"),
        ("https://hooks.example.com:99999/", "not 99999"),
        ("https://münchen.example/", "xn--"),
        ("https://hooks.example.com/ü", "%XX"),
        ("https://hooks.example.com/a b", "without spaces"),
        ("https://hooks.example.com/\r\nX-Evil: 1", "printable ASCII"),
        ("https://hooks.example.com/\0", "printable ASCII"),
        ("https://hooks.example.com./", "must name a host"),
        ("https://hooks..example.com/", "must name a host"),
        ("https://-a.example/", "must name a host"),
        ("https://" + "a" * 64 + ".example/", "must name a host"),
        ("https://" + ".".join(["a" * 60] * 5) + "/", "must name a host"),
        ("https://hooks.example.com/" + "a" * 2_048, "at most 2048 characters, not 2074"),
        ("https://2130706433/", "four decimal numbers"),
        ("https://0x7f000001/", "four decimal numbers"),
        ("https://127.1/", "four decimal numbers"),
        ("https://0177.0.0.1/", "four decimal numbers"),
        ("https://example.0x/", "four decimal numbers"),
        ("https://[::1/", "must be written"),
        ("https://[::g]/", "must be written"),
        ("https://[1:2]/", "in brackets"),
        ("https://[fe80::1%25eth0]/", "must be written https://HOST"),
        ("https://127.0.0.1/", "127.0.0.1 is loopback"),
        ("https://LOCALHOST/", "LOCALHOST is loopback"),
        ("https://a.localhost/", "is loopback"),
        ("https://[::ffff:8.8.8.8]/", "is IPv4-mapped"),
        ("https://169.254.169.254/latest", "is a cloud's metadata service"),
    ],
)
def test_another_url_is_refused_with_what_is_wrong_with_it(url: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_url(url)
    [(field, message)] = refused.value.fields
    assert field == "url"
    assert said in message
    assert "s3cret" not in refused.value.message


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/hook",
        "http://127.0.0.1/hook",
        "http://[::1]:81",
        "https://127.0.0.1:8443",
        "https://localhost:82",
    ],
)
def test_for_development_loopback_is_open_at_any_port(url: str) -> None:
    check_url(url, DEVELOPMENT)
    with pytest.raises(InvalidRequest):
        check_url(url, replace(DEVELOPMENT, loopback=False))


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "http://10.0.0.1/",
        "http://a.localhost/",
        "https://hooks.example.com:22/",
        "http://127.0.0.1:0/",
    ],
)
def test_for_development_nothing_else_is_open(url: str) -> None:
    with pytest.raises(InvalidRequest):
        check_url(url, DEVELOPMENT)


def test_the_operator_opens_networks_but_not_for_plain_http() -> None:
    allow = allowed_networks(
        replace(SETTINGS, webhooks_allow_networks=("10.20.0.0/16", "fd12:3456::/48"))
    )
    check_url("https://10.20.255.1/", allow)
    check_url("https://[fd12:3456::9]:8443/", allow)
    for url in (
        "http://10.20.255.1/",
        "https://10.21.0.1/",
        "https://10.20.0.1:80/",
        "https://[::ffff:10.20.0.1]/",
    ):
        with pytest.raises(InvalidRequest):
            check_url(url, allow)


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        ("169.254.169.254", "a cloud's metadata service"),
        ("169.254.0.0/16", "link-local"),
        ("127.0.0.0/8", "loopback"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("2002::/16", "6to4"),
        ("224.0.0.0/8", "multicast"),
        ("64:ff9b::/96", "NAT64"),
    ],
)
def test_a_network_that_is_never_opened_stops_the_start(network: str, kind: str) -> None:
    with pytest.raises(SettingError) as refused:
        allowed_networks(replace(SETTINGS, webhooks_allow_networks=("10.0.0.0/8", network)))
    assert str(refused.value).startswith("HELIOGRAPH_WEBHOOKS_ALLOW_NETWORKS: found ")
    assert f"({kind})" in str(refused.value)
