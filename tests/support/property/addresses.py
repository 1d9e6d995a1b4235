"""Spells IP addresses in all the ways in which they can be written."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

Address = IPv4Address | IPv6Address


def spelled(address: Address) -> list[str]:
    """Returns hosts of URLs that some reader takes for this address."""
    if address.version == 6:
        full, number = address.exploded, int(address)
        return [
            f"[{address}]",
            f"[{full}]",
            f"[{full.upper()}]",
            f"[{address}%25eth0]",
            f"[{address}%eth0]",
            str(address),
            f"[v1.{address}]",
            f"[{full.rsplit(':', 2)[0]}:{IPv4Address(number & 0xFFFFFFFF)}]",
            f"[{address}].",
            f"%5B{address}%5D",
        ]
    return _spelled_v4(address)


def _spelled_v4(address: IPv4Address) -> list[str]:
    number, octets = int(address), list(address.packed)
    a, b, c, d = octets
    short = [f"{a}.{(b << 16) | (c << 8) | d}", f"{a}.{b}.{(c << 8) | d}"]
    based: list[Callable[[int], str]] = [
        "0{:o}".format,
        "0x{:x}".format,
        "0X{:08X}".format,
        "{:04d}".format,
    ]
    mixed = [".".join(write(part) for part in octets) for write in based] + [
        f"0x{a:x}.0{b:o}.{c}.{d}",
        f"{a}.{b}.{c}.0x{d:x}",
    ]
    plain = str(address)
    wide = [
        plain.translate({ord("0") + digit: zero + digit for digit in range(10)})
        for zero in (0xFF10, 0x0660, 0x1D7CE)
    ]
    # what IDNA takes for dots, and what looks like one
    dots = [plain.replace(".", dot) for dot in "。．｡․"]
    encoded = [plain.replace(".", "%2E"), "".join(f"%{ord(character):02x}" for character in plain)]
    whole = [str(number), hex(number), f"0{number:o}", str(number + 2**32)]
    return [
        plain,
        *whole,
        *short,
        *mixed,
        *wide,
        *dots,
        *encoded,
        f"{plain}.",
        f"{plain}..",
        f".{plain}",
        f"[{plain}]",
        f"[::{plain}]",
        f"[::ffff:{plain}]",
        f"[::ffff:0:{plain}]",
        f"[64:ff9b::{plain}]",
        f"amina@{plain}",
        f"example.com@{plain}",
        f"example.com\\@{plain}",
        f"{plain}\\@example.com",
        f"{plain}\t",
        f"\n{plain}",
        f"{plain}#@example.com",
        f"{plain} ",
    ]
