"""Reads the bodies of the plugin's endpoints, and checks their form. It needs no database."""

import math
from functools import partial
from typing import Any, Final, NamedTuple

from heliograph.base.errors import FieldError
from heliograph.base.forms import BadParts, Form, as_text, quote_value, text_reader
from heliograph.base.json import encode
from heliograph.base.short_texts import one_line
from heliograph.base.unknown_fields import SITE
from heliograph.plugin.logs import ReportedEntry
from heliograph.plugin.site import SiteDetails
from heliograph.plugin.url import site_url

LOGS_MAX: Final = 100  # in one request (docs/api.md, "Site plugin")
PAYLOAD_MAX: Final = 64 * 1_024  # octets of JSON
NAME_MAX: Final = 128
PLATFORM_MAX: Final = 64
VERSION_MAX: Final = 32
EVENT_MAX: Final = 64
RECIPIENT_MAX: Final = 32
WORD_MAX: Final = 32  # message_type, status
SOURCE_MAX: Final = 64
BODY_MAX: Final = 5_000  # characters: more than ten segments hold
REF_MAX: Final = 128
MESSAGE_ID_MAX: Final = 64
COST_MAX: Final = 1e9
WARNINGS_MAX: Final = 20

_LOG_LINES: Final = {
    "recipient": RECIPIENT_MAX,
    "message_type": WORD_MAX,
    "status": WORD_MAX,
    "source": SOURCE_MAX,
    "external_ref": REF_MAX,
    "message_id": MESSAGE_ID_MAX,
}


class LinkSiteRequest(NamedTuple):
    site_url: str | None  # left out: the only site of the account; so below
    about: SiteDetails
    warnings: list[str]


class LogsRequest(NamedTuple):
    logs: list[ReportedEntry]
    warnings: list[str]


class SiteEventRequest(NamedTuple):
    site_url: str | None
    event: str
    payload: str  # JSON
    meta: str | None  # JSON
    warnings: list[str]


def _form(body: dict[str, Any]) -> Form:
    """Returns the form of a body. Without `site_url` it is about the account's only site, so a
    site that is named otherwise is not ignored.
    """
    return Form(body, costly=() if body.get("site_url") else (SITE,))


def read_link_site_request(body: dict[str, Any]) -> LinkSiteRequest:
    """Reads the body of a request that links a site. Raises InvalidRequest for all bad fields
    together.
    """
    form = _form(body)
    url = form.value("site_url", read=_site_url)
    about = SiteDetails(
        _line(form, "site_name", NAME_MAX),
        _line(form, "platform", PLATFORM_MAX),
        *(
            _line(form, name, VERSION_MAX)
            for name in ("wp_version", "plugin_version", "php_version")
        ),
    )
    form.finish()
    return LinkSiteRequest(url, about, form.warnings())


def read_logs_request(body: dict[str, Any]) -> LogsRequest:
    """Reads one log entry, or `{"logs": [...]}`. Raises InvalidRequest for all bad fields
    together.
    """
    form = Form(body)
    warnings: list[str] = []
    entries = (
        [_entry(form)]
        if body.get("logs") is None
        else form.value("logs", read=partial(_many, warnings)) or []
    )
    form.finish()
    return LogsRequest(entries, [*form.warnings(), *warnings[:WARNINGS_MAX]])


def read_site_event_request(body: dict[str, Any]) -> SiteEventRequest:
    """Reads the body of a request that reports an event of a site. Raises InvalidRequest for all
    bad fields together.
    """
    form = _form(body)
    url = form.value("site_url", read=_site_url)
    event = _line(form, "event", EVENT_MAX, required=True)
    payload = form.value("payload", read=_object, required=True)
    meta = form.value("meta", read=_object)
    form.finish()
    assert event is not None
    assert payload is not None
    return SiteEventRequest(url, event, payload, meta, form.warnings())


def _many(warnings: list[str], value: Any) -> list[ReportedEntry]:
    if not isinstance(value, list) or not 1 <= len(value) <= LOGS_MAX:
        raise ValueError(
            f"must be an array of 1 to {LOGS_MAX} log entries, not"
            f" {quote_value(value) if not isinstance(value, list) else len(value)}"
        )
    entries: list[ReportedEntry] = []
    bad: list[FieldError] = []
    for place, item in enumerate(value):
        if not isinstance(item, dict):
            bad.append(FieldError(f"[{place}]", f"must be an object, not {quote_value(item)}"))
            continue
        form = Form(item)
        entries.append(_entry(form))
        form.refuse_costly()
        bad += [FieldError(f"[{place}].{error.field}", error.message) for error in form.errors]
        warnings += [
            warning.replace("unknown field", f"logs[{place}]: unknown field", 1)
            for warning in form.warnings()
        ]
    if bad:
        raise BadParts(bad)
    return entries


def _entry(form: Form) -> ReportedEntry:
    """Returns the entry of a form. When the form has errors, the entry is not to be used."""
    url = form.value("site_url", read=_site_url)
    event = _line(form, "event", EVENT_MAX, required=True)
    lines = {name: _line(form, name, most) for name, most in _LOG_LINES.items()}
    body = form.text("body", "message", most=BODY_MAX)
    cost = form.value("cost", read=_cost)
    meta = form.value("meta", read=_object)
    return ReportedEntry(url, event or "", body=body, cost=cost, meta=meta, **lines)


def _line(form: Form, name: str, most: int, *, required: bool = False) -> str | None:
    return form.value(
        name, read=text_reader(lambda text: one_line(name, text, most=most)), required=required
    )


def _site_url(value: Any) -> str:
    return site_url(as_text(value))


def _cost(value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (math.isfinite(value) and 0 <= value <= COST_MAX)
    ):
        raise ValueError(f"must be a number from 0 to {COST_MAX:.0f}, not {quote_value(value)}")
    return float(value)


def _object(value: Any) -> str:
    """Returns an object as JSON. PHP writes an empty array for an empty object."""
    if value == []:
        return "{}"
    if not isinstance(value, dict):
        raise ValueError(f"must be an object, not {quote_value(value)}")
    encoded = encode(value)
    if len(encoded) > PAYLOAD_MAX:
        raise ValueError(f"must have at most {PAYLOAD_MAX} octets as JSON, not {len(encoded)}")
    return encoded.decode()
