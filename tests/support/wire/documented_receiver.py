"""Sends texts whose events go to the receivers of the documentation."""

from typing import Any

from tests.support import plain_http
from tests.support.crash.processes import ServerProcess

WITHIN_S = 60.0


def send(server: ServerProcess, key: str, **body: Any) -> list[str]:
    """Sends, and returns the messages' ids."""
    answer = plain_http.post(
        f"{server.address}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
        json={"message": "hello", **body},
    )
    return list(answer.raise_for_status().json()["data"]["message_ids"])
