"""Acts as an online shop's plugin that talks to the service: it knows one address, one key, and
docs/api.md, "Site plugin".
"""

import time
from typing import Any, Final, NamedTuple

import httpx

from tests.support import plain_http

SITE_NAME: Final = "Amina's shop"
DELIVERED_WITHIN_S: Final = 30.0


class Order(NamedTuple):
    """Describes an order of the shop; `billing_phone` is as its customer typed it."""

    order_id: str
    customer_name: str
    billing_phone: str
    order_total: str
    payment_method: str
    order_status: str = "processing"


class Shop:
    """Stands for a shop with the plugin installed. Every answer must be a success."""

    def __init__(self, base_url: str, site_url: str, sender: str, country: str) -> None:
        self._base_url, self._site_url, self._sender, self._country = (
            base_url,
            site_url,
            sender,
            country,
        )
        self._http = plain_http.new_client(base_url=f"{base_url}/api/v1", timeout=10)
        self._sent: list[dict[str, Any]] = []

    def close(self) -> None:
        self._http.close()

    def save_key(self, key: str) -> dict[str, Any]:
        """Saves the key in the plugin's settings; the site is linked then."""
        self._http.headers["Authorization"] = f"Bearer {key}"
        about = {
            "site_url": self._site_url,
            "site_name": SITE_NAME,
            "platform": "woocommerce",
            "wp_version": "6.5",
            "plugin_version": "1.7.2",
            "php_version": "8.2",
        }
        return dict(self._post("/sitebuilder/connect", about)["site"])

    def status(self) -> dict[str, Any]:
        return dict(self._answered(self._http.get("/account/status"))["account"])

    def notify(self, order: Order, template: str) -> str:
        """Sends the order's notification to its billing phone, and returns the message's id."""
        text = self._rendered(template, order)
        wish = {
            "from": self._sender,
            "to": order.billing_phone,
            "message": text,
            "countryCode": self._country,
        }
        data = self._post(
            "/sms/send", wish, {"Idempotency-Key": f"order-{order.order_id}-{order.order_status}"}
        )["data"]
        self._sent.append(
            {
                "site_url": self._site_url,
                "event": f"order_{order.order_status}",
                "recipient": order.billing_phone,
                "message_type": "order",
                "status": data["status"],
                "source": "woocommerce",
                "body": text,
                "external_ref": f"{order.order_id}-{order.order_status}",
                "message_id": data["message_id"],
            }
        )
        return str(data["message_id"])

    def sync(self) -> dict[str, Any]:
        """Sends its log, all of it each time: what the service has already is stored once."""
        return dict(self._post("/sitebuilder/logs", {"logs": self._sent})["data"])

    def tell(self, event: str, payload: dict[str, Any]) -> str:
        return str(
            self._post(
                "/sitebuilder/events",
                {"site_url": self._site_url, "event": event, "payload": payload},
            )["data"]["id"]
        )

    def delivered(self, message_id: str) -> dict[str, Any]:
        """Polls until it is known what became of the message."""
        until_s = time.monotonic() + DELIVERED_WITHIN_S
        while True:
            message = dict(self._answered(self._http.get(f"/messages/{message_id}"))["data"])
            if message["status"] in ("delivered", "failed"):
                return message
            assert time.monotonic() < until_s, message
            time.sleep(0.1)

    def _rendered(self, template: str, order: Order) -> str:
        """Returns the text with its placeholders filled in (docs/api.md, "Site plugin"). Values
        that hold braces stay as they are.
        """
        text = template
        for name, value in {**order._asdict(), "site_name": SITE_NAME}.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def _post(
        self, path: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        return self._answered(self._http.post(path, json=body, headers=headers))

    def _answered(self, response: httpx.Response) -> dict[str, Any]:
        body: dict[str, Any] = response.json()
        assert (response.status_code, body["success"], body.get("warnings")) == (200, True, None), (
            response.text
        )
        return body
