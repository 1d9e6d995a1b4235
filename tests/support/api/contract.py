"""Judges by the published description: every answer that a test gets is held against it, so that it
is complete and true.
"""

import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import httpx
import jsonschema_rs

from heliograph.api.openapi import BASE_PATH, openapi_document
from heliograph.api.openapi.reasons import REASONS
from heliograph.requests import Endpoint


class Undocumented(AssertionError):
    """The API answered something that its description does not tell."""


class Contract:
    """Answers are judged more strictly than clients do: a field that is not described is
    an error.
    """

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self.endpoints = list(endpoints)
        self.document: dict[str, Any] = json.loads(openapi_document(self.endpoints))
        self._validators: dict[str, Any] = {}

    def check(self, method: str, response: httpx.Response) -> None:
        """Raises Undocumented for an answer below /api/v1 that is not described: its
        status, a header, or a part of its body.
        """
        if response.request.url.path == f"{BASE_PATH}/openapi.json":
            return
        encoded = response.request.url.raw_path.decode().partition("?")[0].removeprefix(BASE_PATH)
        path = "/".join(unquote(part).replace("/", "%2F") for part in encoded.split("/"))
        where = f"{method} {path}: {response.status_code} {response.text[:1_000]}"
        name, described = self._described(method, path, response.status_code)
        if described is None:
            raise Undocumented(f"{where}: the status is not described")
        if response.headers["content-type"] != "application/json":
            raise Undocumented(f"{where}: is {response.headers['content-type']}")
        for header, rules in self._resolved_headers(described).items():
            if rules.get("required") and header not in response.headers:
                raise Undocumented(f"{where}: the header {header} is missing")
        if method != "HEAD" and (
            error := self._validator(name, described).iter_errors(response.json())
        ):
            found = [f"{'/'.join(map(str, each.instance_path))}: {each.message}" for each in error]
            if found:
                raise Undocumented(f"{where}:\n" + "\n".join(found[:5]))
        if method != "HEAD" and not _has_a_reason_of(described, response):
            raise Undocumented(
                f"{where}: the reason is none of {described['x-reasons']}, or its status or code is"
                " another one"
            )

    def is_failure(self, name: str, response: httpx.Response) -> bool:
        """Returns whether an answer outside of /api/v1 has the body of this shared failure."""
        described = self.document["components"]["responses"][name]
        return (
            response.headers["content-type"] == "application/json"
            and bool(self._validator(name, described).is_valid(response.json()))
            and _has_a_reason_of(described, response)
        )

    def check_webhook(self, body: Any) -> None:
        """Raises ValidationError for the body of a webhook that is not as its kind is described."""
        schema = self.document["webhooks"][body["event"]]["post"]["requestBody"]["content"][
            "application/json"
        ]["schema"]
        jsonschema_rs.Draft202012Validator(
            {**schema, "components": {"schemas": self._schemas}}, validate_formats=True
        ).validate(body)

    def is_error(self, body: Any) -> bool:
        """Returns whether this is the body that every failure has."""
        schema = {
            "$ref": "#/components/schemas/ErrorResponse",
            "components": {"schemas": self._schemas},
        }
        return bool(jsonschema_rs.Draft202012Validator(schema).is_valid(body))

    def fields_of(self, endpoint: Endpoint) -> list[str]:
        """Returns the names of all fields that its body may have, other names of the same
        included.
        """
        form = self._resolved(
            self.document["paths"][endpoint.path][endpoint.method.lower()]["requestBody"][
                "content"
            ]["application/json"]["schema"]
        )
        forms = [form] if "properties" in form else [self._resolved(one) for one in form["anyOf"]]
        return [
            each
            for one in forms
            for name, rules in one["properties"].items()
            for each in (name, *rules.get("x-aliases", ()))
        ]

    def _described(self, method: str, path: str, status: int) -> tuple[str, dict[str, Any] | None]:
        """Returns the description of an answer, and a name for it."""
        # which is answered the same, but for the body
        asked = "GET" if method == "HEAD" else method
        for endpoint in self.endpoints:
            if endpoint.method == asked and any(
                _matches(each, path) for each in (endpoint.path, *endpoint.other_paths)
            ):
                answer = self.document["paths"][endpoint.path][asked.lower()]["responses"].get(
                    str(status)
                )
                return f"{method} {endpoint.path} {status}", (
                    self._resolved(answer) if answer else None
                )
        generic = {
            401: "Unauthorized",
            404: "NoSuchPath",
            405: "MethodNotAllowed",
            429: "RateLimited",
            503: "Unavailable",
        }.get(status)
        return f"{generic}", self.document["components"]["responses"].get(generic)

    def _resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            found: Any = self.document
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            part = found
        return part

    def _resolved_headers(self, described: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {name: self._resolved(rules) for name, rules in described["headers"].items()}

    def _validator(self, name: str, described: dict[str, Any]) -> Any:
        if name not in self._validators:
            schema = described["content"]["application/json"]["schema"]
            self._validators[name] = jsonschema_rs.Draft202012Validator(
                {**_strict(schema), "components": {"schemas": self._schemas}}, validate_formats=True
            )
        return self._validators[name]

    @cached_property
    def _schemas(self) -> dict[str, Any]:
        return {
            name: _strict(schema) for name, schema in self.document["components"]["schemas"].items()
        }


def _has_a_reason_of(described: dict[str, Any], response: httpx.Response) -> bool:
    """Returns whether a failure has a reason that this answer can have, with that reason's status
    and code. A success has none.
    """
    if "x-reasons" not in described:
        return True
    error = response.json()["error"]
    reason = REASONS[error["reason"]]
    return error["reason"] in described["x-reasons"] and (reason.status, reason.code) == (
        response.status_code,
        error["code"],
    )


def _matches(template: str, path: str) -> bool:
    want, have = template.split("/"), path.split("/")
    return len(want) == len(have) and all(
        part in ("{id}", given) for part, given in zip(want, have, strict=True)
    )


def _strict(schema: Any) -> Any:
    """Returns the same schema, where an object has no other fields than those described."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(value) for name, value in schema.items()}
    return (
        {**strict, "additionalProperties": False}
        if isinstance(schema.get("properties"), dict) and "type" in schema
        else strict
    )
