"""Manages carriers for the operator, who adds, sets, drains and removes them. Their passwords are
stored encrypted.
"""

import json
import secrets
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.forms import quote_value
from heliograph.base.secrets import Keys, decrypt, encrypt
from heliograph.base.short_texts import invalid_field
from heliograph.carriers.check_settings import (
    check,
    check_given,
    check_new,
    default_of,
    of_link,
)
from heliograph.carriers.link import LinkState, Outgoing
from heliograph.carriers.routing import all_routes
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.describe_submission import DescribedSubmission, describe
from heliograph.carriers.tables import carriers
from heliograph.database import config
from heliograph.database.sealed_columns import Encrypted, SealedColumn

SIMULATOR_ID: Final = 1
SIMULATOR: Final = "simulator"  # the name of that carrier
# so long must a carrier have been down before its routes' next one is taken (docs/answers.md,
# "Carriers")
DOWN_MS: Final = 60_000
_CARRIER_ID_MAX: Final = 32_767  # of a smallint
_PURPOSE: Final = "SMPP password"
SEALED: Final = (
    SealedColumn("carrier_passwords", carriers.c.password, lambda keys: Encrypted(keys, _PURPOSE)),
)


class Carrier(NamedTuple):
    """Holds a carrier without its password. `settings` holds what differs from the defaults of
    SmppSettings, and `id_format`, `in_doubt` and `unmatched_max`.
    """

    id: int
    name: str
    type: str  # smpp, simulator
    settings: Mapping[str, Any]
    draining: bool
    state: str  # of link.LinkState
    state_detail: str
    down_since_ms: int | None
    id_format: str | None  # once learnt
    parked_read_as: str  # the format in which the receipts that found no message were last read
    created_at_ms: int
    paused: bool


_COLUMNS: Final = [carriers.c[name] for name in Carrier._fields]


def _carrier_of_row(row: sa.Row[Any]) -> Carrier:
    carrier = Carrier(**row._asdict())
    stored: Any = carrier.settings  # a text, until here
    return carrier._replace(settings=json.loads(stored))


def setting(carrier: Carrier, name: str) -> Any:
    """Returns the value that holds for a carrier: the one that was set, else the default."""
    return carrier.settings.get(name, default_of(name))


def all_carriers(tx: Connection) -> list[Carrier]:
    """Returns all carriers, sorted by name."""
    return [
        _carrier_of_row(row) for row in tx.execute(sa.select(*_COLUMNS).order_by(carriers.c.name))
    ]


def carrier_named(tx: Connection, name: str) -> Carrier:
    """Returns the carrier of this name. Raises NotFound."""
    row = None
    if "\0" not in name:  # PostgreSQL refuses a text with one
        row = tx.execute(sa.select(*_COLUMNS).where(carriers.c.name == name)).one_or_none()
    if row is None:
        raise NotFound(f"There is no carrier {quote_value(name)}.")
    return _carrier_of_row(row)


def down_carriers(tx: Connection, now_ms: int) -> frozenset[int]:
    """Returns the carriers whose messages go to the next carrier of their route: those that have
    been down for a minute, and those that are paused.
    """
    is_down = carriers.c.down_since_ms <= now_ms - DOWN_MS
    return frozenset(
        tx.execute(
            sa.select(carriers.c.id).where(sa.or_(is_down, carriers.c.paused.is_(True)))
        ).scalars()
    )


def add_carrier(
    tx: Connection,
    name: str,
    settings: Mapping[str, Any],
    password: str,
    *,
    secret_key: Keys,
    now_ms: int,
) -> Carrier:
    """Stores a new SMPP carrier. It connects at once, and gets messages once a route leads to
    it. Raises InvalidRequest.
    """
    check_new(name, settings, password)
    # first: its row's lock makes two changes of the configuration wait for each other
    config.bump(tx)
    existing = all_carriers(tx)
    if any(carrier.name == name for carrier in existing):
        raise invalid_field("name", f"must be a new name: there is already a carrier {name}")
    carrier = Carrier(
        _new_id({carrier.id for carrier in existing}),
        name,
        "smpp",
        dict(settings),
        draining=False,
        state=LinkState.CLOSED.value,
        state_detail="has not been started yet",
        down_since_ms=now_ms,
        id_format=None,
        parked_read_as="auto",
        created_at_ms=now_ms,
        paused=False,
    )
    tx.execute(
        carriers.insert().values(
            carrier._asdict()
            | {
                "settings": json.dumps(carrier.settings),
                "password": encrypt(secret_key, _PURPOSE, password),
            }
        )
    )
    return carrier


def _new_id(taken: set[int]) -> int:
    """Returns a free id, chosen at random: old messages and late receipts still name the
    carriers that were removed, and the next number would mean one of those.
    """
    return secrets.choice(
        [number for number in range(SIMULATOR_ID + 1, _CARRIER_ID_MAX + 1) if number not in taken]
    )


