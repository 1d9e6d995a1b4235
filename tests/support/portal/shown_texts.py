"""Lists the columns whose texts are not this service's own, by the tests that show hostile texts in
them on pages of the portal.
"""

from typing import Final

import sqlalchemy as sa

from heliograph.accounts.tables import accounts, audit_log, customers
from heliograph.campaigns.tables import campaigns
from heliograph.contacts.tables import contact_imports, contacts, opt_out_changes
from heliograph.inbound.tables import inbound
from heliograph.keys.tables import api_keys
from heliograph.messages.tables import messages, rollups, sends
from heliograph.opt_outs.tables import suppressions
from heliograph.plugin.tables import site_events, site_logs, sites
from heliograph.requests.tables import request_log
from heliograph.senders.tables import sender_documents, senders
from heliograph.users.tables import invitations, passkeys, sign_ups, user_sessions, users
from heliograph.webhooks.tables import (
    webhook_attempts,
    webhook_deliveries,
    webhook_endpoints,
    webhook_events,
)

# what accounts have, in lists: test_hostile_texts.py
OF_ACCOUNTS: Final[dict[sa.Table, tuple[str, ...]]] = {
    accounts: ("name",),
    users: ("email",),
    contacts: ("name", "email"),
    opt_out_changes: ("by_name",),
    campaigns: ("name", "sender", "text"),
    api_keys: ("name",),
    customers: ("label", "external_ref", "email"),
    sites: ("site_name", "platform", "wp_version", "plugin_version", "php_version"),
    senders: ("purpose", "rejection_reason"),
    audit_log: ("author_name", "detail", "record"),
}

# what a page of a record shows of it: test_hostile_details.py
OF_RECORDS: Final[dict[sa.Table, tuple[str, ...]]] = {
    accounts: ("name",),
    campaigns: ("name", "sender", "text"),
    customers: ("label", "external_ref", "email"),
    messages: ("error_message",),
    sends: ("reference", "sender"),  # a text decides its encoding and segments: the test sends some
    site_events: ("event",),
    site_logs: ("event", "recipient", "status", "body", "message_id"),
    sites: ("site_name", "site_url", "platform", "wp_version", "plugin_version", "php_version"),
    webhook_attempts: ("reason", "answer"),
    webhook_deliveries: ("answer",),
    webhook_endpoints: ("url",),
}

# what was said from outside: test_hostile_from_outside.py
FROM_OUTSIDE: Final[dict[sa.Table, tuple[str, ...]]] = {
    api_keys: ("name", "prefix"),
    contact_imports: ("by_name",),  # and what it tells, which is JSON
    inbound: ("text", "keyword"),
    invitations: ("email",),
    passkeys: ("name",),
    rollups: ("sender",),
    request_log: ("method", "endpoint", "code", "reason"),
    sender_documents: ("name",),
    senders: ("sender",),
    sends: ("text",),
    sign_ups: ("email", "company", "country_code", "currency"),
    user_sessions: ("seen_by",),
    webhook_attempts: ("reason", "answer"),
    webhook_endpoints: ("url",),
    webhook_events: ("kind", "body"),
}

# from what a phone hears, and to what it writes: a page compares them
OTHER_SIDE: Final = (sends.c.sender, inbound.c.recipient, suppressions.c.sender)
