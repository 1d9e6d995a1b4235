"""The published description is whole and right in what it says of itself. Every test of tests/api
checks that answers are as described.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from heliograph.api.app import acceptor_for, endpoints
from heliograph.api.openapi.document import OPERATIONS, UndescribedEndpoint, describe
from heliograph.api.openapi.reasons import REASONS
from heliograph.base.settings import Settings
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.keys import ALL_PERMISSIONS
from heliograph.messages.queue import FairQueue
from heliograph.requests import Endpoint
from heliograph.webhooks.sign import headers, new_secret
from heliograph.webhooks.tables import KINDS
from tests.support.factories import SECRET_KEY
from tests.support.sources import PACKAGE, ROOT, sources

NOWHERE = Database("sqlite:////nowhere/at/all.db")
CACHE = ConfigCache(NOWHERE)
ENDPOINTS = endpoints(
    NOWHERE,
    CACHE,
    acceptor_for(NOWHERE, CACHE, lambda carriers: None, FairQueue()),
    Settings(Path(), NOWHERE.url, SECRET_KEY),
)
DOCUMENT = describe(ENDPOINTS)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    found: Any = DOCUMENT
    for step in part["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return resolved(found)


def parts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from parts(item)


def test_every_endpoint_is_described_and_nothing_else() -> None:
    table = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    assert {(method, path) for method, path, _ in operations()} == table == set(OPERATIONS)


def test_an_endpoint_without_a_description_stops_the_start() -> None:
    with pytest.raises(UndescribedEndpoint, match="PUT /balance"):
        describe([*ENDPOINTS, Endpoint("PUT", "/balance", "wallet.read")])


def test_every_operation_names_its_permission_and_what_can_go_wrong_everywhere() -> None:
    permissions = {(endpoint.method, endpoint.path): endpoint.permission for endpoint in ENDPOINTS}
    for method, path, operation in operations():
        assert operation["x-permission"] == permissions[method, path] in ALL_PERMISSIONS
        assert f"`{permissions[method, path]}`" in operation["description"]
        least = {
            "200",
            "400",
            "401",
            "403",
            "429",
            "500",
            "503",
            *(("409", "413") if method == "POST" else ()),
            *(("404",) if "{" in path else ()),
        }
        assert least <= set(operation["responses"]), (method, path)
        for status, answer in operation["responses"].items():
            assert "X-Request-Id" in resolved(answer)["headers"]
            assert ("Retry-After" in resolved(answer)["headers"]) == (
                status in ("409", "429", "503")
            )


# what no endpoint does, so nobody meets them there
OF_COMMANDS = {"wrong_state", "still_under_way", "still_owed", "stored_meanwhile"}
OF_PAGES = {
    "passkey_refused",
    "look_over",
    "only_looks",
    "second_step_needed",
    "too_many_codes",
    "wrong_code",
    "done_already",
    "foreign_form",
    "import_running",
    "not_signed_in",
    "sign_in_again",
    "sign_in_first",
    "too_many_mails",
    "too_many_tries",
    "wrong_password",
}


def test_every_reason_that_the_code_can_give_is_described() -> None:
    given = {
        reason
        for source in sources(PACKAGE)
        for reason in re.findall(
            r'reason = "(\w+)"|status, reason = "\w+", \d+, "(\w+)"|reason="(\w+)"', source.text
        )
        for reason in reason
        if reason
    }
    assert given - set(REASONS) == OF_COMMANDS | OF_PAGES


def test_every_reference_leads_somewhere_and_every_component_is_used() -> None:
    used = {part["$ref"] for part in parts(DOCUMENT) if "$ref" in part}
    assert all(resolved({"$ref": reference}) for reference in used)
    components = {
        f"#/components/{kind}/{name}"
        for kind, named in DOCUMENT["components"].items()
        if kind != "securitySchemes"
        for name in named
    }
    assert components - used == {
        "#/components/responses/NoSuchPath",
        "#/components/responses/MethodNotAllowed",
    }


def test_failures_have_named_bodies_and_say_which_reasons_they_can_have() -> None:
    for method, path, operation in operations():
        for status, answer in operation["responses"].items():
            if status != "200":
                name = "CreditsErrorResponse" if status == "402" else "ErrorResponse"
                assert resolved(answer)["content"]["application/json"]["schema"] == {
                    "$ref": f"#/components/schemas/{name}"
                }, (method, path, status)
                assert {
                    str(REASONS[reason].status) for reason in resolved(answer)["x-reasons"]
                } == {status}


def test_what_is_constant_has_a_type() -> None:
    constants = [part for part in parts(DOCUMENT) if "const" in part]
    assert {True, False, "INSUFFICIENT_CREDITS"} <= {part["const"] for part in constants}
    assert all("type" in part for part in constants)


def test_success_is_true_or_false_for_a_judge_too() -> None:
    schemas, success = (
        DOCUMENT["components"]["schemas"],
        DOCUMENT["paths"]["/balance"]["get"]["responses"]["200"]["content"]["application/json"],
    )
    for schema, right in (
        (success["schema"], True),
        (schemas["ErrorResponse"], False),
        (schemas["CreditsErrorResponse"], False),
    ):
        rules = jsonschema_rs.Draft202012Validator(schema["properties"]["success"])
        assert (rules.is_valid(right), rules.is_valid(not right)) == (True, False)


def test_every_kind_of_webhook_is_described_with_the_headers_that_it_is_sent_with() -> None:
    assert set(DOCUMENT["webhooks"]) == set(KINDS)
    for kind, webhook in DOCUMENT["webhooks"].items():
        sent = {
            name.lower(): value
            for name, value in headers("evt_1", kind, b"{}", 1, new_secret()).items()
        }
        described = {
            parameter["name"].lower(): parameter["schema"]
            for parameter in webhook["post"]["parameters"]
        }
        assert sent.keys() - described.keys() == {"content-type", "user-agent"}
        for name, schema in described.items():
            jsonschema_rs.Draft202012Validator(schema).validate(sent[name])
        assert (
            webhook["post"]["requestBody"]["content"]["application/json"]["example"]["event"]
            == kind
        )


def test_every_example_is_right() -> None:
    components = {"components": {"schemas": DOCUMENT["components"]["schemas"]}}
    found = 0
    for part in parts(DOCUMENT):
        if "schema" in part and "example" in part:
            jsonschema_rs.Draft202012Validator(
                {**part["schema"], **components}, validate_formats=True
            ).validate(part["example"])
            found += 1
    assert found > 2 * len(OPERATIONS)


def test_every_parameter_schema_and_field_is_explained() -> None:
    for method, path, operation in operations():
        assert all(parameter["description"] for parameter in operation["parameters"]), (
            method,
            path,
        )
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert "properties" in schema or "anyOf" in schema, name
        for field, rules in schema.get("properties", {}).items():
            assert "description" in rules, f"{name}.{field}"


def test_names_of_operations_are_unique_and_its_version_is_the_specifications() -> None:
    names = [operation["operationId"] for *_, operation in operations()]
    assert len(set(names)) == len(names)
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", "1.0.0")


def test_no_two_fields_have_one_name_in_languages_that_write_names_in_their_own_way() -> None:
    """`countryCode` and `country_code` are both `getCountryCode` in PHP; in Python an
    object and its field share the name of a variable.
    """
    for name, schema in DOCUMENT["components"]["schemas"].items():
        fields = [field.replace("_", "").lower() for field in schema.get("properties", ())]
        assert len(set(fields)) == len(fields), name
        assert name.lower() not in fields, name
    for method, path, operation in operations():
        names = [
            parameter["name"].replace("_", "").lower() for parameter in operation["parameters"]
        ]
        assert len(set(names)) == len(names), (method, path)


def test_the_document_lists_every_reason_with_its_status_and_code() -> None:
    section = (ROOT / "docs" / "api.md").read_text("utf-8").split("## Error codes and reasons")[1]
    listed: dict[str, tuple[int, str]] = {}
    code = ""
    for row in re.findall(r"^\| (\d{3}) \|([^|]*)\|([^|]*)\|", section.split("\n## ")[0], re.M):
        status, named, reasons = row
        code = named.strip("` ") or code
        listed |= {reason: (int(status), code) for reason in re.findall(r"`(\w+)`", reasons)}
    assert listed == {name: (reason.status, reason.code) for name, reason in REASONS.items()}
