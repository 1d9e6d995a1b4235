"""Finds the hosts of links in a text, and what is suspicious about a host by itself."""

import ipaddress
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

HOSTS_OF_TEXT_MAX: Final = 20  # a text of ten segments that has more is no text to read
LABEL_LETTERS_MIN: Final = 3  # shorter ones, such as co and gh, say nothing
_WITH_SCHEME: Final = r"https?://(?:[^\s/?#@]{0,100}@)?(\[[0-9a-f:.]{2,45}\]|[\w.-]{1,253})"
# not in an address of mail, nor the rest of a longer word
_BARE: Final = r"(?<![\w@.:/-])([\w-]{1,63}(?:\.[\w-]{1,63}){1,9})(?![\w@-]|\.\w)((?::\d{1,5})?/)?"
_LINK: Final = re.compile(f"{_WITH_SCHEME}|{_BARE}", re.IGNORECASE)
# What a handset makes a link of even without a scheme and a path. Others, such as the "it" of
# "do.it", are more often a full stop that has no space behind it.
_ENDS: Final = frozenset(
    {
        "com",
        "net",
        "org",
        "info",
        "biz",
        "xyz",
        "top",
        "online",
        "site",
        "shop",
        "live",
        "click",
        "link",
        "app",
        "icu",
        "vip",
    }
)
_SHORTENERS: Final = frozenset(
    {
        "bit.ly",
        "bl.ink",
        "buff.ly",
        "clck.ru",
        "cutt.ly",
        "goo.gl",
        "is.gd",
        "lnkd.in",
        "ow.ly",
        "rb.gy",
        "rebrand.ly",
        "s.id",
        "short.gy",
        "shorturl.at",
        "soo.gd",
        "t.co",
        "t.ly",
        "tiny.cc",
        "tinyurl.com",
        "u.to",
        "v.gd",
    }
)
_GENERIC: Final = frozenset(
    {
        "www",
        "com",
        "net",
        "org",
        "gov",
        "edu",
        "app",
        "web",
        "mail",
        "info",
        "shop",
        "link",
        "online",
    }
)
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class HostTrait(StrEnum):
    """Names what is suspicious about a host."""

    IP_ADDRESS = "ip_address"
    SHORTENER = "shortener"
    PUNYCODE = "punycode"  # letters of another alphabet, which may look like Latin ones


def hosts_in(text: str) -> list[str]:
    """Returns the different hosts of a text's links, in the order in which they stand there, in
    lower case and in ASCII, as the name servers have them.
    """
    return list(dict.fromkeys(_hosts(text)))[:HOSTS_OF_TEXT_MAX]


def trait_of(host: str) -> HostTrait | None:
    """Returns what is suspicious about a host by itself, as `hosts_in` gives it."""
    labels = host.split(".")
    # browsers read 3232235777 and 0x7f.1 as addresses too (WHATWG, "ends in a number checker")
    if host.startswith("[") or _NUMERIC.fullmatch(labels[-1]):
        return HostTrait.IP_ADDRESS
    if host in _SHORTENERS or host.removeprefix("www.") in _SHORTENERS:
        return HostTrait.SHORTENER
    if any(label.startswith("xn--") for label in labels):
        return HostTrait.PUNYCODE
    return None


def names_in(host: str) -> set[str]:
    """Returns what may be read as a name in a host: its labels but the last, and their parts
    between hyphens. Those that many hosts have, such as www, are left out.
    """
    if trait_of(host) is HostTrait.IP_ADDRESS:
        return set()
    labels = host.split(".")[:-1]
    names = {name for label in labels for name in (label, *label.split("-"))}
    return {name for name in names if len(name) >= LABEL_LETTERS_MIN} - _GENERIC


def _hosts(text: str) -> Iterator[str]:
    words = [word for word in text.split() if "." in word or "//" in word]  # few, and quickly
    for found in (found for word in words for found in _LINK.finditer(word)):
        with_scheme, bare, path = found.groups()
        host = (with_scheme or bare).lower().rstrip(".-_")
        last = host.rpartition(".")[2]
        if with_scheme:
            is_link = "." in host or host.startswith("[") or bool(_NUMERIC.fullmatch(host))
        elif last.isdigit():
            is_link = path is not None and _is_address(host)
        else:
            is_link = path is not None or last in _ENDS or host.startswith("www.")
        if is_link:
            yield _in_ascii(host)


def _is_address(host: str) -> bool:
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


def _in_ascii(host: str) -> str:
    if host.isascii():
        return host
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"
        for label in host.split(".")
    )
