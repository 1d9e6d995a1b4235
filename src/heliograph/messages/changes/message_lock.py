"""Holds the statement that every change of a stored message begins with, and which locks it."""

from typing import Final

from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BigInt,
    Bool,
    Id,
    Int,
    Row,
    SmallInt,
    Statement,
    Text,
)


class MessageIds(Row, frozen=True):
    """Selects messages by their ids. The smallest and the largest id tell PostgreSQL which
    partitions to read; the list alone would not.
    """

    ids: list[Id]
    first: Id
    last: Id


class LockedMessage(Row, frozen=True):
    """Holds a message under lock. `endpoints` holds the webhook endpoints of its account and of the
    account's partner, in the form that `webhooks.parse_listeners` takes. The fields that follow it
    are what an event shows besides, and are read only if there are such endpoints.
    """

    id: Id
    send_id: Id
    account_id: Id
    sandbox: Bool
    recipient: BigInt | None
    status: Text
    segments: SmallInt
    credits: Int
    refunded: Int
    parts_accepted: SmallInt
    parts_delivered: SmallInt
    error_code: Text | None
    error_message: Text | None
    group_id: Int | None
    endpoints: Text | None
    type: Text | None
    sender: Text | None
    country_code: Text | None
    text: Text | None
    encoding: Text | None
    reference: Text | None
    created_at_ms: BigInt | None
    sent_at_ms: BigInt | None
    delivered_at_ms: BigInt | None
    failed_at_ms: BigInt | None
    campaign_id: Id | None


# the members of a JSON object (`webhooks.parse_listeners`) of the endpoint `e` and the account `a`
_ENDPOINT: Final = """
    'account_id', a.id, 'parent_id', a.parent_id, 'endpoint_id', e.id, 'owner_id', e.account_id,
    'sandbox', e.sandbox, 'kinds', e.kinds, 'include_customers', e.include_customers,
    'disabled_at_ms', e.disabled_at_ms"""
# SQLite is asked once for all: an execution costs as much as a row. While there is no endpoint at
# all, none is looked for. PostgreSQL reads IN with columns as an OR (`hot_session_settings`).
_SHOWN: Final = """near AS (
        SELECT a.id, {endpoints} AS endpoints FROM (SELECT DISTINCT account_id FROM m
            WHERE (SELECT EXISTS (SELECT 1 FROM webhook_endpoints))) d
        JOIN accounts a ON a.id = d.account_id
        JOIN webhook_endpoints e ON e.account_id {is_near} GROUP BY a.id)
    SELECT m.id, m.send_id, m.account_id, m.sandbox, m.recipient, m.status, m.segments, m.credits,
        m.refunded, m.parts_accepted,
        m.parts_delivered, m.error_code, m.error_message, m.group_id, n.endpoints, s.type,
            s.sender, m.country_code, s.text, s.encoding,
        s.reference, s.created_at_ms, m.sent_at_ms, m.delivered_at_ms, m.failed_at_ms, g.campaign_id
    FROM m LEFT JOIN near n ON n.id = m.account_id LEFT JOIN sends s ON s.id = CASE
        WHEN n.endpoints IS NOT NULL THEN m.send_id END
    LEFT JOIN groups g ON g.id = s.group_id ORDER BY m.id"""
_LOCK_MESSAGES: Final = Statement(
    MessageIds,
    LockedMessage,
    postgresql=f"""
        WITH m AS (SELECT * FROM messages WHERE id = ANY(:ids) AND id >= :first AND id <= :last
            ORDER BY id FOR UPDATE),
        {
        _SHOWN.format(
            endpoints=f"json_agg(json_build_object({_ENDPOINT}))::text",
            is_near="= ANY(ARRAY[a.id, a.parent_id])",
        )
    }""",
    sqlite=f"""
        WITH m AS MATERIALIZED (SELECT messages.* FROM json_each(:ids) j
            JOIN messages ON messages.id = j.value),
        {
        _SHOWN.format(
            endpoints=f"json_group_array(json_object({_ENDPOINT}))",
            is_near="IN (a.id, a.parent_id)",
        )
    }""",
)


async def lock_messages(tx: HotTx, message_ids: set[str]) -> list[LockedMessage]:
    """Locks messages in the order of their ids, and returns those that there are."""
    ordered = sorted(message_ids)
    return (
        await _LOCK_MESSAGES.rows(tx, MessageIds(ordered, ordered[0], ordered[-1]))
        if ordered
        else []
    )
