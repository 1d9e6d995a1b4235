"""For whom a POST of the hot paths acts, judged in the order of contract section 2: a used Idempotency-Key before a record named in the body."""

from heliograph.base.cache import ConfigCache
from heliograph.base.db import Database
from heliograph.base.errors import NotFound
from heliograph.keys import Call, acting_for_cached
from heliograph.requests.idempotency import refuse_used_key


async def acting_for_call(db: Database, cache: ConfigCache, call: Call, path: str, customer_id: str | None) -> str:
    """The raw id of the account that a changing request is about; `customer_id` as its body names it. Raises what `acting_for_cached` raises,
    and Conflict rather than NotFound when the key was used with another body."""
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
