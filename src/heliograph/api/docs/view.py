"""Extracts what the page shows from the OpenAPI document: references are resolved, and schemas
become rows of fields.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from heliograph.api.docs.markup import anchor
from heliograph.requests import CodeSample, code_samples
from heliograph.webhooks.signature_checks import SIGNATURE_CHECKS

Json = dict[str, Any]

# Every sandbox key may send from SANDBOX.
FIRST_SEND: Final = {
    "sender": "SANDBOX",
    "message": "Hello from Heliograph",
    "recipients": ["233201234567"],
}

STATUS_NAMES: Final = {
    "400": "Bad Request",
    "401": "Unauthorized",
    "402": "Payment Required",
    "403": "Forbidden",
    "404": "Not Found",
    "409": "Conflict",
    "413": "Content Too Large",
    "414": "URI Too Long",
    "429": "Too Many Requests",
    "431": "Request Header Fields Too Large",
    "500": "Internal Server Error",
    "503": "Service Unavailable",
}


class Field(NamedTuple):
    """Describes a parameter, or a field of a body or an answer. `depth` says how deeply it is
    nested.
    """

    name: str
    kind: str
    required: bool
    description: str
    limits: str
    depth: int = 0


class ShownError(NamedTuple):
    status: str
    name: str
    reasons: list[tuple[str, str]]


class Webhook(NamedTuple):
    """Describes one event that is posted, as the page shows it."""

    id: str
    kind: str
    summary: str
    description: str
    body: list[Field]
    example: Any


class ShownOperation(NamedTuple):
    """Describes one endpoint, as the page shows it. `stand_ins` are the beginnings of the ids in
    the samples' path, which readers replace with ids of theirs.
    """

    id: str
    method: str
    path: str
    summary: str
    description: str
    permission: str
    parameters: list[Field]
    body: list[Field]
    answer: list[Field]
    samples: list[CodeSample]
    stand_ins: list[str]
    example: Any
    failures: list[ShownError]


def page_view(document: Json, base_url: str) -> Json:
    """Returns the template's variables."""
    reader = _DocumentReader(document)
    groups = [
        {
            "name": tag["name"],
            "id": anchor(tag["name"]),
            "description": tag["description"],
            "operations": [
                reader.operation(method, path, operation, base_url)
                for path, methods in document["paths"].items()
                for method, operation in methods.items()
                if operation["tags"] == [tag["name"]]
            ],
            "webhooks": [
                reader.webhook(kind, sent["post"])
                for kind, sent in document["webhooks"].items()
                if sent["post"]["tags"] == [tag["name"]]
            ],
        }
        for tag in document["tags"]
    ]
    received = next(iter(document["webhooks"].values()))["post"]
    return {
        "info": document["info"],
        "groups": [group for group in groups if group["operations"] or group["webhooks"]],
        "first": code_samples("POST", reader.base(base_url), "/sms/send", [], FIRST_SEND),
        "signature_checks": SIGNATURE_CHECKS,
        "webhook_headers": [
            reader.parameter(parameter)._replace(kind="") for parameter in received["parameters"]
        ],
        "webhook_answers": [
            (status, answer["description"]) for status, answer in received["responses"].items()
        ],
        "sections": [
            (anchor(title), title)
            for title in re.findall(r"^## (.+)$", document["info"]["description"], re.MULTILINE)
        ],
    }


class _DocumentReader:
    def __init__(self, document: Json) -> None:
        self._document = document

    def operation(self, method: str, path: str, operation: Json, base_url: str) -> ShownOperation:
        """Returns what the page shows of one operation."""
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        success = operation["responses"]["200"]["content"]["application/json"]
        failures = [
            self._failure(status, answer)
            for status, answer in operation["responses"].items()
            if status != "200"
        ]
        return ShownOperation(
            operation["operationId"],
            method.upper(),
            path,
            summary=operation["summary"],
            description=operation["description"].split("\n\nRequires the permission")[0],
            permission=operation["x-permission"],
            parameters=[self.parameter(parameter) for parameter in operation["parameters"]],
            body=list(self._fields(body.get("schema", {}))),
            answer=list(self._fields(success["schema"])),
            samples=code_samples(
                method.upper(),
                self.base(base_url),
                path,
                operation["parameters"],
                body.get("example"),
            ),
            stand_ins=[
                parameter["example"].partition("_")[0] + "_…"
                for parameter in operation["parameters"]
                if parameter["in"] == "path"
            ],
            example=success["example"],
            failures=failures,
        )

    def webhook(self, kind: str, sent: Json) -> Webhook:
        body = sent["requestBody"]["content"]["application/json"]
        return Webhook(
            sent["operationId"],
            kind,
            sent["summary"],
            sent["description"],
            list(self._fields(body["schema"])),
            body["example"],
        )

    def base(self, base_url: str) -> str:
        """Returns the address that all paths are below."""
        return f"{base_url}{self._document['servers'][0]['url'].removeprefix(base_url)}"

    def parameter(self, parameter: Json) -> Field:
        schema = parameter["schema"]
        where = "" if parameter["in"] == "query" else f"{parameter['in']} "
        return Field(
            parameter["name"],
            f"{where}{_kind(schema)}",
            parameter.get("required", False),
            parameter["description"],
            _limits(schema),
        )

    def _fields(self, schema: Json, prefix: str = "", depth: int = 0) -> Iterator[Field]:
        schema = self._resolved(schema)
        for name, rules in schema.get("properties", {}).items():
            rules = self._resolved(rules)
            within = self._resolved(rules.get("items", {}))
            yield Field(
                f"{prefix}{name}",
                _kind({**rules, "items": within} if within else rules),
                name in schema.get("required", ()),
                rules.get("description", ""),
                _limits(rules),
                depth,
            )
            yield from self._fields(rules, f"{prefix}{name}.", depth + 1)
            yield from self._fields(within, f"{prefix}{name}[].", depth + 1)

    def _failure(self, status: str, answer: Json) -> ShownError:
        described = self._resolved(answer)["description"]
        return ShownError(
            status, STATUS_NAMES[status], re.findall(r"^- `(\w+)`: (.+)$", described, re.MULTILINE)
        )

    def _resolved(self, part: Json) -> Json:
        while "$ref" in part:
            found: Any = self._document
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            part = {**found, **{name: value for name, value in part.items() if name != "$ref"}}
        return part


def _kind(schema: Json) -> str:
    """Returns a type in words, such as `string`, `integer or null`, `array of string` or
    `"true"`.
    """
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " or ".join(_kind(choice) for choice in schema["anyOf"])
    kinds = schema.get("type", "object")
    named = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    return f"array of {_kind(schema['items'])}" if named == "array" else named


def _limits(schema: Json) -> str:
    """Returns what a value is held to, in words."""
    if "anyOf" in schema:
        return "; ".join(filter(None, map(_limits, schema["anyOf"])))
    if "enum" in schema:
        return (
            "One of "
            + ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
            + "."
        )
    limits = [
        _between(schema.get("minimum"), schema.get("maximum"), ""),
        _between(schema.get("minLength"), schema.get("maxLength"), " characters"),
        _between(schema.get("minItems"), schema.get("maxItems"), " elements"),
    ]
    if "default" in schema:
        limits.append(f"default {schema['default']}")
    return ", ".join(filter(None, limits))


def _between(least: int | None, most: int | None, unit: str) -> str:
    if least is None and most is None:
        return ""
    if most is None:
        return f"at least {least:,}{unit}" if least else ""
    return f"{least:,} to {most:,}{unit}" if least is not None else f"at most {most:,}{unit}"