def set_carrier(
    tx: Connection,
    name: str,
    settings: Mapping[str, Any],
    password: str | None = None,
    *,
    secret_key: Keys,
) -> Carrier:
    """Changes the given settings, and the password if one is given; None as a value: the default
    again. Raises NotFound, InvalidRequest, SecretUnreadable.
    """
    check_given(settings, password)
    config.bump(tx)
    carrier = _smpp_carrier(tx, name)
    changed = _changed_settings(carrier, settings)
    known = password if password is not None else _password(tx, carrier, secret_key)
    check(name, changed, known)
    values: dict[str, Any] = {
        "settings": json.dumps(changed),
        "password": encrypt(secret_key, _PURPOSE, known),
    }
    if "id_format" in settings:
        values["id_format"] = None  # what was learnt under another setting is learnt anew
    tx.execute(sa.update(carriers).where(carriers.c.id == carrier.id).values(values))
    return carrier_named(tx, name)


def _changed_settings(carrier: Carrier, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a carrier once these are changed."""
    changed = {
        key: value for key, value in {**carrier.settings, **settings}.items() if value is not None
    }
    # status by status: one that is not named stays, and None is the table's reading again
    if "status_overrides" in settings:
        both = {**carrier.settings.get("status_overrides", {}), **settings["status_overrides"]}
        changed["status_overrides"] = {
            status: meaning for status, meaning in both.items() if meaning is not None
        }
    return changed


def drain_carrier(tx: Connection, name: str, draining: bool = True) -> Carrier:
    """Gives a carrier no new messages from now on, while what it has goes out. With `draining`
    False it gets them again. Raises NotFound.
    """
    config.bump(tx)
    carrier = carrier_named(tx, name)
    tx.execute(sa.update(carriers).where(carriers.c.id == carrier.id).values(draining=draining))
    return carrier._replace(draining=draining)


def pause_carrier(tx: Connection, name: str) -> Carrier:
    """Hands nothing over to a carrier from now on, while its binds stay and its receipts come in.
    What waits for it takes the next carrier of its route or, where there is none, waits. Raises
    NotFound, InvalidRequest for the simulator.
    """
    config.bump(tx)
    carrier = carrier_named(tx, name)
    if carrier.type != "smpp":
        raise InvalidRequest(f"The carrier {name} is built in: it is never paused.")
    tx.execute(sa.update(carriers).where(carriers.c.id == carrier.id).values(paused=True))
    return carrier._replace(paused=True)


def resume_carrier(tx: Connection, name: str) -> Carrier:
    """Lets a carrier that drains or is paused take messages as before. Raises NotFound."""
    config.bump(tx)
    carrier = carrier_named(tx, name)
    tx.execute(
        sa.update(carriers).where(carriers.c.id == carrier.id).values(draining=False, paused=False)
    )
    return carrier._replace(draining=False, paused=False)


def remove_carrier(tx: Connection, name: str, *, messages_waiting: int) -> Carrier:
    """Forgets a carrier. `messages_waiting` is the number that the caller found queued for it or in
    flight.

    Raises NotFound; InvalidRequest for the simulator, and while a route leads to the carrier or
    messages wait for it.
    """
    config.bump(tx)
    carrier = _smpp_carrier(tx, name)
    leading = [route.prefix or '""' for route in all_routes(tx) if carrier.id in route.carrier_ids]
    if leading:
        raise InvalidRequest(
            f"The carrier {name} still has routes: {', '.join(leading)}. Set them to another"
            " carrier, or remove them."
        )
    if messages_waiting:
        raise InvalidRequest(
            f"The carrier {name} still has {messages_waiting} messages. Let it drain first."
        )
    tx.execute(sa.delete(carriers).where(carriers.c.id == carrier.id))
    return carrier


def trial_connection(name: str, settings: Mapping[str, Any], password: str) -> SmppSettings:
    """Returns what a link needs to a carrier that is not stored. Raises InvalidRequest, as
    `add_carrier` does for the same settings.
    """
    check_new(name, settings, password)
    return SmppSettings(name=name, password=password, **of_link(settings))


def connection_settings(tx: Connection, carrier: Carrier, secret_key: Keys) -> SmppSettings:
    """Returns what a carrier's link needs. Raises SecretUnreadable when the password was stored
    under another secret key.
    """
    return SmppSettings(
        name=carrier.name, password=_password(tx, carrier, secret_key), **of_link(carrier.settings)
    )


def describe_submissions(
    carrier: Carrier, message: Outgoing, *, shows_text: bool
) -> list[DescribedSubmission]:
    """Returns the fields of the submit_sm that a message would be for an SMPP carrier. Raises
    ValueError for a text that cannot be encoded.
    """
    settings = SmppSettings(name=carrier.name, password="", **of_link(carrier.settings))
    return describe(settings, message, shows_text=shows_text)


def _smpp_carrier(tx: Connection, name: str) -> Carrier:
    carrier = carrier_named(tx, name)
    if carrier.type != "smpp":
        raise InvalidRequest(f"The carrier {name} is built in: it has no settings, and stays.")
    return carrier


def _password(tx: Connection, carrier: Carrier, secret_key: Keys) -> str:
    return decrypt(
        secret_key,
        _PURPOSE,
        tx.execute(sa.select(carriers.c.password).where(carriers.c.id == carrier.id)).scalar_one(),
    )
