"""The published description: what it says of itself. That answers are as described, every test of tests/api checks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from heliograph.base.cache import ConfigCache
from heliograph.base.db import Database
from heliograph.base.settings import Settings
from heliograph.entry.app import endpoints
from heliograph.entry.openapi import OPERATIONS, Undescribed, describe
from heliograph.entry.openapi.reasons import REASONS
from heliograph.keys import ALL_PERMISSIONS, Endpoint
from heliograph.messages import FairQueue
from tests.architecture.sources import PACKAGE, sources
from tests.factories import SECRET_KEY

NOWHERE = Database("sqlite:////nowhere/at/all.db")
ENDPOINTS = endpoints(NOWHERE, ConfigCache(NOWHERE), lambda carriers: None, FairQueue(), Settings(Path(), NOWHERE.url, SECRET_KEY))
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
    with pytest.raises(Undescribed, match="PUT /balance"):
        describe([*ENDPOINTS, Endpoint("PUT", "/balance", "wallet.read")])


def test_every_operation_names_its_permission_and_what_can_go_wrong_everywhere() -> None:
    permissions = {(endpoint.method, endpoint.path): endpoint.permission for endpoint in ENDPOINTS}
    for method, path, operation in operations():
        assert operation["x-permission"] == permissions[method, path] in ALL_PERMISSIONS
        assert f"`{permissions[method, path]}`" in operation["description"]
        least = {"200", "400", "401", "403", "429", "500", "503", *(("409", "413") if method == "POST" else ()), *(("404",) if "{" in path else ())}
        assert least <= set(operation["responses"]), (method, path)
        for status, answer in operation["responses"].items():
            assert "X-Request-Id" in resolved(answer)["headers"]
            assert ("Retry-After" in resolved(answer)["headers"]) == (status in ("409", "429", "503"))


OF_COMMANDS = {"wrong_state", "still_under_way", "still_owed"}  # what no endpoint does, so nobody meets them there


def test_every_reason_that_the_code_can_give_is_described() -> None:
    given = {reason for source in sources(PACKAGE) if not source.path.startswith(("entry/cli/", "entry/openapi/"))
             for reason in re.findall(r'reason = "(\w+)"|status, reason = "\w+", \d+, "(\w+)"|reason="(\w+)"', source.text)
             for reason in reason if reason}
    assert given - set(REASONS) == OF_COMMANDS


def test_every_reference_leads_somewhere_and_every_component_is_used() -> None:
    used = {part["$ref"] for part in parts(DOCUMENT) if "$ref" in part}
    assert all(resolved({"$ref": reference}) for reference in used)
    components = {f"#/components/{kind}/{name}" for kind, named in DOCUMENT["components"].items() if kind != "securitySchemes" for name in named}
    assert components - used == {"#/components/responses/NoSuchPath", "#/components/responses/MethodNotAllowed"}


def test_every_example_is_right() -> None:
    components = {"components": {"schemas": DOCUMENT["components"]["schemas"]}}
    found = 0
    for part in parts(DOCUMENT):
        if "schema" in part and "example" in part:
            jsonschema_rs.Draft202012Validator({**part["schema"], **components}, validate_formats=True).validate(part["example"])
            found += 1
    assert found > 2 * len(OPERATIONS)


def test_every_parameter_schema_and_field_is_explained() -> None:
    for method, path, operation in operations():
        assert all(parameter["description"] for parameter in operation["parameters"]), (method, path)
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert "properties" in schema or "anyOf" in schema, name
        for field, rules in schema.get("properties", {}).items():
            assert "description" in rules or "const" in rules or name == "Error", f"{name}.{field}"


def test_names_of_operations_are_unique_and_its_version_is_the_specifications() -> None:
    names = [operation["operationId"] for *_, operation in operations()]
    assert len(set(names)) == len(names)
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", "1.0.0")
