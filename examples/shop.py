"""Shows the site plugin from a shop's side: it links itself, shows its account's status, notifies a
customer, and syncs its log. It needs nothing but Python's standard library.

    API_KEY=sk_test_… python examples/shop.py

With a sandbox key nothing is sent; with a live one SENDER has to be an approved sender ID, and the
text costs a credit. API_URL is where the service is, http://127.0.0.1:8080 if it is not set. It can
be run again: the order is notified once, and its log is stored once.
"""

import json
import os
import sys
import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

API = os.environ.get("API_URL", "http://127.0.0.1:8080") + "/api/v1"
HEADERS = {"Authorization": f"Bearer {os.environ['API_KEY']}", "Content-Type": "application/json"}
SENDER = os.environ.get("SENDER", "SANDBOX")
SITE = {
    "site_url": "https://shop.example",
    "site_name": "Amina's shop",
    "platform": "woocommerce",
    "plugin_version": "1.7.2",
}
ORDER = {
    "customer_name": "Kofi",
    "order_id": "1042",
    "order_total": "GHS 120.50",
    "order_status": "on its way",
    "payment_method": "Mobile money",
}
BILLING_PHONE = "020 123 4567"
TEMPLATE = (
    "Hi {customer_name}, order {order_id} at {site_name} ({order_total}, {payment_method}) is"
    " {order_status}."
)


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
    except HTTPError as refused:  # such as the same order from another SENDER: it was notified
        sys.exit(f"{path}: {json.load(refused)['message']}")


# When its key is saved, the plugin links the site.
site = call("/sitebuilder/connect", SITE)["site"]
print(site["status"], site["site_url"])
account = call("/account/status")["account"]
print(
    account["name"],
    "is",
    account["status"],
    "and has",
    account["sms_credits"],
    "credits;",
    "low" if account["low_balance"] else "enough",
)

# An order changes: its template is filled in, and goes to the billing phone as its customer typed
# it. The key makes a reloaded page send once.
text = TEMPLATE.format(**ORDER, site_name=SITE["site_name"])
sent = call(
    "/sms/send",
    {"from": SENDER, "to": BILLING_PHONE, "countryCode": "GH", "message": text},
    key=f"order-{ORDER['order_id']}-sent",
)["data"]
print(sent["status"], sent["message_id"])

# The shop's own log, as often as it likes: what has the same external_ref is stored once.
entry = {
    "site_url": SITE["site_url"],
    "event": "order_sent",
    "recipient": BILLING_PHONE,
    "message_type": "order",
    "body": text,
    "external_ref": f"{ORDER['order_id']}-sent",
    "message_id": sent["message_id"],
}
first, again = (call("/sitebuilder/logs", {"logs": [entry]})["data"]["ids"] for _ in range(2))
assert first == again
print("logged as", first[0])

until_s = time.monotonic() + 30
while (message := call(f"/messages/{sent['message_id']}")["data"])["status"] in (
    "queued",
    "sent",
) and time.monotonic() < until_s:
    time.sleep(0.1)
print(message["status"], "to", message["recipient"])
