"""Every column that holds a text of somebody else is among those that pages are shown with hostile
texts in, so that a column that is added later is thought of, too.
"""

from typing import Final

import sqlalchemy as sa

from heliograph.database.database import RawId, metadata
from tests.support.console import shown_things
from tests.support.portal.shown_texts import (
    FROM_OUTSIDE,
    OF_ACCOUNTS,
    OF_RECORDS,
    OTHER_SIDE,
)

# words, codes and numbers that this service has chosen itself, or checks by a list or a pattern
_OURS: Final = {
    *("action", "author_kind", "by_kind", "decision", "disabled_reason", "encoding", "error_code"),
    *("alphabet", "id_format", "kind", "kinds", "language", "media_type", "opt_out_scope"),
    *("outcome", "parked_read_as", "permissions", "receipt_state", "role", "state", "status"),
    *("status_reason", "tier", "max_tier", "type", "subject", "what", "readable_by"),
    *("countries", "country_code", "currency", "time_zone", "destination", "digits", "prefix"),
    *("carrier_ids", "weights", "phone", "retry_after", "exceptions", "lines", "columns"),
    *("sent", "verified", "best", "sent_at_ms", "waived", "figures", "folded", "skeleton"),
}
# what no page shows as it is: secrets, hashes, keys of a search
_HIDDEN: Final = {
    *("argon2", "former", "former_secret", "password", "sealed", "secret", "secret_keys"),
    *("searched", "path", "key", "home"),
}
# of these tables, because a column of the same name says something else in another one
_BY_TABLE: Final = {
    "alert_tellings": {"event": "a word of ours"},
    "campaign_recipients": {"text": "a campaign's text, filled in: shown as its messages"},
    "carriers": {
        "name": "letters, digits and . _ -, for it is a part of addresses",
        "settings": "a host, a port and the like, each checked by a pattern",
    },
    "idempotency_keys": {"answer": "a program gets it, and no page"},
    "inbound": {"sender": "a phone, by which its page is found"},
    "inbound_parts": {"sender": "shown when the text is whole", "recipient": "the same"},
    "keywords": {"keyword": "no page shows keywords", "reply": "it becomes a text"},
    "link_requests": {"email": "no page shows who asked for a link"},
    "notices": {"text": "no page shows it"},
    "portal_views": {"email": "of an operator, as in the log", "account": "an id"},
    "site_events": {"payload": "JSON, in test_hostile_details", "meta": "no page shows it"},
    "site_logs": dict.fromkeys(("message_type", "source", "external_ref", "meta"), "not shown"),
    "suppressions": {"source": "a word of ours"},
    "tiers": {"name": "an operator's command names it, with letters and digits"},
    "unmatched_receipts": {"receipt_state": "a word of ours"},
    # tests give JSON to these beside their other columns
    "campaigns": {"audience": "JSON, in test_hostile_details"},
    "contact_imports": {"told": "JSON", "why": "of one that was stopped"},
    "contacts": {"tags": "JSON", "custom": "JSON"},
}


def test_every_text_of_others_stands_on_pages_as_a_hostile_one() -> None:
    shown = {
        (table.name, name)
        for lists in (OF_ACCOUNTS, OF_RECORDS, FROM_OUTSIDE, shown_things.SHOWN)
        for table, names in lists.items()
        for name in names
    } | {(column.table.name, column.name) for column in OTHER_SIDE}
    stored = {
        (table.name, column.name)
        for table in metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, sa.String) and not isinstance(column.type, RawId)
    }
    others = {(table, name) for table, names in _BY_TABLE.items() for name in names}
    left = {(table, name) for table, name in stored if name not in _OURS | _HIDDEN}
    assert left - shown - others == set()
    assert others <= stored
    assert {name for _, name in stored} >= _OURS | _HIDDEN, "a name that no table has any more"
