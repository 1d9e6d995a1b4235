"""Pages are made of Jinja templates. What a page shows is escaped, whoever wrote it."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Final

import jinja2
from starlette.responses import HTMLResponse, Response, StreamingResponse

from heliograph.base.clock import rfc3339
from heliograph.portal.page_request import TOKEN_FIELD, PageRequest
from heliograph.wallet import to_text

# A page runs no script but files of this site, none of which evaluates text.
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; font-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # with no-referrer, a form of this site would come with the Origin "null"
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}
SEE_OTHER: Final = 303
MEDIA_TYPES: Final = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
YEAR_S: Final = 31_536_000
MINUTE_S: Final = 60
HOUR_S: Final = 3_600
DAY_S: Final = 86_400
DAYS_COUNTED_MAX: Final = 7
MINUS: Final = "\N{MINUS SIGN}"  # as wide as a plus


class Download(StreamingResponse):
    """A file of this name, made piece by piece while it is sent. Until a piece has text in it, what
    goes wrong is told by a page instead.
    """

    def __init__(self, name: str, pieces: Iterator[str]) -> None:
        super().__init__(
            (),
            headers={**HEADERS, "content-disposition": f'attachment; filename="{name}"'},
            media_type="text/csv",
        )
        self.pieces = pieces


def page(template: str, asking: PageRequest, *, status: int = 200, **values: Any) -> Response:
    """Returns the page that a template makes of these values."""
    text = (
        _environment()
        .get_template(template)
        .render(
            form_token=asking.form_token,
            token_field=TOKEN_FIELD,
            now_ms=asking.now_ms,
            style=_address("portal.css"),
            script=_address("portal.js"),
            passkey_script=_address("passkeys.js"),
            icon=_address("icon.svg"),
            htmx=_address("htmx.js"),
            **values,
        )
    )
    return HTMLResponse(text, status, HEADERS)


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Returns the files that pages load, each with its media type, by a name that has a hash of
    what is in it. So a browser may keep one for a year.
    """
    found = {}
    ours = resources.files(__package__).joinpath("static")
    built = ours.joinpath("built")
    if not built.is_dir():
        raise FileNotFoundError("static/built is missing: `make install` makes it")
    for file in (*ours.iterdir(), *built.iterdir()):
        if not file.is_file():
            continue
        content = file.read_bytes()
        stem, _, ending = file.name.rpartition(".")
        name = f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}"
        found[name] = content, MEDIA_TYPES[ending]
    return found


def static_file(name: str) -> Response | None:
    """Returns one of these files, or None."""
    file = static_files().get(name)
    if file is None:
        return None
    content, media_type = file
    return Response(
        content,
        headers={
            "cache-control": f"public, max-age={YEAR_S}, immutable",
            "x-content-type-options": "nosniff",
        },
        media_type=media_type,
    )


@cache
def _address(file: str) -> str:
    stem, _, ending = file.rpartition(".")
    return next(
        f"/portal/static/{name}"
        for name in static_files()
        if name.startswith(f"{stem}.") and name.endswith(f".{ending}")
    )


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(str(__package__), "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "rfc3339": rfc3339,
        "grouped": _grouped,
        "signed": _signed,
        "signed_money": _signed_money,
        "entry_words": _entry_words,
        "signed_percent": _signed_percent,
        "ago": _ago,
        "money": to_text,
    }
    environment.globals["icons"] = _address("icons.svg")
    return environment


def _grouped(number: int) -> str:
    """Returns a number with thin spaces between thousands, which no line breaks at."""
    return f"{number:,}".replace(",", "\u202f")


def _signed(number: int) -> str:
    """Returns a change with its sign."""
    sign = "+" if number > 0 else MINUS if number < 0 else ""
    return f"{sign}{_grouped(abs(number))}"


def _signed_money(minor: int, currency: str) -> str:
    """Returns a change of money with its sign."""
    return f"{'+' if minor > 0 else MINUS}{to_text(abs(minor), currency)}"


def _entry_words(entry_type: str) -> str:
    """Returns what a type of a ledger entry is to a reader, such as `SMS charge`."""
    words = entry_type.replace("_", " ").replace("sms", "SMS").replace("topup", "top-up")
    return words[0].upper() + words[1:]


def _signed_percent(part: float) -> str:
    """Returns by how much something has changed, such as `+12 %`."""
    percent = round(part * 100)
    sign = "+" if percent > 0 else "\u2212" if percent < 0 else "\u00b1"
    return f"{sign}{_grouped(abs(percent))}\u00a0%"


def _ago(at_ms: int, now_ms: int) -> str:
    """Returns how long ago a moment was, such as `3 min ago`; after a week, its day."""
    past_s = max(0, now_ms - at_ms) // 1_000
    if past_s < MINUTE_S:
        return "just now"
    if past_s < HOUR_S:
        return f"{past_s // MINUTE_S} min ago"
    if past_s < DAY_S:
        return f"{past_s // HOUR_S} h ago"
    days = past_s // DAY_S
    if days <= DAYS_COUNTED_MAX:
        return f"{days} day{'s' * (days > 1)} ago"
    return rfc3339(at_ms)[: len("2026-01-31")]
