"""Describes GET /account/status and the endpoints below /sitebuilder."""

from typing import Final

from heliograph.api.openapi.parts import (
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    Json,
    Operation,
    also,
    array,
    example_id,
    flag,
    form,
    identity,
    integer,
    moment,
    money,
    one_of,
    one_record,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.plugin import URL_MAX, request

TAG: Final = "Site plugin"

_URL: Final = text(
    "The site's address, http or https, without user, query and fragment. Upper and lower case in"
    " the host, a default port and a slash at the end make no difference. It may be left out if the"
    " account has exactly one site.",
    nullable=True,
    minLength=1,
    maxLength=URL_MAX,
    pattern=r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^?#@]+$",
)


def _line(description: str, most: int) -> Json:
    return text(description, nullable=True, minLength=1, maxLength=most)


def _object(description: str, *, nullable: bool = False) -> Json:
    """Describes an object. PHP writes an empty array for an empty object. That is taken too, and
    told in words only: a client has one type for it.
    """
    return {
        "type": ["object", "null"] if nullable else "object",
        "description": (
            f"{description} At most {request.PAYLOAD_MAX:,} octets as JSON. An empty array counts"
            " as an empty object."
        ),
    }


_LOG_FIELDS: Final[dict[str, Json]] = {
    "site_url": _URL,
    "event": text(
        "What happened, such as `order_completed`.", minLength=1, maxLength=request.EVENT_MAX
    ),
    "recipient": _line("The recipient of the text.", request.RECIPIENT_MAX),
    "message_type": _line(
        "The kind of text. If it contains `otp`, the text is not stored.", request.WORD_MAX
    ),
    "status": _line("The status that the site has for it.", request.WORD_MAX),
    "source": _line("The part of the site that sent it.", request.SOURCE_MAX),
    "body": also(_line("The text.", request.BODY_MAX), "message"),
    "cost": {
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": request.COST_MAX,
        "description": "The cost that the site has for it.",
    },
    "external_ref": _line(
        "The entry's own id on the site. The same id is stored once.", request.REF_MAX
    ),
    "message_id": _line("The message's id in this service.", request.MESSAGE_ID_MAX),
    "meta": _object("Any other details. They are stored with the entry.", nullable=True),
}

SCHEMAS: Final[dict[str, Json]] = {
    "Site": record(
        "A site that is linked to the account.",
        id=identity("site", "The site's id."),
        site_url=text("The site's address, as it is stored."),
        site_name=text("The site's name.", nullable=True),
        status=one_of(("connected",), "Always `connected`."),
        connected_at=moment("When the site was first linked."),
    ),
    "SiteForm": form(
        "A site to link.",
        site_url=_URL,
        site_name=_line("The site's name.", request.NAME_MAX),
        platform=_line("The shop software, such as `woocommerce`.", request.PLATFORM_MAX),
        wp_version=_line("The version of WordPress.", request.VERSION_MAX),
        plugin_version=_line("The version of the plugin.", request.VERSION_MAX),
        php_version=_line("The version of PHP.", request.VERSION_MAX),
    ),
    "SiteLogForm": form("An entry of a site's log.", ("event",), **_LOG_FIELDS),
    "SiteLogsForm": form(
        "Several entries of a site's log.",
        ("logs",),
        logs=array(
            ref("SiteLogForm"),
            "The entries. Either all of them are stored, or none.",
            minItems=1,
            maxItems=request.LOGS_MAX,
        ),
    ),
    "SiteTellingForm": {"anyOf": [ref("SiteLogsForm"), ref("SiteLogForm")]},
    "SiteEventForm": form(
        "An event of any kind.",
        ("event", "payload"),
        site_url=_URL,
        event=text("What happened.", minLength=1, maxLength=request.EVENT_MAX),
        payload=_object("Any details of the event."),
        meta=_object("Any other details. They are stored with the event.", nullable=True),
    ),
}

_SITE_EXAMPLE: Final[Json] = {
    "id": example_id("site"),
    "site_url": "https://shop.example",
    "site_name": "Amina's shop",
    "status": "connected",
    "connected_at": EXAMPLE_AT,
}
_LOG_EXAMPLE: Final[Json] = {
    "site_url": "https://shop.example",
    "event": "order_completed",
    "recipient": EXAMPLE_PHONE,
    "message_type": "order",
    "status": "queued",
    "external_ref": "order-1042",
    "message_id": example_id("msg"),
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/account/status"): Operation(
        TAG,
        "Status of the account",
        "Shows credits and wallet, for a plugin's settings page.",
        {
            "type": "object",
            "required": ["account"],
            "properties": {
                "account": record(
                    "The account whose key asks.",
                    id=text(
                        "The account's id: `acc_…`, or `cus_…` of a Connect customer.",
                        pattern="^(acc|cus)_[0-9a-hjkmnp-tv-z]{26}$",
                    ),
                    name=text("The account's name."),
                    status=one_of(
                        ("active", "suspended"),
                        "A `suspended` account can read, but change nothing.",
                    ),
                    sms_credits=integer("SMS credits left.", minimum=0),
                    wallet_balance=money("The wallet's balance."),
                    wallet_currency=text("The wallet's currency, ISO 4217.", pattern="^[A-Z]{3}$"),
                    api_key_prefix=text("The first characters of the key that asks."),
                    low_balance=flag("True if credits or money are below the account's threshold."),
                    sandbox=flag(
                        "True if a sandbox key asked. The figures are the real ones all the same."
                    ),
                )
            },
        },
        {
            "account": {
                "id": example_id("acc"),
                "name": "Amina Foods",
                "status": "active",
                "sms_credits": 998,
                "wallet_balance": 50,
                "wallet_currency": "GHS",
                "api_key_prefix": "sk_live_65c0",
                "low_balance": False,
                "sandbox": False,
            }
        },
    ),
    ("POST", "/sitebuilder/connect"): Operation(
        TAG,
        "Link a site",
        "A plugin calls this when it saves its key. The same `site_url` again updates the site."
        " Fields that are not given are kept.",
        with_warnings(
            {"type": "object", "required": ["site"], "properties": {"site": ref("Site")}}
        ),
        {"site": _SITE_EXAMPLE},
        body=ref("SiteForm"),
        body_example={
            "site_url": "https://shop.example",
            "site_name": "Amina's shop",
            "platform": "woocommerce",
            "plugin_version": "1.7.2",
        },
    ),
    ("POST", "/sitebuilder/logs"): Operation(
        TAG,
        "Sync the log of a site",
        "Stores one entry, or up to 100 as `logs`. If the site has sent an entry with the same"
        " `external_ref` before, the entry is not stored again, and the answer holds the first"
        " one's id. Entries are kept for 90 days. If `message_type` or `event` contains `otp`, in"
        " any case, or `message_id` belongs to a one-time password, the `body` is not stored.",
        with_warnings(
            one_record(
                record(
                    "The entries that were received.",
                    received=integer("How many entries came.", minimum=1, maximum=request.LOGS_MAX),
                    ids=array(
                        identity("log", "The entry's id."),
                        "The id of each entry, in the order of the request.",
                    ),
                )
            )
        ),
        {"data": {"received": 1, "ids": [example_id("log")]}},
        body=ref("SiteTellingForm"),
        body_example={"logs": [_LOG_EXAMPLE]},
        reasons=("site_not_connected",),
    ),
    ("POST", "/sitebuilder/events"): Operation(
        TAG,
        "Store an event",
        "Stores any other event of a plugin for 90 days. If the event's name contains `otp`, in any"
        " case, its `payload` is not stored.",
        with_warnings(one_record(record("The event.", id=identity("evt", "The event's id.")))),
        {"data": {"id": example_id("evt")}},
        body=ref("SiteEventForm"),
        body_example={
            "site_url": "https://shop.example",
            "event": "plugin_updated",
            "payload": {"from": "1.7.1", "to": "1.7.2"},
        },
        reasons=("site_not_connected",),
    ),
}
