"""Explains what holds for every endpoint. It is the description's introduction (`info.description`,
CommonMark), and the page's first part.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from heliograph.api.openapi.reasons import REASONS
from heliograph.base.paging import LIMIT_DEFAULT, LIMIT_MAX
from heliograph.keys import ALL_PERMISSIONS
from heliograph.requests import Endpoint

# where `heliograph serve` listens, unless it is told otherwise
EXAMPLE_BASE_URL: Final = "http://127.0.0.1:8080"

_SECTIONS: Final = {
    "Basics": (
        """
All paths are below `/api/v1`. Requests and answers are JSON in UTF-8.

Every request carries an API key in the header `Authorization: Bearer <API_KEY>`. A key has a mode,
permissions and a rate limit. It is shown only once, when it is made. This request shows what your
wallet holds:

```sh
curl BASE_URL/api/v1/balance -H "Authorization: Bearer $API_KEY"
```

Keep a key on your server: whoever has it can send at your cost."""
    ),
    "Live and sandbox": (
        """
A key that begins with `sk_live_` sends and charges. A key that begins with `sk_test_` is a sandbox
key: its requests are checked and answered in the same way, but nothing is sent and nothing is
charged.

Every record belongs to one mode, live or sandbox. A key of the other mode cannot see it."""
    ),
    "Permissions": (
        """
A key can do only what its permissions allow. If it lacks the permission of an endpoint, the answer
is 403.

PERMISSIONS

With the permission `connect.customers` as well, you can act for a Connect customer of yours: give
its id or its `external_ref` as `customer_id`. The request then uses the customer's wallet, messages
and contacts. On `/sender-ids` the endpoint's own permission is enough. If the customer belongs to
somebody else, the answer is 404."""
    ),
    "Answers": (
        """
A success has status 200 and `"success": true`. In most answers `data` holds the record or the list.
A list has `next_cursor` beside it. New fields can be added at any time. A field is removed only
after 12 months' notice.

Times are RFC 3339 in UTC with milliseconds. An amount of money is a number with at most as many
decimals as its currency has. Credits are integers. Countries and currencies are ISO codes. Phone
numbers are digits without a plus sign. An id, such as `msg_01kg9p6je0e00838nkrkaydxx9`, is an
opaque string.

Unknown fields of a body are ignored and named in `warnings`. There are two exceptions, because
ignoring them could cost you money. A name that is nearly a known one, such as `recipents`, is
refused with 400 `unknown_field`. So is a name that asks for another time, price or effect, such as
`send_at`. An unknown query parameter is refused. An empty filter, such as `status=`, counts as not
given; `limit` must be a number."""
    ),
    "Lists": (
        f"""
Lists are newest first. `limit` sets how many records a page holds: {LIMIT_DEFAULT} by default, and
at most {LIMIT_MAX:,} unless an endpoint allows fewer. While `next_cursor` is not null, there are
more records: give it as `cursor` to get the next page. If records are added meanwhile, no record is
repeated or left out."""
    ),
    "Safe retries": (
        """
Give every POST an `Idempotency-Key`. After a timeout or a lost connection, repeat the request with
the same key and the same body: it acts only once, and you get the first answer again, with
`Idempotent-Replayed: true`. This holds for 72 hours. Another body with the same key is refused with
409. Only a success is kept: after any other answer you can use the key again."""
    ),
    "Calls from a web page": (
        """
A browser lets a page call the API only if the operator has named the page's origin in
`HELIOGRAPH_CORS_ORIGINS` (CORS). None is named at first. Whoever opens such a page can read the key
that it uses, and send at the account's expense. Wherever you can, call the API from your own
server."""
    ),
    "Rate limits": (
        """
A key may make 10, 100 or 1,000 requests a minute, depending on its tier. Each answer shows the
limit in `X-RateLimit-Limit`, what is left in `X-RateLimit-Remaining`, and the seconds to the end of
the minute in `X-RateLimit-Reset`. Above the limit the answer is 429 with `Retry-After`."""
    ),
    "Errors": (
        """
Every failure has the same shape. `error.code` says what happened and `error.reason` says why: both
are for programs. `error.message` explains it to people. `error.fields` names each bad field. Quote
the `request_id` when you ask for help.

A 503 means that nothing was stored: try again after `Retry-After`. A request is checked in this
order: key, rate limit, path, permission, size, fields, Idempotency-Key, records, credits."""
    ),
}


def guide(endpoints: Iterable[Endpoint], base_url: str) -> str:
    """Returns the introduction, in CommonMark: what each permission opens, as a table, and all
    errors below their status and code.
    """
    sections = "\n\n".join(f"## {title}\n\n{text.strip()}" for title, text in _SECTIONS.items())
    opened = [
        (
            f"`{permission}`",
            ", ".join(
                f"`{endpoint.method} {endpoint.path}`"
                for endpoint in endpoints
                if endpoint.permission == permission
            ),
        )
        for permission in ALL_PERMISSIONS
    ]
    permissions = _table(
        ("Permission", "Endpoints"), [(permission, paths) for permission, paths in opened if paths]
    )
    return "\n\n".join(
        (sections.replace("BASE_URL", base_url).replace("PERMISSIONS", permissions), *_errors())
    )


def _errors() -> Iterator[str]:
    """Yields each status and code as a heading, with the list of its reasons."""
    for (status, code), names in groupby(
        sorted(REASONS, key=_status_and_code), key=_status_and_code
    ):
        yield f"### {status} `{code}`"
        yield "\n".join(f"- `{name}`: {REASONS[name].meaning}" for name in names)


def _status_and_code(reason: str) -> tuple[int, str]:
    return REASONS[reason].status, REASONS[reason].code


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))
