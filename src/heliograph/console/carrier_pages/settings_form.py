"""Reads the form of a carrier's settings, and fills it in with those that it has."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from heliograph import carriers
from heliograph.base.addresses import PORT_MAX
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Form
from heliograph.carriers import Carrier, check_settings
from heliograph.console.carrier_pages.carrier_form import COUNT_MAX, TEXT_MAX, TPS_MAX
from heliograph.portal.filled_form import WAS_TYPED, body_of, with_numbers
from heliograph.portal.page_request import PageRequest

NUMBERS: Final = ("port", "binds", "window", "tps", "unmatched_max")
TEXTS: Final = ("host", "system_id", "system_type")
PAIRS: Final = ("source_ton_npi", "dest_ton_npi")
FIELDS: Final = (*TEXTS, *NUMBERS, *PAIRS, *check_settings.CHOICES, "tls", "status")
UNMATCHED_MAX: Final = 1_000_000_000  # the carrier's own rule is tighter
# what a trial tries: when none of them changes, nobody is called
OF_BIND: Final = frozenset(("host", "port", "system_id", "tls", "system_type", "bind"))
FROM_SENDER: Final = "auto"  # a pair that follows from the sender's form

NOT_KEPT: Final = (
    "was typed before, and is not shown again: type it again, or open this page anew to keep the"
    " stored one"
)


class FilledSettings(NamedTuple):
    """Holds the settings that a form changes, before the rules of carriers have judged them: None
    is the default again. `password` is None when it stays.
    """

    settings: Mapping[str, Any]
    password: str | None

    @property
    def is_for_bind(self) -> bool:
        """Returns whether something changes that the carrier is asked for when we bind."""
        return self.password is not None or not OF_BIND.isdisjoint(self.settings)


def read_changes(request: PageRequest, carrier: Carrier) -> FilledSettings:
    """Returns what the form changes of a carrier. Raises InvalidRequest for fields that are missing
    or cannot be read.
    """
    body = body_of(request)
    form = Form(with_numbers({name: body[name] for name in FIELDS if name in body}, *NUMBERS))
    most = {"port": PORT_MAX, "unmatched_max": UNMATCHED_MAX}
    wanted: dict[str, Any] = {
        name: form.text(name, required=name != "system_type", most=TEXT_MAX) for name in TEXTS
    }
    wanted |= {
        name: form.integer(name, required=name == "port", least=1, most=most.get(name, COUNT_MAX))
        for name in ("port", "binds", "window", "unmatched_max")
    }
    wanted["tps"] = form.value("tps", read=_rate)
    wanted |= {name: form.value(name, read=_pair) for name in PAIRS}
    wanted |= {name: form.text(name, most=TEXT_MAX) for name in check_settings.CHOICES}
    wanted["tls"] = form.text("tls", most=TEXT_MAX) is not None
    statuses = form.value("status", read=_statuses) or {}
    # its spaces belong to a password, so it is taken as it was typed
    password = request.sent.form.get("password") or None
    if password is None and WAS_TYPED in body:
        form.errors.append(FieldError("password", NOT_KEPT))
    if form.errors:
        raise InvalidRequest("Fields of the carrier are wrong.", fields=form.errors)
    changed = {
        name: value
        for name, value in wanted.items()
        if _plain(_default(carrier, name) if value is None else value) != _value(carrier, name)
    }
    if statuses != (known := _known_statuses(carrier)):
        changed["status_overrides"] = {**dict.fromkeys(known), **statuses}
    return FilledSettings(changed, password)


def filled_with(carrier: Carrier) -> dict[str, str]:
    """Returns the fields of the form as they are shown before anybody has typed."""
    filled = {
        name: _text(_value(carrier, name)) for name in FIELDS if name not in ("tls", "status")
    }
    if carriers.setting(carrier, "tls"):
        filled["tls"] = "yes"
    filled["status"] = ", ".join(
        f"{status}={meaning}" for status, meaning in sorted(_known_statuses(carrier).items())
    )
    return filled


def exact(carrier: Carrier) -> str:
    """Returns the settings as the form says that it has shown them."""
    return json.dumps(carrier.settings, sort_keys=True)


def in_words(carrier: Carrier, names: Mapping[str, Any]) -> str:
    """Returns these settings of a carrier as the log holds them, such as `tps: 50, window: 20`."""
    said = {
        name: filled_with(carrier)["status"]
        if name == "status_overrides"
        else _text(_value(carrier, name))
        for name in names
    }
    return ", ".join(f"{name}: {value or 'none'}" for name, value in said.items())


def _value(carrier: Carrier, name: str) -> Any:
    return _plain(carriers.setting(carrier, name))


def _default(carrier: Carrier, name: str) -> Any:
    return carriers.setting(carrier._replace(settings={}), name)


def _known_statuses(carrier: Carrier) -> dict[str, str]:
    return dict(carrier.settings.get("status_overrides", {}))


def _plain(value: Any) -> Any:
    """Returns a pair as JSON has it, and anything else as it is."""
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _rate(value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= TPS_MAX:
        raise ValueError(f"must be a number from 0, which is not a limit, to {TPS_MAX}")
    return value


def _pair(value: Any) -> list[int] | None:
    text = str(value).replace(" ", "")
    return None if text == FROM_SENDER else check_settings.read_ton_npi(text)


def _statuses(value: Any) -> dict[str, str]:
    """Reads statuses with their meanings, with commas or spaces between them."""
    read = [
        check_settings.read_status_meaning(text) for text in str(value).replace(",", " ").split()
    ]
    return {status: meaning for status, meaning in read if meaning is not None}
