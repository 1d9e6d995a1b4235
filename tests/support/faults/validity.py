"""Sends messages that are valid for a short time only."""

from typing import Final

from tests.support import plain_http
from tests.support.factories import SENDER
from tests.support.faults.deployment import Deployment

HOUR_S: Final = 3_600


VALIDITY_S: Final = 1_800  # so an hour would end it


ELSEWHERE: Final = "23324"  # numbers whose carrier is away


MESSAGES: Final = 5


def send_valid_for(deployment: Deployment, validity_s: int) -> None:
    """Sends messages for the carrier that is away."""
    for order in deployment.clients.orders(MESSAGES, prefix=ELSEWHERE):
        headers = {**deployment.clients.headers, "Idempotency-Key": order.idempotency_key}
        body = {
            "sender": SENDER,
            "message": order.text,
            "recipients": [order.recipient],
            "validity_s": validity_s,
        }
        while (
            answer := plain_http.post(
                f"{deployment.api.address}/api/v1/sms/send", headers=headers, json=body, timeout=30
            )
        ).status_code == 503:
            pass  # it says so while it is busy starting
        deployment.clients.accepted[answer.raise_for_status().json()["data"]["message_id"]] = order
