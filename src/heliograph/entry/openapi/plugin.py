"""GET /account/status and the endpoints below /sitebuilder, described."""

from typing import Final

from heliograph.entry.openapi.parts import (
    EXAMPLE_AT,
    EXAMPLE_PHONE,
    Json,
    Operation,
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
from heliograph.plugin import request
from heliograph.plugin.url import URL_MAX

TAG: Final = "Site plugin"

_URL: Final = text("The site's address, http or https, without user, query and fragment. Case of the host, the scheme's own port and a slash at the "
                   "end make no difference. May be left out if the account has one site.", nullable=True, minLength=1, maxLength=URL_MAX, pattern=r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^?#@]+$")


def _line(description: str, most: int) -> Json:
    return text(description, nullable=True, minLength=1, maxLength=most)


def _object(description: str, *, nullable: bool = False) -> Json:
    """PHP writes an empty array for an empty object, so that is one too."""
    types = ["object", "array", *(["null"] if nullable else [])]
    return {"type": types, "items": {}, "maxItems": 0,
            "description": f"{description} At most {request.PAYLOAD_MAX:,} octets as JSON; an empty array is an empty object."}


_LOG_FIELDS: Final[dict[str, Json]] = {
    "site_url": _URL,
    "event": text("What happened, such as `order_completed`.", minLength=1, maxLength=request.EVENT_MAX),
    "recipient": _line("Whom the text was for.", request.RECIPIENT_MAX),
    "message_type": _line("What kind of text it was; of what begins with `otp` the text is not stored.", request.WORD_MAX),
    "status": _line("What the site takes its state for.", request.WORD_MAX),
    "source": _line("What in the site sent it.", request.SOURCE_MAX),
    "body": _line("The text.", request.BODY_MAX),
    "cost": {"type": ["number", "null"], "minimum": 0, "maximum": request.COST_MAX, "description": "What the site takes it to have cost."},
    "external_ref": _line("The entry's own id on the site: the same one is stored once.", request.REF_MAX),
    "message_id": _line("The id that the service gave the message.", request.MESSAGE_ID_MAX),
    "message": _line("Another name of `body`.", request.BODY_MAX),
    "meta": _object("Whatever else belongs to it; stored with it.", nullable=True),
}

SCHEMAS: Final[dict[str, Json]] = {
    "Site": record(
        "A site that is linked to the account.",
        id=identity("site", "The site's id."), site_url=text("Its address, in the one spelling that is stored."),
        site_name=text("Its name.", nullable=True), status=one_of(("connected",), "It is linked."), connected_at=moment("When it was first linked.")),
    "SiteForm": form(
        "A site to link.",
        site_url=_URL, site_name=_line("Its name.", request.NAME_MAX), platform=_line("Such as `woocommerce`.", request.PLATFORM_MAX),
        wp_version=_line("WordPress's version.", request.VERSION_MAX), plugin_version=_line("The plugin's.", request.VERSION_MAX),
        php_version=_line("PHP's.", request.VERSION_MAX)),
    "SiteLogForm": form("What became of a text, as the site tells it.", ("event",), **_LOG_FIELDS),
    "SiteLogsForm": form(
        "Several of them.", ("logs",),
        logs=array(ref("SiteLogForm"), "Stored all together, or none of them.", minItems=1, maxItems=request.LOGS_MAX)),
    "SiteTellingForm": {"anyOf": [ref("SiteLogsForm"), ref("SiteLogForm")]},
    "SiteEventForm": form(
        "An event of any kind.", ("event", "payload"),
        site_url=_URL, event=text("What happened.", minLength=1, maxLength=request.EVENT_MAX),
        payload=_object("Whatever belongs to it."), meta=_object("Whatever else does.", nullable=True)),
}

_SITE_EXAMPLE: Final[Json] = {"id": example_id("site"), "site_url": "https://shop.example", "site_name": "Amina's shop", "status": "connected",
                              "connected_at": EXAMPLE_AT}
_LOG_EXAMPLE: Final[Json] = {
    "site_url": "https://shop.example", "event": "order_completed", "recipient": EXAMPLE_PHONE, "message_type": "order", "status": "queued",
    "external_ref": "order-1042", "message_id": example_id("msg")}  # fmt: skip

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/account/status"): Operation(
        TAG, "Status of the account", "Credits and wallet, as a plugin shows them in a shop's settings.",
        {"type": "object", "required": ["account"], "properties": {"account": record(
            "The account whose key asks.",
            id=text("The account's id: `acc_…`, or `cus_…` of a Connect customer.", pattern="^(acc|cus)_[0-9a-hjkmnp-tv-z]{26}$"),
            name=text("Its name."), status=one_of(("active", "suspended"), "A suspended one can read, but change nothing."),
            sms_credits=integer("SMS credits left.", minimum=0), wallet_balance=money("What the wallet holds."),
            wallet_currency=text("Its currency, ISO 4217.", pattern="^[A-Z]{3}$"),
            api_key_prefix=text("How the key that asks begins."), low_balance=flag("Whether credits or money are below the account's threshold."),
            sandbox=flag("Whether a sandbox key asked. The figures are the real ones all the same."))}},
        {"account": {"id": example_id("acc"), "name": "Amina Foods", "status": "active", "sms_credits": 998, "wallet_balance": 50,
                     "wallet_currency": "GHS", "api_key_prefix": "sk_live_65c0", "low_balance": False, "sandbox": False}}),
    ("POST", "/sitebuilder/connect"): Operation(
        TAG, "Link a site", "Called when a plugin saves its key. The same `site_url` again brings the site up to date; what is not given is kept.",
        with_warnings({"type": "object", "required": ["site"], "properties": {"site": ref("Site")}}),
        {"site": _SITE_EXAMPLE}, body=ref("SiteForm"),
        body_example={"site_url": "https://shop.example", "site_name": "Amina's shop", "platform": "woocommerce", "plugin_version": "1.7.2"}),
    ("POST", "/sitebuilder/logs"): Operation(
        TAG, "Sync the log of a site",
        "One entry, or up to 100 as `logs`. An entry whose `external_ref` its site has told before is not stored again; its id is answered all the "
        "same. Entries are kept for 90 days. No `body` is stored of an entry whose `message_type` or `event` contains `otp`, in any case, nor of one "
        "whose `message_id` is of a one-time password.",
        with_warnings(one_record(record(
            "What was taken.", received=integer("How many entries came.", minimum=1, maximum=request.LOGS_MAX),
            ids=array(identity("log", "The entry's id."), "Of each entry, in the order of the request.")))),
        {"data": {"received": 1, "ids": [example_id("log")]}}, body=ref("SiteTellingForm"),
        body_example={"logs": [_LOG_EXAMPLE]}, reasons=("site_not_connected",)),
    ("POST", "/sitebuilder/events"): Operation(
        TAG, "Tell an event", "Anything else that a plugin has to tell. Kept for 90 days; no `payload` is stored of an event "
        "that contains `otp`, in any case.",
        with_warnings(one_record(record("The event.", id=identity("evt", "Its id.")))), {"data": {"id": example_id("evt")}},
        body=ref("SiteEventForm"),
        body_example={"site_url": "https://shop.example", "event": "plugin_updated", "payload": {"from": "1.7.1", "to": "1.7.2"}},
        reasons=("site_not_connected",)),
}
