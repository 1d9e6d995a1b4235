"""Plugins report log entries of texts that a site sent, and events of any kind."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import quotas
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.database.reads import records_of
from heliograph.messages.read import one_time_passwords
from heliograph.plugin.site import Site
from heliograph.plugin.tables import site_events, site_logs

ID_PREFIX: Final = "log"
EVENT_PREFIX: Final = "evt"
# what the message_type or event of a one-time password has in it, and its id begins with
OTP: Final = "otp"


class ReportedEntry(NamedTuple):
    """Holds a log entry as a plugin sent it."""

    site_url: str | None  # left out: the only site of the account
    event: str
    recipient: str | None = None
    message_type: str | None = None
    status: str | None = None
    source: str | None = None
    body: str | None = None
    cost: float | None = None
    external_ref: str | None = None
    message_id: str | None = None
    meta: str | None = None  # a JSON object


class LogEntry(NamedTuple):
    """Holds a log entry as it is stored. Ids are raw, but for `message_id`, which is the plugin's
    word.
    """

    id: str
    site_id: str
    event: str
    recipient: str | None
    message_type: str | None
    status: str | None
    source: str | None
    body: str | None
    cost: float | None
    external_ref: str | None
    message_id: str | None
    meta: str | None
    created_at_ms: int


def store_logs(
    tx: Connection,
    sites: Mapping[str | None, Site],
    entries: Sequence[ReportedEntry],
    *,
    now_ms: int,
) -> list[str]:
    """Stores the entries that are new, and returns the id of each entry in text form. An entry that
    its site has told before (by `external_ref`) has the id of then. `sites` has locked sites of one
    account and mode by their URLs, and under None the one of entries that name none. The text of a
    one-time password is not stored (docs/api.md, "Site plugin"), nor is its `meta`. Raises
    StorageQuotaReached.
    """
    known = _known_entries(tx, sites, entries)
    one_time = one_time_passwords(
        tx, {entry.message_id.lower() for entry in entries if entry.message_id is not None}
    )
    answered: list[str] = []
    fresh: list[dict[str, Any]] = []
    number = ids.new_number(now_ms)
    for entry in entries:
        site_id = sites[entry.site_url].id
        place = (site_id, entry.external_ref)
        raw = known.get(place)
        if raw is None:
            raw = ids.raw_of_number(number + len(fresh))
            to_store = entry._replace(body=None, meta=None) if _is_otp(entry, one_time) else entry
            values = to_store._asdict()
            del values["site_url"]  # `site_id` says it
            fresh.append(
                LogEntry(id=raw, site_id=site_id, **values, created_at_ms=now_ms)._asdict()
            )
            if entry.external_ref is not None:
                known[place] = raw
        answered.append(ids.text_of_raw(ID_PREFIX, raw))
    if fresh:
        owner = sites[entries[0].site_url]
        quotas.charge(
            tx,
            owner.account_id,
            quotas.StoredKind.LOGS,
            sum(map(_octets, fresh)),
            sandbox=owner.sandbox,
            now_ms=now_ms,
        )
        tx.execute(site_logs.insert(), fresh)
    return answered


def _octets(row: Mapping[str, Any]) -> int:
    texts = [
        value
        for name, value in row.items()
        if isinstance(value, str) and name not in ("id", "site_id")
    ]
    return quotas.MEASURES[quotas.StoredKind.LOGS].row_octets + quotas.octets_of(*texts)


def _is_otp(entry: ReportedEntry, one_time: set[str]) -> bool:
    """Returns whether an entry belongs to a one-time password. `one_time` holds ids of ours, in
    lower case.
    """
    message_id = (entry.message_id or "").lower()
    return (
        message_id in one_time
        or message_id.startswith(OTP)
        or _names_otp(entry.event)
        or _names_otp(entry.message_type or "")
    )


def _names_otp(word: str) -> bool:
    return OTP in word.lower()


def _known_entries(
    tx: Connection, sites: Mapping[str | None, Site], entries: Sequence[ReportedEntry]
) -> dict[tuple[str, str | None], str]:
    """Returns which entries are there already, by site and `external_ref`."""
    refs = {entry.external_ref for entry in entries if entry.external_ref is not None}
    if not refs:
        return {}
    here = site_logs.c.site_id.in_(
        [site.id for site in sites.values()]
    ) & site_logs.c.external_ref.in_(refs)
    known = tx.execute(
        sa.select(site_logs.c.site_id, site_logs.c.external_ref, site_logs.c.id).where(here)
    )
    return {(row.site_id, row.external_ref): row.id for row in known}


def store_event(
    tx: Connection, site: Site, event: str, payload: str, meta: str | None = None, *, now_ms: int
) -> str:
    """Stores an event; `payload` and `meta` are JSON objects, and not stored of one that names a
    one-time password. Answers its id in text form.

    Raises StorageQuotaReached.
    """
    raw = ids.raw_of_number(ids.new_number(now_ms))
    payload, meta = ("{}", None) if _names_otp(event) else (payload, meta)
    octets = quotas.MEASURES[quotas.StoredKind.EVENTS].row_octets + quotas.octets_of(
        event, payload, meta or ""
    )
    quotas.charge(
        tx, site.account_id, quotas.StoredKind.EVENTS, octets, sandbox=site.sandbox, now_ms=now_ms
    )
    tx.execute(
        site_events.insert().values(
            id=raw, site_id=site.id, event=event, payload=payload, meta=meta, created_at_ms=now_ms
        )
    )
    return ids.text_of_raw(EVENT_PREFIX, raw)


def logs_page(
    tx: Connection, *, limit: int, site_id: str | None = None, before: str | None = None
) -> list[LogEntry]:
    """Returns at most `limit` log entries, newest first: those before the one with the id
    `before` in text form. Without `site_id`, it returns those of all sites.
    """
    query = sa.select(site_logs).order_by(site_logs.c.id.desc()).limit(limit)
    if site_id is not None:
        query = query.where(site_logs.c.site_id == site_id)
    if before is not None:
        query = query.where(
            site_logs.c.id < (ids.raw_of_text(ID_PREFIX, before) or ids.raw_of_number(0))
        )
    return records_of(LogEntry, tx.execute(query))


def as_log_record(entry: LogEntry, site: Site) -> dict[str, Any]:
    """Returns an entry as the operator sees it: without the text, which is between the shop and
    its customer.
    """
    return {
        "id": ids.text_of_raw(ID_PREFIX, entry.id),
        "site_url": site.site_url,
        "event": entry.event,
        "recipient": entry.recipient,
        "message_type": entry.message_type,
        "status": entry.status,
        "source": entry.source,
        "cost": entry.cost,
        "external_ref": entry.external_ref,
        "message_id": entry.message_id,
        "meta": None if entry.meta is None else json.loads(entry.meta),
        "created_at": rfc3339(entry.created_at_ms),
    }
