"""Makes a right request for every endpoint from the examples of its description: so tests that run
over all endpoints need no list of their own.
"""

from typing import Any, NamedTuple

import sqlalchemy as sa

from heliograph import campaigns
from heliograph.keys.issue import digest
from heliograph.keys.tables import api_keys
from heliograph.requests import Endpoint
from heliograph.senders.sender import usable
from tests.support.api.cast import PHONE, approve_sender
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.service import Reply, Service, contract
from tests.support.capability.campaigns import write_down

NOT_JSON = b"{not json"
MIB = 1 << 20


class Example(NamedTuple):
    """Describes a request that is right in form. Its path's id, if any, is nobody's."""

    endpoint: Endpoint
    path: str
    body: dict[str, Any] | None

    @property
    def sends(self) -> dict[str, Any]:
        """Returns what `Service.request` takes of it."""
        return {} if self.body is None else {"json": self.body}

    def __str__(self) -> str:
        return f"{self.endpoint.method} {self.endpoint.path}"


def make_message(api: Service, key: str) -> str:
    return str(api.send(key, [PHONE])["message_id"])


def make_customer(api: Service, key: str) -> str:
    return str(
        api.post(
            key,
            "/connect/customers",
            {"full_name": "Dede Stores", "phone": PHONE, "country_code": "GH"},
        ).data["id"]
    )


def make_contact(api: Service, key: str) -> str:
    return str(api.post(key, "/contacts", {"phone": PHONE}).data["id"])


def make_campaign(api: Service, key: str) -> str:
    with api.db.write() as tx:
        account_id, sandbox = tx.execute(
            sa.select(api_keys.c.account_id, api_keys.c.sandbox).where(
                api_keys.c.sha256 == digest(key)
            )
        ).one()
        if not usable(tx, account_id, sandbox=sandbox):
            approve_sender(tx, account_id, "OFFERS")
        sender = usable(tx, account_id, sandbox=sandbox)[0].sender
    return campaigns.text_id(write_down(api.db, account_id, sandbox=sandbox, sender=sender))


def make_sender(api: Service, key: str) -> str:
    return str(api.post(key, "/sender-ids", {"sender": "SHOPS"}).data["id"])


def make_opt_out(api: Service, key: str) -> str:
    return str(api.post(key, "/opt-outs", {"phone": PHONE}).data["phone"])


def make_inbound(api: Service, key: str) -> str:
    with api.db.write() as tx:
        account_id, sandbox = tx.execute(
            sa.select(api_keys.c.account_id, api_keys.c.sandbox).where(
                api_keys.c.sha256 == digest(key)
            )
        ).one()
        return store_inbound(tx, account_id, sandbox=sandbox)


def make_keyword(api: Service, key: str) -> str:
    return str(api.post(key, "/keywords", {"keyword": "OFFERS"}).data["id"])


# of a record of the key's account and mode, for each path with an id in it
MAKERS = {
    "/messages/{id}": make_message,
    "/inbound/{id}": make_inbound,
    "/keywords/{id}": make_keyword,
    "/opt-outs/{id}": make_opt_out,
    "/campaigns/{id}": make_campaign,
    "/contacts/{id}": make_contact,
    "/sender-ids/{id}": make_sender,
    "/campaigns/{id}/messages": make_campaign,
    "/connect/customers/{id}": make_customer,
    "/connect/customers/{id}/credits": make_customer,
}


def link_site(api: Service, key: str) -> None:
    api.post(key, "/sitebuilder/connect", {"site_url": "https://shop.example"})


# what has to be there before
BEFORE = {"/sitebuilder/logs": link_site, "/sitebuilder/events": link_site}


def own_path(api: Service, key: str, example: Example) -> str:
    """Returns the path, with the id of a record that this key may see; what its example speaks of
    is there.
    """
    path = example.endpoint.path
    if path in BEFORE:
        BEFORE[path](api, key)
    return path.replace("{id}", MAKERS[path](api, key)) if "{id}" in path else path


def examples() -> list[Example]:
    return [_example(endpoint) for endpoint in contract().endpoints]


def posts() -> list[Example]:
    return [example for example in examples() if example.endpoint.takes_body]


def _example(endpoint: Endpoint) -> Example:
    operation = contract().document["paths"][endpoint.path][endpoint.method.lower()]
    path = endpoint.path
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
    body = (
        operation.get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("example")
    )
    # the description's samples are for a sandbox key; these requests are live, too
    if body is not None and body.get("sender") == "SANDBOX":
        body = {**body, "sender": "AMINA"}
    return Example(endpoint, path, body)


def is_answered(api: Service, who: Any, example: Example, **more: Any) -> bool:
    """Returns whether a request gets past all guards: to a 200, or to a record that is not there,
    or has served.
    """
    reply = api.request(example.endpoint.method, who, example.path, **{**example.sends, **more})
    return reply.status == 200 or reply.reason in (
        "no_such_record",
        "site_not_connected",
        "otp_not_found",
        "otp_too_soon",
        "otp_too_often",
        "otp_incorrect",
    )


def sent(
    api: Service, example: Example, headers: list[tuple[bytes, bytes]], content: Any = NOT_JSON
) -> Reply:
    """Sends a request with exactly these headers, and a body that would be refused if it were
    read.
    """

    async def send() -> Reply:
        response = await api.client.request(
            example.endpoint.method, f"/api/v1{example.path}", headers=headers, content=content
        )
        api.contract.check(example.endpoint.method, response)
        return Reply(response)

    return api.run(send())


def bearer(key: str) -> tuple[bytes, bytes]:
    """Returns the header that a key stands in."""
    return b"authorization", f"Bearer {key}".encode()


def body_fields(document: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields that an operation's body may have, with what is said of each."""
    schema = (
        operation.get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("schema", {"properties": {}})
    )
    schemas = document["components"]["schemas"]
    described = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    forms = (
        [described]
        if "properties" in described
        else [schemas[one["$ref"].rpartition("/")[2]] for one in described["anyOf"]]
    )
    return {name: rules for form in forms for name, rules in form["properties"].items()}
