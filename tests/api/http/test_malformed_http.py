"""What is no HTTP request is refused like everything else. A real server is told it octet
by octet.
"""

import http.client
import json
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from heliograph.api.connection.malformed import LINES_A_SECOND_MAX
from tests.support import plain_http
from tests.support.api.server import serving
from tests.support.api.service import contract

HEAD = b"POST /api/v1/sms/send HTTP/1.1\r\nHost: x\r\n"
MALFORMED = {
    "no HTTP": b"hello\r\n\r\n",
    "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a method that nobody has": b"BREW /api/v1/balance HTTP/1.1\r\nHost: x\r\n\r\n",
    "a path that is not ASCII": "GET /api/v1/messages/é HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    "a space in the path": b"GET /api/v1/messages/a b HTTP/1.1\r\nHost: x\r\n\r\n",
    "no number for a length": HEAD + b"Content-Length: abc\r\n\r\n{}",
    "a length below zero": HEAD + b"Content-Length: -1\r\n\r\n{}",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a length and chunks": (
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    ),
    "a coding that nobody has": (
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: foo\r\n\r\n"
    ),
    "such a coding, and a wish": (
        HEAD + b"Connection: upgrade\r\nUpgrade: x\r\nTransfer-Encoding: foo\r\n\r\n"
    ),
    "chunks twice, and a wish": (
        HEAD
        + b"Connection: upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding:"
        b" chunked\r\n\r\n"
    ),
}


def test_octets_that_are_no_request_are_refused_in_the_one_shape(
    sqlite_url: str, tmp_path: Path
) -> None:
    request_ids = []
    with serving(sqlite_url, tmp_path) as server:
        address = urlsplit(server.url)
        for name, octets in MALFORMED.items():
            with socket.create_connection(
                (str(address.hostname), int(address.port or 0)), timeout=10
            ) as connection:
                connection.sendall(octets)
                answer = http.client.HTTPResponse(connection)
                answer.begin()
                body = json.loads(answer.read())
            assert (answer.status, body["error"]["reason"], answer.getheader("Connection")) == (
                400,
                "invalid_http",
                "close",
            ), name
            assert answer.getheader("X-Request-Id") == body["request_id"], name
            assert contract().is_error(body), name
            request_ids.append(body["request_id"])
        metrics = plain_http.get(f"{server.url}/metrics").text
    assert (
        'heliograph_requests_total{method="other",route="unknown",status="400"}'
        f" {len(MALFORMED)}.0" in metrics.splitlines()
    )
    assert [line["request_id"] for line in not_read(tmp_path)][:LINES_A_SECOND_MAX] == request_ids[
        :LINES_A_SECOND_MAX
    ]


def test_of_many_that_are_no_request_a_few_a_second_are_logged_and_the_others_counted(
    sqlite_url: str, tmp_path: Path
) -> None:
    with serving(sqlite_url, tmp_path) as server:
        address = urlsplit(server.url)
        began_s, sent = time.monotonic(), 0
        while sent < 100 or "left_out" not in not_read(tmp_path)[-1]:
            with socket.create_connection(
                (str(address.hostname), int(address.port or 0)), timeout=10
            ) as connection:
                connection.sendall(MALFORMED["no HTTP"])
                assert connection.recv(65_536).startswith(b"HTTP/1.1 400 ")
            sent += 1
            assert time.monotonic() - began_s < 20
        lines = not_read(tmp_path)
        assert len(lines) <= LINES_A_SECOND_MAX * (1 + time.monotonic() - began_s)
    assert len(lines) + sum(line.get("left_out", 0) for line in lines) == sent


def not_read(data_dir: Path) -> list[dict[str, Any]]:
    """Returns what the log has of the requests that were not read."""
    told = [json.loads(line) for line in (data_dir / "serve.log").read_text().splitlines()]
    return [line for line in told if line["event"] == "request_not_read"]


def test_an_upgrade_to_websocket_gets_a_plain_answer_and_no_warning(
    sqlite_url: str, tmp_path: Path
) -> None:
    asked = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    with (
        serving(sqlite_url, tmp_path) as server,
        plain_http.new_client(base_url=f"{server.url}/api/v1", headers=asked) as client,
    ):
        refused = client.get("/balance")
        answered = client.get(
            "/balance", headers={"Authorization": f"Bearer {server.cast.amina.key()}"}
        )
    assert (refused.status_code, refused.json()["error"]["reason"], answered.status_code) == (
        401,
        "missing_key",
        200,
    )
    assert "warning" not in (tmp_path / "serve.log").read_text()
