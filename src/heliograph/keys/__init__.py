"""Manages API keys: who calls, what the key permits, how often it may be used, and how keys are
issued and revoked.
"""

from heliograph.keys.acting_for_customer import (
    CUSTOMER_ID_MAX,
    acting_for,
    acting_for_cached,
    country_of,
    country_of_cached,
    customer_asked_for,
)
from heliograph.keys.authenticate import Principal, authenticate
from heliograph.keys.issue import (
    RANDOM_OCTETS,
    SHOWN_LENGTH,
    ApiKey,
    find,
    is_text_of,
    issue,
    make_key,
    name_of,
    names_of,
    owners_of,
    page,
    revoke,
    revoke_all,
    text_id,
    with_text,
    written_in,
)
from heliograph.keys.last_used import STORE_EVERY_S, KeyUsage, store_usage
from heliograph.keys.permissions import ALL as ALL_PERMISSIONS
from heliograph.keys.permissions import parse_permissions
from heliograph.keys.rate_limit import Limiter, MemoryLimiter, RateAllowance
from heliograph.keys.tiers import (
    PER_MINUTE_MAX,
    add_tier,
    all_tiers,
    change_tier,
    tier_named,
    tiers_up_to,
)

__all__ = [
    "ALL_PERMISSIONS",
    "CUSTOMER_ID_MAX",
    "PER_MINUTE_MAX",
    "RANDOM_OCTETS",
    "SHOWN_LENGTH",
    "STORE_EVERY_S",
    "ApiKey",
    "KeyUsage",
    "Limiter",
    "MemoryLimiter",
    "Principal",
    "RateAllowance",
    "acting_for",
    "acting_for_cached",
    "add_tier",
    "all_tiers",
    "authenticate",
    "change_tier",
    "country_of",
    "country_of_cached",
    "customer_asked_for",
    "find",
    "is_text_of",
    "issue",
    "make_key",
    "name_of",
    "names_of",
    "owners_of",
    "page",
    "parse_permissions",
    "redis_limiter",
    "revoke",
    "revoke_all",
    "store_usage",
    "text_id",
    "tier_named",
    "tiers_up_to",
    "with_text",
    "written_in",
]
