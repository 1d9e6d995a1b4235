"""Finds the account for which a POST of the hot paths acts, in the order of docs/api.md, "Order of
judgement": a used Idempotency-Key is looked up before a record that the body names.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from heliograph.base.errors import NotFound
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.keys import acting_for_cached, country_of_cached
from heliograph.requests.endpoint import Call
from heliograph.requests.idempotency import refuse_used_key

T = TypeVar("T")


async def read_with_home_country(
    cache: ConfigCache, call: Call, reader: Callable[[dict[str, Any], str], T]
) -> T:
    """Returns what `reader` makes of the body and of the country of the account that it is about:
    the key's own, or the customer's it names.

    Raises InvalidRequest (`invalid_json`), what `reader` raises, Unavailable.
    """
    own = call.principal.country_code
    found = await call.read(lambda body: _read_or_postpone(reader, body, own))
    if not isinstance(found, _BodyOfCustomer):
        return found
    body = found.body
    home_country = await country_of_cached(cache, call.principal, body["customer_id"])
    return await call.work_on_body(lambda: reader(body, home_country))


class _BodyOfCustomer(NamedTuple):
    """Holds a body that names a customer, whose country must be known before it is read."""

    body: dict[str, Any]


def _read_or_postpone(
    reader: Callable[[dict[str, Any], str], T], body: dict[str, Any], own: str
) -> T | _BodyOfCustomer:
    """Returns what `reader` makes of a body of the key's own account."""
    if isinstance(body.get("customer_id"), str):
        return _BodyOfCustomer(body)
    return reader(body, own)


async def acting_for_call(
    db: Database, cache: ConfigCache, call: Call, path: str, customer_id: str | None
) -> str:
    """Returns the raw id of the account that a changing request is about; `customer_id` is as its
    body names it. Raises what `acting_for_cached` raises, and Conflict rather than NotFound when
    the key was used with another body.
    """
    try:
        return await acting_for_cached(cache, call.principal, customer_id, changes=True)
    except NotFound:
        await refuse_used_key_of(db, call, path)
        raise


async def refuse_used_key_of(db: Database, call: Call, path: str) -> None:
    """Raises Conflict when the request's key was used with another body, and Unavailable."""

    def refuse() -> None:
        with db.read() as tx:
            refuse_used_key(tx, call, path)

    await call.in_thread(refuse)
