"""Holds the parts that descriptions are put together from: schemas, headers, parameters, and
examples that are all true to one another.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.base.paging import LIMIT_DEFAULT, LIMIT_MAX, cursor_at
from heliograph.keys import CUSTOMER_ID_MAX

Json: TypeAlias = dict[str, Any]

EXAMPLE_MS: Final = 1_769_851_800_000  # 2026-01-31T09:30:00Z
COUNTRY_PATTERN: Final = "^[A-Za-z]{2}$"  # ISO 3166-1 alpha-2, in any case
EXAMPLE_PHONE: Final = "233201234567"
_EXAMPLE_NUMBER: Final = EXAMPLE_MS << 80 | 0x7 << 76 | 0b10 << 62 | 0x1A2B3C4D5E6F7A8


def example_id(prefix: str, place: int = 0) -> str:
    """Returns an id as they are made; it is the same one each time."""
    return ids.text_of_number(prefix, _EXAMPLE_NUMBER + place)


EXAMPLE_CURSOR: Final = cursor_at(ids.raw_of_number(_EXAMPLE_NUMBER))
EXAMPLE_AT: Final = rfc3339(EXAMPLE_MS)
EXAMPLE_REQUEST_ID: Final = f"req_{_EXAMPLE_NUMBER:032x}"


@dataclass(frozen=True)
class ResponseLink:
    """Describes what an answer leads to: a parameter of another operation, by its place in this
    one's body (OpenAPI 3.1, section 4.8.20).
    """

    name: str
    to: tuple[str, str]  # method and path
    parameter: str
    place: str  # a JSON pointer


@dataclass(frozen=True)
class Operation:
    """Describes one endpoint. What all endpoints share (key, rate, their errors and headers) is
    added by document.py.
    """

    tag: str
    summary: str
    description: str
    answer: Json  # schema of the 200's body, without `success`
    example: Json  # of that body
    parameters: tuple[Json, ...] = ()
    body: Json | None = None  # schema
    body_example: Json | None = None
    reasons: tuple[str, ...] = ()  # why it can fail, beside what all endpoints share
    links: tuple[ResponseLink, ...] = ()


# schemas


def text(description: str, *, nullable: bool = False, **more: Any) -> Json:
    """Describes a string. `more` are further keywords of JSON Schema, such as `maxLength`."""
    return {
        "type": ["string", "null"] if nullable else "string",
        "description": description,
        **more,
    }


def integer(description: str, *, nullable: bool = False, **more: Any) -> Json:
    """Describes an integer. `more` are further keywords of JSON Schema, such as `minimum`."""
    return {
        "type": ["integer", "null"] if nullable else "integer",
        "description": description,
        **more,
    }


def money(description: str) -> Json:
    """Describes an amount of money in major units, such as 12.5 cedis."""
    return {
        "type": "number",
        "description": f"{description} It has at most as many decimals as the currency.",
    }


def flag(description: str, *, nullable: bool = False) -> Json:
    """Describes a field that is true or false."""
    return {"type": ["boolean", "null"] if nullable else "boolean", "description": description}


def always(value: bool | str, description: str) -> Json:
    """Describes a value that is never another one, with its type, which generators of clients ask
    for. A constant true or false is described by the value that it is not: generated PHP clients
    compare a boolean constant with its spelling, and would refuse every answer.
    """
    if isinstance(value, bool):
        return {
            "type": "boolean",
            "not": {"type": "boolean", "const": not value},
            "description": description,
        }
    return {"type": "string", "const": value, "description": description}


def also(schema: Json, *names: str) -> Json:
    """Describes a field or parameter that has other names. They are told in its description and in
    `x-aliases`, and are no fields of their own: a client has one way to say each thing, and
    `countryCode` and `country_code` would be one name in many languages.
    """
    aliases = " and ".join(f"`{name}`" for name in names)
    return {
        **schema,
        "description": f"{schema['description']} Also accepted as {aliases}.",
        "x-aliases": list(names),
    }


def one_of(values: Iterable[str], description: str, *, nullable: bool = False) -> Json:
    """Describes a string that is one of a few values."""
    choices: list[str | None] = [*values, None] if nullable else [*values]
    return {
        "type": ["string", "null"] if nullable else "string",
        "enum": choices,
        "description": description,
    }


def moment(description: str, *, nullable: bool = False) -> Json:
    """Describes a time, as a string of RFC 3339."""
    return text(
        f"{description} RFC 3339, UTC, with milliseconds.", nullable=nullable, format="date-time"
    )


def identity(prefix: str, description: str, *, nullable: bool = False) -> Json:
    """Describes an id in text form: the prefix, `_` and 26 characters (docs/api.md, "Ids")."""
    return text(description, nullable=nullable, pattern=f"^{prefix}_[0-9a-hjkmnp-tv-z]{{26}}$")


def array(items: Json, description: str, **more: Any) -> Json:
    """Describes an array of such items. `more` are further keywords of JSON Schema."""
    return {"type": "array", "items": items, "description": description, **more}


def record(description: str, /, **fields: Json) -> Json:
    """Returns the schema of an answer's object: every field is always there."""
    return {
        "type": "object",
        "description": description,
        "required": list(fields),
        "properties": fields,
    }


