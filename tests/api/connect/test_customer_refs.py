"""A Connect customer is named by its `external_ref` wherever its id may stand: in paths,
queries and bodies.
"""

from pathlib import Path
from typing import Any

import pytest

from heliograph.base import ids
from tests.support import plain_http
from tests.support.api.cast import PHONE, Actor
from tests.support.api.requests_of import body_fields, examples
from tests.support.api.server import serving
from tests.support.api.service import Service

REF = "shop 7 é"
EMIL = {"full_name": "emil", "phone": "254712345679", "country_code": "KE"}


@pytest.fixture
def dede(api: Service, amina: Actor) -> str:
    """Returns the id of amina's customer with the external_ref REF and credits."""
    made = api.post(
        amina,
        "/connect/customers",
        {
            "full_name": "dede",
            "phone": "254712345678",
            "country_code": "KE",
            "external_ref": REF,
            "initial_sms_credits": 10,
        },
    ).data
    return str(made["id"])


def ways(example: Any, document: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Returns a request that acts for the customer of this name, or None where none can
    be named.
    """
    operation = document["paths"][example.endpoint.path][example.endpoint.method.lower()]
    if any(parameter["name"] == "customer_id" for parameter in operation["parameters"]):
        return {"params": {"customer_id": name}}
    if "customer_id" in body_fields(document, operation):
        return {"json": {**(example.body or {}), "customer_id": name}}
    return None


def test_every_endpoint_that_takes_an_id_takes_the_reference(
    api: Service, amina: Actor, chidi: Actor, dede: str
) -> None:
    """Where the example itself fails, it fails as it does by the id; under a name that is nobody's,
    and for a stranger, it is a 404.
    """
    acted = 0
    for example in examples():
        document = api.contract.document
        sent = [
            ways(example, document, name)
            for name in (dede, REF, f" {REF} ", "nobody's", chidi.text_id)
        ]
        if sent[0] is None:
            continue
        by_id, by_ref, spaced, *others = [
            api.request(example.endpoint.method, amina, example.path, **more or {}) for more in sent
        ]
        assert by_id.reason != "no_such_record" or "{id}" in example.endpoint.path, str(example)
        assert by_ref.status == spaced.status, str(example)
        assert (
            by_ref.error.get("message")
            == spaced.error.get("message")
            != "There is no such customer."
        ), (str(example), by_ref)
        assert [reply.error.get("message") for reply in others] == [
            "There is no such customer."
        ] * 2, str(example)
        stranger = api.request(example.endpoint.method, chidi, example.path, **sent[1] or {})
        assert (stranger.status, stranger.error["message"]) == (
            404,
            "There is no such customer.",
        ), str(example)
        acted += 1
    assert acted >= 12


def test_a_slash_of_a_reference_stands_encoded_in_a_path(api: Service, amina: Actor) -> None:
    made = api.post(amina, "/connect/customers", {**EMIL, "external_ref": "shop/8 %2F"}).data
    for spelled in ("shop%2F8%20%252F", "shop%2f8%20%252F"):
        assert api.get(amina, f"/connect/customers/{spelled}").data["id"] == made["id"]
        assert (
            api.post(amina, f"/connect/customers/{spelled}/credits", {"credits": 1}).data["credits"]
            == 1
        )
    for spelled in ("shop/8%20%252F", "shop%2F8%20%2F"):
        assert api.get(amina, f"/connect/customers/{spelled}").status == 404, spelled


def test_a_server_takes_a_path_apart_before_it_decodes_it(sqlite_url: str, tmp_path: Path) -> None:
    with serving(sqlite_url, tmp_path) as server:
        customers, headers = (
            f"{server.url}/api/v1/connect/customers",
            {"Authorization": f"Bearer {server.cast.amina.key()}"},
        )
        made = plain_http.post(customers, headers=headers, json={**EMIL, "external_ref": "shop/8"})
        assert (
            plain_http.get(f"{customers}/shop%2F8", headers=headers).json()["data"]
            == made.json()["data"]
        )


def test_a_path_takes_the_reference_and_one_idempotency_key_serves_both_names(
    api: Service, amina: Actor, chidi: Actor, dede: str
) -> None:
    assert api.get(amina, "/connect/customers/shop%207%20%C3%A9").data["id"] == dede
    moved = api.post(amina, "/connect/customers/shop%207%20%C3%A9/credits", {"credits": 5}, key="k")
    again = api.post(amina, f"/connect/customers/{dede}/credits", {"credits": 5}, key="k")
    assert moved.data == again.data
    assert again.headers["idempotent-replayed"] == "true"
    assert api.get(amina, "/balance", customer_id=REF).body["sms_credits"] == 15
    theirs = "shop%207%20%C3%A9"
    for who, path in (
        (chidi, theirs),
        (amina.key(sandbox=True), theirs),
        (amina, "shop"),
        (amina, "a%00b"),
        (amina, "x" * 129),
    ):
        assert api.get(who, f"/connect/customers/{path}").reason == "no_such_record", path
        assert (
            api.post(who, f"/connect/customers/{path}/credits", {"credits": 1}).reason
            == "no_such_record"
        ), path


def test_a_longest_reference_fits_into_the_idempotency_keys_path(
    api: Service, amina: Actor
) -> None:
    ref = "r" * 128
    api.post(
        amina,
        "/connect/customers",
        {"full_name": "kofi", "phone": PHONE, "country_code": "GH", "external_ref": ref},
    )
    assert (
        api.post(amina, f"/connect/customers/{ref}/credits", {"credits": 5}, key="k").status == 200
    )


def test_an_id_goes_before_a_reference_that_looks_like_it(
    api: Service, amina: Actor, chidi: Actor, dede: str
) -> None:
    unused = ids.new("cus")
    made = [
        api.post(
            amina,
            "/connect/customers",
            {"full_name": "kofi", "phone": PHONE, "country_code": "GH", "external_ref": ref},
        ).data["id"]
        for ref in (dede, unused)
    ]
    assert api.get(amina, f"/connect/customers/{dede}").data["id"] == dede
    assert api.get(amina, f"/connect/customers/{unused}").data["id"] == made[1]
