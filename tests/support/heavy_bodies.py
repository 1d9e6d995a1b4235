"""Makes bodies that cost a server the most for their octets: each is as large as a body may be, or
as many-parted as one that is built may be.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from heliograph.api.bodies import OCTETS_MAX
from heliograph.base.json import PARTS_MAX

PARTS: Final = PARTS_MAX - 100  # just under the limit: it is built, and looked at
NUMBERS: Final = 10_000
PHONE: Final = "233201234567"
DEEP: Final = 60  # below the body's own object and array
UNITS: Final = (
    b"[" * DEEP + b"]" * DEEP,
    b"[" * DEEP + b'"\\ud83d\\ude00"' + b"]" * DEEP,
    b"[]",
    b"{}",
    b'{"a":1}',
    b"1",
    b"1e-400",
    b'""',
    b'"\\ud83d\\ude00"',
)


def _json(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def _of(**fields: Any) -> bytes:
    return _json(sender="AMINA", message="hello", **fields)


def _filled(unit: bytes, *, parts: int = 0) -> bytes:
    """Repeats `unit` in an array that nothing reads: as often as there is room for, or until there
    are so many parts.
    """
    each = 1 + unit.count(b",") + unit.count(b"[") + unit.count(b"{")
    room = (OCTETS_MAX - 20) // (len(unit) + 1)
    return b'{"a":[' + b",".join([unit] * (min(room, parts // each) if parts else room)) + b"]}"


def _long(value: bytes) -> bytes:
    """Repeats `value` as one string or number."""
    return value * ((OCTETS_MAX - 200) // len(value))


def heavy_sends() -> Iterator[tuple[str, bytes]]:
    """Yields bodies for POST /sms/send, by name. Their phone numbers are no numbers, or there is no
    sender: nothing is sent.
    """
    yield "never closed", b'{"a":' + b"[" * (OCTETS_MAX - 10)
    yield (
        "as many closed as opened",
        b'{"a":' + b"[" * (OCTETS_MAX // 2 - 10) + b"]" * (OCTETS_MAX // 2 - 10) + b"}",
    )
    yield "a string of escaped quotes never closed", b'{"b":["' + _long(b'\\"')
    yield "names that stand twice", b"{" + b",".join([b'"a":1'] * (OCTETS_MAX // 6 - 2)) + b"}"
    for unit in UNITS:
        yield f"a megabyte of {unit[:8].decode()}", _filled(unit)
        yield f"so many parts of {unit[:8].decode()}", _filled(unit, parts=PARTS)
    yield "numbers of 50 digits", _filled(b"0." + b"1" * 48, parts=PARTS)
    yield "a number of a megabyte", b'{"a":0.' + _long(b"1") + b"}"
    yield (
        "unknown names",
        _of(recipients=["x"], **{f"{'x' * 40}{number}": 0 for number in range(PARTS)}),
    )
    near = (f"sende{chr(0x4E00 + number)}" for number in range(PARTS))
    yield "unknown names that are nearly known", _of(recipients=["x"], **dict.fromkeys(near, 0))
    # as many as the loop reads itself
    yield (
        "short unknown names",
        b"{" + b",".join(b'"%x":0' % number for number in range(1_900)) + b"}",
    )
    yield (
        "a name that stands twice at the end",
        b"{" + b",".join(b'"%x":0' % number for number in range(PARTS)) + b',"0":0}',
    )
    for field in (b"sender", b"message", b"reference", b"unknown"):
        for value in (b"x", b"\\n", b"\\ud83d\\ude00", "一".encode()):
            yield (
                f"a long {field.decode()} of {value.decode()}",
                b'{"%b":"%b"}' % (field, _long(value)),
            )
    yield (
        "wrong elements everywhere",
        _json(**{name: [None] * (PARTS // 3) for name in ("recipients", "message", "sender")}),
    )
    for name, recipient in (
        ("too long", "1" * 90),
        ("no digits", "y"),
        ("escaped", "😀" * 8),
        ("written out", "+1 (0)20 0-1-2-3-4-5-6-7-8-9"),
    ):
        yield f"ten thousand numbers that are {name}", _of(recipients=[recipient] * NUMBERS)


def largest_sends() -> Iterator[tuple[str, bytes]]:
    """Yields what a send may be at most, and is accepted: ten thousand recipients, as each way of
    writing them down costs the most.
    """
    yield "digits", _of(recipients=[f"233201{number:06d}" for number in range(NUMBERS)])
    yield (
        "formatted",
        _of(
            recipients=[
                f"+233 (0)20 1{number // 10_000:02d}-{number % 10_000:04d}"
                for number in range(NUMBERS)
            ]
        ),
    )
    yield (
        "national",
        _of(recipients=[f"020{number:07d}" for number in range(NUMBERS)], countryCode="GH"),
    )
    yield "one number again and again", _of(recipients=["233201234567"] * NUMBERS)
    yield (
        "half are no numbers, half the same",
        _of(recipients=["y"] * (NUMBERS // 2) + ["233201234567"] * (NUMBERS // 2)),
    )
    yield (
        "a dry run",
        _of(recipients=[f"233201{number:06d}" for number in range(NUMBERS)], dry_run=True),
    )


def heavy_others() -> Iterator[tuple[str, str, bytes]]:
    """Yields path, name and body for endpoints that take more than a few fields."""
    entry = {"site_url": "https://shop.example/x", "event": "sent", "body": "b", "cost": 1.5}
    unknown = {f"{'u' * 40}{number}": 1 for number in range(180)}
    site_url = entry["site_url"]
    yield (
        "/sitebuilder/logs",
        "a hundred entries",
        _json(logs=[{**entry, "body": "b" * 4_900, "external_ref": str(n)} for n in range(100)]),
    )
    yield (
        "/sitebuilder/logs",
        "a hundred entries of unknown names",
        _json(logs=[{**entry, **unknown}] * 100),
    )
    yield (
        "/sitebuilder/events",
        "a payload of small objects",
        _json(site_url=site_url, event="e", payload={"a": [{"b": 1}] * (PARTS // 2)}),
    )
    yield "/contacts", "tags", _json(phone=PHONE, tags=[f"t{number}" for number in range(PARTS)])
    yield (
        "/contacts",
        "custom fields",
        _json(phone=PHONE, custom={f"k{number}": "v" for number in range(PARTS)}),
    )
    yield (
        "/contacts",
        "a long custom field",
        _json(phone=PHONE, custom={"k": "v" * (OCTETS_MAX - 100)}),
    )
    yield "/otp/send", "a long text", _json(phone=PHONE, message="{code}" * (OCTETS_MAX // 6 - 20))
    yield (
        "/otp/verify",
        "unknown names",
        _json(phone=PHONE, code="1", **{f"{'x' * 40}{n}": 0 for n in range(PARTS)}),
    )
    yield (
        "/connect/customers",
        "a long name",
        _json(full_name="x" * (OCTETS_MAX - 100), phone="1", country_code="GH"),
    )
