"""A rate tier says how many requests a minute a key may make (docs/api.md, "Rate limits")."""

import re
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.forms import quote_value
from heliograph.base.near_names import nearest_names
from heliograph.base.short_texts import invalid_field
from heliograph.database import config
from heliograph.database.reads import records_of
from heliograph.keys.tables import tiers

PER_MINUTE_MAX: Final = 10_000_000  # more than one installation answers: as good as no limit
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)


class Tier(NamedTuple):
    name: str
    per_minute: int


class TierChange(NamedTuple):
    """Holds a tier as it is stored now, and how many requests a minute it allowed before. That is
    None for a tier that was added, and the same figure if nothing has changed.
    """

    tier: Tier
    per_minute_before: int | None


def all_tiers(tx: Connection) -> list[Tier]:
    """Returns all tiers, the slowest first."""
    return records_of(
        Tier,
        tx.execute(
            sa.select(tiers.c.name, tiers.c.per_minute).order_by(tiers.c.per_minute, tiers.c.name)
        ),
    )


def tier_named(tx: Connection, name: str) -> Tier:
    """Returns the tier of this name. Raises InvalidRequest, naming the tiers there are."""
    known = all_tiers(tx)
    for tier in known:
        if tier.name == name:
            return tier
    raise invalid_field(
        "tier", f"must be one of {', '.join(tier.name for tier in known)}; not {quote_value(name)}"
    )


def tiers_up_to(tx: Connection, highest: str) -> list[Tier]:
    """Returns the tiers that the users of an account may choose whose highest one is this, the
    slowest first (docs/api.md, "Rate limits").
    """
    most = tier_named(tx, highest).per_minute
    return [tier for tier in all_tiers(tx) if tier.per_minute <= most]


def add_tier(tx: Connection, name: str, per_minute: int) -> TierChange:
    """Adds a tier. If there is one that allows the same, it stays as it is. Raises InvalidRequest
    if there is one that allows something else.
    """
    if not _NAME.fullmatch(name):
        raise invalid_field(
            "tier", f"must have 1 to 32 of a-z, 0-9, - and _, not {quote_value(name)}"
        )
    _check(per_minute)
    # first: its row's lock makes two changes of the configuration wait for each other
    config.bump(tx)
    before = {tier.name: tier.per_minute for tier in all_tiers(tx)}.get(name)
    if before not in (None, per_minute):
        raise invalid_field(
            "tier", f"is there already, with {before} requests a minute: change that one"
        )
    if before is None:
        tx.execute(tiers.insert().values(name=name, per_minute=per_minute))
    return TierChange(Tier(name, per_minute), before)


def change_tier(tx: Connection, name: str, per_minute: int) -> TierChange:
    """Changes what a tier allows; its keys follow at once. Raises InvalidRequest, which names the
    tiers there are and the one that was probably meant.
    """
    _check(per_minute)
    config.bump(tx)  # first, as above
    known = {tier.name: tier.per_minute for tier in all_tiers(tx)}
    if name not in known:
        near = " or ".join(nearest_names(name, known))
        raise invalid_field(
            "tier",
            f"must be one of {', '.join(known)}; not {quote_value(name)}."
            f"{f' Did you mean {near}?' if near else ''} A new tier has to be added first",
        )
    tx.execute(sa.update(tiers).where(tiers.c.name == name).values(per_minute=per_minute))
    return TierChange(Tier(name, per_minute), known[name])


def _check(per_minute: int) -> None:
    if not 1 <= per_minute <= PER_MINUTE_MAX:
        raise invalid_field("per_minute", f"must be from 1 to {PER_MINUTE_MAX}, not {per_minute}")
