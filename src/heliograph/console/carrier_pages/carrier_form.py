"""Reads the form of a new carrier."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from heliograph.base.addresses import PORT_MAX
from heliograph.base.errors import InvalidRequest
from heliograph.base.forms import Form
from heliograph.portal.filled_form import body_of, with_numbers
from heliograph.portal.page_request import PageRequest

ADDED_ANYWAY: Final = "added_anyway"  # the box that adds a carrier which cannot be bound now
SAVED_ANYWAY: Final = "saved_anyway"  # the box that changes one which cannot be bound then
NUMBERS: Final = ("port", "binds", "window", "tps")
FIELDS: Final = (*NUMBERS, "host", "system_id", "system_type", "tls")
COUNT_MAX: Final = 10_000  # the carrier's own rules are tighter
TPS_MAX: Final = 100_000
TEXT_MAX: Final = 255


class FilledCarrier(NamedTuple):
    """Holds what the form of a new carrier says, before the rules of carriers have judged it."""

    name: str
    settings: Mapping[str, Any]
    password: str


def read_carrier(request: PageRequest) -> FilledCarrier:
    """Returns what was filled in. Raises InvalidRequest for fields that are missing or no
    numbers.
    """
    body = body_of(request)
    # its spaces belong to a password, so it is taken as it was typed
    return FilledCarrier(
        body.get("name", ""), _settings(body), request.sent.form.get("password", "")
    )


def _settings(body: dict[str, str]) -> dict[str, Any]:
    form = Form(with_numbers({name: body[name] for name in FIELDS if name in body}, *NUMBERS))
    read: dict[str, Any] = {
        "host": form.text("host", required=True, most=TEXT_MAX),
        "port": form.integer("port", required=True, least=1, most=PORT_MAX),
        "system_id": form.text("system_id", required=True, most=TEXT_MAX),
        "binds": form.integer("binds", least=1, most=COUNT_MAX),
        "window": form.integer("window", least=1, most=COUNT_MAX),
        "tps": form.integer("tps", least=0, most=TPS_MAX),
        "system_type": form.text("system_type", most=TEXT_MAX),
        "tls": form.text("tls", most=TEXT_MAX),
    }
    if form.errors:
        raise InvalidRequest("Fields of the carrier are wrong.", fields=form.errors)
    read["tls"] = None if read["tls"] is None else True
    return {name: value for name, value in read.items() if value is not None}
