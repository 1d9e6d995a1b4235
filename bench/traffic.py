"""The load generators send whole HTTP requests, which are templates with places for what differs
from one to the next.

Three marks stand in a template, and each is always replaced by as many characters, so that
Content-Length never changes: `@KEY@` by the next API key of the list, `@NUMBER@` by a running
number of 10 digits, `@RECIPIENT@` by 12 digits made from it. `wrk` (traffic.lua) and our own
generator (http_load.py) fill in the same files.
"""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

KEY_MARK = "@KEY@"
NUMBER_MARK = "@NUMBER@"
RECIPIENT_MARK = "@RECIPIENT@"
NUMBER_DIGITS = 10
RECIPIENT_PREFIX = "23320"  # Ghana, mobile; seven digits follow
RECIPIENTS_KNOWN = 10_000_000  # what seven digits tell apart

SENDER = "BENCH"
TEXT = "Your order is on its way and will arrive today."  # one GSM-7 segment
BULK_BODIES = 8  # different lists, so that nothing is answered out of a cache of one body


@dataclass(frozen=True, slots=True)
class Traffic:
    """Says what to send to whom: template files and, when they hold `@KEY@`, the file of API keys,
    one a line.
    """

    port: int
    templates: list[Path]
    keys: Path | None
    expected_status: int = 200


def recipient(number: int) -> str:
    """Returns a possible mobile number of 12 digits. Ten million numbers in a row give different
    ones.
    """
    return f"{RECIPIENT_PREFIX}{number % RECIPIENTS_KNOWN:07d}"


def _post(path: str, port: int, headers: str, body: str) -> str:
    length = len(body.replace(RECIPIENT_MARK, recipient(0)))
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}Content-Type:"
        f" application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )


def _send(port: int, recipients: list[str]) -> str:
    """Returns one POST /api/v1/sms/send. Its Idempotency-Key is fresh in every request and every
    run.
    """
    headers = (
        f"Authorization: Bearer {KEY_MARK}\r\nIdempotency-Key:"
        f" {secrets.token_hex(8)}-{NUMBER_MARK}\r\n"
    )
    return _post(
        "/api/v1/sms/send",
        port,
        headers,
        json.dumps({"sender": SENDER, "message": TEXT, "recipients": recipients}),
    )


def _written(folder: Path, name: str, texts: list[str]) -> list[Path]:
    paths = [folder / f"{name}-{secrets.token_hex(4)}-{index}.http" for index in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    return paths


def single_sends(folder: Path, port: int, keys: Path) -> Traffic:
    """Returns sends to one recipient, another one each time."""
    return Traffic(port, _written(folder, "send", [_send(port, [RECIPIENT_MARK])]), keys)


def bulk_sends(folder: Path, port: int, keys: Path, recipients: int) -> Traffic:
    """Returns sends to `recipients` different recipients each."""
    bodies = [
        [recipient(body * recipients + k) for k in range(recipients)] for body in range(BULK_BODIES)
    ]
    return Traffic(port, _written(folder, "bulk", [_send(port, body) for body in bodies]), keys)


def otp_sends(folder: Path, port: int, keys: Path) -> Traffic:
    """Returns requests for one-time passwords, each to another phone."""
    return Traffic(
        port,
        _written(
            folder, "otp-send", [_of_phone("/api/v1/otp/send", port, {"phone": RECIPIENT_MARK})]
        ),
        keys,
    )


def otp_codes(folder: Path, port: int, keys: Path, code: str) -> Traffic:
    """Returns requests that give one code back for each phone."""
    return Traffic(
        port,
        _written(
            folder,
            "otp-verify",
            [_of_phone("/api/v1/otp/verify", port, {"phone": RECIPIENT_MARK, "code": code})],
        ),
        keys,
    )


def _of_phone(path: str, port: int, body: dict[str, str]) -> str:
    return _post(path, port, f"Authorization: Bearer {KEY_MARK}\r\n", json.dumps(body))


def bare_posts(folder: Path, port: int, path: str) -> Traffic:
    """Returns the same single send, to a server that does nothing with it."""
    template = (
        _send(port, [RECIPIENT_MARK])
        .replace("/api/v1/sms/send", path, 1)
        .replace(KEY_MARK, "sk_live_" + "0" * 48)
    )
    return Traffic(port, _written(folder, "bare", [template]), None)


def kannel_sends(folder: Path, port: int, callback_port: int | None) -> Traffic:
    """Returns Kannel's sendsms, to another recipient each time. With `callback_port` it asks for
    receipts, called back there (dlr-mask 3: delivered or not).
    """
    query = f"username=bench&password=bench&from={SENDER}&to={RECIPIENT_MARK}&text={quote(TEXT)}"
    if callback_port is not None:
        query += "&dlr-mask=3&dlr-url=" + quote(
            f"http://127.0.0.1:{callback_port}/receipt?state=%d", safe=""
        )
    template = f"GET /cgi-bin/sendsms?{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    return Traffic(port, _written(folder, "kannel", [template]), None, expected_status=202)
