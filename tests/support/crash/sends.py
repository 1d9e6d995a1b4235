"""Sends texts by the API of a server that is a process."""

from collections.abc import Sequence
from typing import Any

from tests.support import plain_http
from tests.support.crash.processes import ServerProcess
from tests.support.factories import SENDER


def send(server: ServerProcess, key: str, to: Sequence[str], **fields: Any) -> list[str]:
    """Sends one request, and returns the ids of its messages. A test fails if it is not accepted.
    `fields` are further fields of the body, or other ones.
    """
    answer = plain_http.post(
        f"{server.address}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
        json={"sender": SENDER, "message": "hello", "recipients": to, **fields},
    )
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"]["message_ids"])
