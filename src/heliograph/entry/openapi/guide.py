"""What holds for every endpoint, as the description's introduction (`info.description`, CommonMark) and the page's first part."""

from collections.abc import Iterable
from typing import Final

from heliograph.base.paging import LIMIT_DEFAULT, LIMIT_MAX
from heliograph.entry.openapi.reasons import REASONS
from heliograph.keys import ALL_PERMISSIONS, Endpoint

EXAMPLE_BASE_URL: Final = "http://127.0.0.1:8080"  # where `heliograph serve` listens, unless it is told otherwise

_SECTIONS: Final = {
    "Begin": """
Send SMS, follow them to the handset, and read what they cost. All paths are below `/api/v1`; bodies and answers are JSON in UTF-8.

Every request carries an API key in the header `Authorization: Bearer <API_KEY>`. A key has a mode, permissions and a rate, and is shown only
once, when it is made. The first request asks what the wallet holds:

```sh
API_KEY=sk_test_…
curl BASE_URL/api/v1/balance -H "Authorization: Bearer $API_KEY"
```""",
    "Live and sandbox": """
A key that begins with `sk_live_` sends and charges. One that begins with `sk_test_` is a sandbox key: the same requests are judged in the same way
and answered with success, and nothing is sent and nothing charged.

Every record belongs to one mode, and is not found with a key of the other.""",
    "Permissions": """
A key does what its permissions say. Without the one that an endpoint takes the answer is 403.

PERMISSIONS

With `connect.customers` beside that permission, `customer_id` on an endpoint that takes it means that Connect customer of yours: its wallet, its
messages, its contacts. On `/sender-ids` the endpoint's own permission is enough. A customer is named by its id or by its `external_ref`. Somebody
else's customer is not found.""",
    "Answers": """
A success is a 200 with `"success": true`; one record stands in `data`, and so does a list, with `next_cursor` beside it. Fields may be added in
version 1, never taken away without 12 months' notice.

Times are RFC 3339 in UTC with milliseconds, money is a number with at most the currency's decimals, credits are integers, countries and
currencies have their ISO codes. Phone numbers are digits without plus. An id, such as `msg_01kg9p6je0e00838nkrkaydxx9`, is opaque.

Unknown fields of a body are ignored and named in `warnings`, unless that could cost: a name that is nearly a known one, such as `recipents`, or one
that asks for another time, price or effect, such as `send_at`, is a 400 `unknown_field`. An unknown query parameter is refused; an empty one,
such as `status=`, was not given.""",
    "Lists": f"""
Lists are newest first. `limit` says how many records a page holds, {LIMIT_DEFAULT} by default and at most {LIMIT_MAX:,} unless an endpoint says
less. While `next_cursor` is not null there is more: give it back as `cursor`. Records that are added meanwhile neither repeat nor hide others.""",
    "Safe to repeat": """
Give a POST an `Idempotency-Key`, and repeat it after a timeout or a lost connection without fear: the same key with the same body acts once and
is answered the same, with `Idempotent-Replayed: true`, for 72 hours. Another body under the same key is a 409. Only a success is kept: after any
other answer the key is free.""",
    "Rate limits": """
A key may make so many requests a minute, as its tier says: 10, 100 or 1,000. Each answer tells what is left in `X-RateLimit-Limit`,
`X-RateLimit-Remaining` and `X-RateLimit-Reset` (seconds to the end of the minute). Past the limit the answer is 429, with `Retry-After`.""",
    "Errors": """
Every failure has the same shape: `error.code` for what happened, `error.reason` for why exactly, `error.message` for people, and `error.fields`
naming each bad field. Quote the `request_id` when you ask us.

A 503 says that nothing was stored. A request is judged in this order: key, rate, path, permission, size, form, Idempotency-Key, records, credits.""",
}


def guide(endpoints: Iterable[Endpoint], base_url: str) -> str:
    """The introduction, in CommonMark with tables: which permission opens what, and all errors."""
    sections = "\n\n".join(f"## {title}\n\n{text.strip()}" for title, text in _SECTIONS.items())
    errors = sorted((str(reason.status), f"`{reason.code}`", f"`{name}`", reason.meaning) for name, reason in REASONS.items())
    opened = [(f"`{permission}`", ", ".join(f"`{endpoint.method} {endpoint.path}`" for endpoint in endpoints if endpoint.permission == permission))
              for permission in ALL_PERMISSIONS]
    permissions = _table(("Permission", "Endpoints"), [row for row in opened if row[1]])
    return "\n\n".join((sections.replace("BASE_URL", base_url).replace("PERMISSIONS", permissions),
                        _table(("Status", "Code", "Reason", "When"), errors)))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))