def form(description: str, /, required: Iterable[str] = (), **fields: Json) -> Json:
    """Returns the schema of a body's object: unknown fields are ignored and named in `warnings`,
    and `null` counts as absent.
    """
    return {
        "type": "object",
        "description": description,
        "required": list(required),
        "properties": fields,
    }


def ref(name: str) -> Json:
    """Returns a reference to a schema of the description's components."""
    return {"$ref": f"#/components/schemas/{name}"}


def one_record(schema: Json) -> Json:
    """Returns the schema of an answer that holds one record, in `data`."""
    return {"type": "object", "required": ["data"], "properties": {"data": schema}}


def with_warnings(answer: Json) -> Json:
    """Returns the answer of a POST or PUT, which names the fields of its body that it ignored."""
    return {**answer, "properties": {**answer["properties"], "warnings": WARNINGS}}


def a_list(schema: Json) -> Json:
    """Returns the schema of a page of records."""
    next_cursor = text(
        "Give it as `cursor` to get the next page. Null on the last page.", nullable=True
    )
    return {
        "type": "object",
        "required": ["data", "next_cursor"],
        "properties": {
            "data": array(schema, "The records, newest first."),
            "next_cursor": next_cursor,
        },
    }


WARNINGS: Final = array(
    {"type": "string"},
    "Names the unknown fields of the body, which were ignored. If there are very many, the last "
    "element says how many more there are. Absent if there were none.",
)


# parameters


def query(name: str, description: str, schema: Json, example: Any = None) -> Json:
    """Describes a parameter of the query string, which may be left out."""
    parameter = {"name": name, "in": "query", "description": description, "schema": schema}
    return parameter if example is None else {**parameter, "example": example}


def query_text(name: str, description: str, most: int, example: Any = None) -> Json:
    """Describes a parameter of any text but U+0000, which no database keeps. The pattern is one
    that PHP reads too.
    """
    return query(
        name, description, {"type": "string", "maxLength": most, "pattern": r"^[^\x00]*$"}, example
    )


def limit(most: int = LIMIT_MAX) -> Json:
    """Describes the parameter `limit` of an endpoint whose pages hold at most `most` records."""
    return query(
        "limit",
        "How many records a page holds at most.",
        {"type": "integer", "minimum": 1, "maximum": most, "default": LIMIT_DEFAULT},
    )


def path_id(description: str, example: str) -> Json:
    """Describes the parameter `id` of a path."""
    return {
        "name": "id",
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string"},
        "example": example,
    }


CURSOR: Final = query(
    "cursor",
    "The `next_cursor` of the page before.",
    {"type": "string", "pattern": "^([A-Za-z0-9_-]{21}[AQgw])?$"},
    EXAMPLE_CURSOR,
)
SINCE: Final = query(
    "since",
    "Only records that were made at this time or later. RFC 3339.",
    {"type": "string", "format": "date-time"},
    EXAMPLE_AT,
)
UNTIL: Final = query(
    "until",
    "Only records that were made before this time. RFC 3339.",
    {"type": "string", "format": "date-time"},
)
CUSTOMER_ID: Final = query_text(
    "customer_id",
    "Acts for this Connect customer of yours, named by its id or its `external_ref`. It also"
    " requires the permission `connect.customers`.",
    CUSTOMER_ID_MAX,
)
CUSTOMER_ID_ALONE: Final = query_text(
    "customer_id",
    "Acts for this Connect customer of yours, named by its id or its `external_ref`.",
    CUSTOMER_ID_MAX,
)
IDEMPOTENCY_KEY: Final[Json] = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[!-~]([ -~]*[!-~])?$",
    },
    "description": (
        "Makes the request safe to repeat. For 72 hours the same key with the same body acts only"
        " once and has the same answer."
    ),
    "example": "order-1042",
}

CUSTOMER_ID_FIELD: Final = text(
    "Acts for this Connect customer of yours, named by its id or its `external_ref`. It also"
    " requires the permission `connect.customers`.",
    nullable=True,
    minLength=1,
    maxLength=CUSTOMER_ID_MAX,
)
CUSTOMER_ID_FIELD_ALONE: Final = text(
    "Acts for this Connect customer of yours, named by its id or its `external_ref`.",
    nullable=True,
    minLength=1,
    maxLength=CUSTOMER_ID_MAX,
)

# headers

HEADERS: Final[dict[str, Json]] = {
    "X-Request-Id": {
        "required": True,
        "description": "The request's id. The operator can find it in the log.",
        "schema": {"type": "string"},
    },
    "X-RateLimit-Limit": {
        "required": True,
        "description": "How many requests the key may make in a minute.",
        "schema": {"type": "integer"},
    },
    "X-RateLimit-Remaining": {
        "required": True,
        "description": "Requests left in this minute.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "X-RateLimit-Reset": {
        "required": True,
        "description": "Seconds until the minute ends.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "Retry-After": {
        "required": True,
        "description": "Seconds to wait before another try.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "Idempotent-Replayed": {
        "description": "`true` if this is the stored answer of an earlier, equal request.",
        "schema": {"type": "string", "const": "true"},
    },
    "WWW-Authenticate": {
        "required": True,
        "description": "How to authenticate.",
        "schema": {"type": "string", "const": "Bearer"},
    },
    "Allow": {
        "required": True,
        "description": "The methods that the path answers.",
        "schema": {"type": "string"},
    },
}
RATE_HEADERS: Final = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


def headers(*names: str) -> Json:
    """Returns references to headers of the description's components, by their names."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
