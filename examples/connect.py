"""Shows Connect from a partner's side: it provisions a customer, gives it credits, and acts for it.
It needs nothing but Python's standard library.

    API_KEY=sk_test_… python examples/connect.py

With a sandbox key nothing is sent and nobody pays; with a live one the partner's wallet needs 150
SMS credits. API_URL is where the service is, http://127.0.0.1:8080 if it is not set. It can be run
again: the customer is made once, and is given its credits once.
"""

import json
import os
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

API = os.environ.get("API_URL", "http://127.0.0.1:8080") + "/api/v1"
HEADERS = {"Authorization": f"Bearer {os.environ['API_KEY']}", "Content-Type": "application/json"}


class Refused(Exception):
    """Says what the service would not do: `error` is that of its answer."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer["message"])
        self.error = answer["error"]


def call(
    path: str, body: dict[str, Any] | None = None, *, key: str | None = None
) -> dict[str, Any]:
    """Sends a GET, or a POST of `body`. With an Idempotency-Key it is safe to repeat."""
    headers = {**HEADERS, "Idempotency-Key": key} if key else HEADERS
    try:
        with urlopen(
            Request(API + path, None if body is None else json.dumps(body).encode(), headers)
        ) as answer:
            return dict(json.load(answer))
    except HTTPError as failure:
        raise Refused(json.load(failure)) from failure


# Your own key for the customer makes provisioning safe to repeat: it finds what it made before.
wish = {
    "full_name": "Bilal Stores",
    "phone": "233201234567",
    "country_code": "GH",
    "external_ref": "shop-1042",
    "initial_sms_credits": 100,
}
made = call("/connect/customers", wish)
customer = made["data"]
print(
    "made" if made["created"] else "found",
    customer["id"],
    "with",
    customer["sms_credits"],
    "credits",
)
again = call("/connect/customers", wish)
assert (again["created"], again["data"]["id"]) == (False, customer["id"])
assert [found["id"] for found in call("/connect/customers?external_ref=shop-1042")["data"]] == [
    customer["id"]
]

# Credits move from your wallet to the customer's, and back. The key makes a repeated request move
# them once.
moved = call(
    f"/connect/customers/{customer['id']}/credits",
    {"credits": 50, "reference": "invoice-17"},
    key="invoice-17",
)["data"]
print("moved", moved["credits"], "credits; the customer has", moved["sms_credits"])
moved = call(
    f"/connect/customers/{customer['id']}/credits",
    {"credits": -20, "reference": "correction"},
    key="correction-of-17",
)["data"]
print("took back", -moved["credits"], "credits; the customer has", moved["sms_credits"])
try:
    call(f"/connect/customers/{customer['id']}/credits", {"credits": -1_000_000})
except Refused as refused:
    print(f"not taken back, {refused.error['reason']}: {refused}")

# With `customer_id` you act for it: its balance, its ledger, its sender IDs, its messages.
balance = call(f"/balance?customer_id={customer['id']}")
print("its balance:", balance["wallet"], "and", balance["sms_credits"], "credits")
for entry in call(f"/wallet/transactions?customer_id={customer['id']}")["data"]:
    print(" ", entry["created_at"], entry["type"], entry["credits"], entry["reference"])
sender = call("/sender-ids", {"sender": "BILAL", "customer_id": customer["id"]})["data"]
print("its sender ID", sender["sender"], "is", sender["status"])
# at once in sandbox; else by the operator: heliograph sender approve
if sender["status"] == "approved":
    text = {
        "sender": "BILAL",
        "message": "Open until nine.",
        "recipients": ["233209876543"],
        "customer_id": customer["id"],
    }
    sent = call("/sms/send", text)["data"]
    print("sent", sent["message_id"], "for it;", sent["credits_used"], "credits used")
