"""A route says which carriers take the messages to which numbers. The longest prefix of digits
wins; "" is the default. Carriers with weights share what the route gets; the others stand by.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.carriers.tables import carriers, routes
from heliograph.carriers.weights import Sharing, read_weights, sharing_by_weights, write_weight
from heliograph.database import config
from heliograph.text import FIRST_DIGITS, read_prefix

# each one more is tried only when all before it have been down for a minute
CARRIERS_PER_ROUTE_MAX: Final = 8


class Route(NamedTuple):
    """Holds a route: a prefix, and the ids of the carriers in the order in which they are tried.
    `weights` are those of the first ones, which share what the route gets; the others stand by.
    """

    prefix: str
    carrier_ids: tuple[int, ...]
    weights: tuple[int, ...] = ()

    @property
    def leading(self) -> tuple[int, ...]:
        """Returns the carriers that take messages while all are up: those that share, or the first
        one.
        """
        return self.carrier_ids[: len(self.weights) or 1]

    def sharing(self, down: Container[int]) -> Sharing | None:
        """Returns who takes messages while some are down: the others that share, or the first one
        that stands by. It returns None if all are down.
        """
        up = self.without(down)
        if not up.carrier_ids:
            return None
        return sharing_by_weights(up.leading, up.weights or (1,))

    def carriers_in_text(self, names: Mapping[int, str]) -> list[str]:
        """Returns the route's carriers by name, with their weights, as `set_route` takes them."""
        weights = [*self.weights, *[None] * (len(self.carrier_ids) - len(self.weights))]
        return [
            write_weight(names[carrier_id], weight)
            for carrier_id, weight in zip(self.carrier_ids, weights, strict=True)
        ]

    def without(self, gone: Container[int]) -> "Route":
        """Returns the same route without some carriers and their weights."""
        weights = zip(self.carrier_ids, self.weights, strict=False)
        return Route(
            self.prefix,
            tuple(carrier for carrier in self.carrier_ids if carrier not in gone),
            tuple(weight for carrier, weight in weights if carrier not in gone),
        )


class Routes:
    """Holds all routes, indexed so that the route of a recipient is found quickly."""

    __slots__ = ("_by_prefix", "_lengths", "longest")

    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_prefix = {route.prefix: route for route in routes}
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix}, reverse=True)
        self.longest = max(self._lengths, default=0)  # as many digits decide

    def carriers_for(self, digits: str) -> Route | None:
        """Returns the route of a number in E.164 digits. It returns None when there is no route,
        or when all carriers of it drain.
        """
        for length in self._lengths:
            route = self._by_prefix.get(digits[:length])
            if route is not None:
                return route if route.carrier_ids else None
        return None


def all_routes(tx: Connection) -> list[Route]:
    """Returns all routes, sorted by prefix."""
    columns = routes.c
    query = sa.select(columns.prefix, columns.carrier_ids, columns.weights)
    return [_route_of_row(row) for row in tx.execute(query.order_by(columns.prefix)).all()]


def load_routes(tx: Connection) -> list[Route]:
    """Returns the routes as new messages take them: without carriers that drain. A route that
    has no carrier left still comes before shorter prefixes.
    """
    draining = set(
        tx.execute(sa.select(carriers.c.id).where(carriers.c.draining.is_(True))).scalars()
    )
    every = all_routes(tx)
    return [route.without(draining) for route in every] if draining else every


def set_route(tx: Connection, prefix: str, written: Sequence[str]) -> Route:
    """Makes or replaces the route of a prefix. Its carriers are written as `read_weights` reads
    them. Raises InvalidRequest for a prefix, a carrier or a weight that is not valid.
    """
    prefix = stored_prefix(prefix)
    names, weights = read_weights(written)
    if not 1 <= len(names) <= CARRIERS_PER_ROUTE_MAX or len(set(names)) < len(names):
        raise invalid_field(
            "carrier", f"must name 1 to {CARRIERS_PER_ROUTE_MAX} carriers, each once"
        )
    config.bump(tx)  # first: its row's lock keeps a carrier from being removed meanwhile
    ids_by_name = {
        row.name: row.id for row in tx.execute(sa.select(carriers.c.name, carriers.c.id))
    }
    if unknown := [name for name in names if name not in ids_by_name]:
        raise invalid_field(
            "carrier",
            f"must be one of {', '.join(sorted(ids_by_name))}; not {quote_value(unknown[0])}",
        )
    route = Route(prefix, tuple(ids_by_name[name] for name in names), weights)
    tx.execute(sa.delete(routes).where(routes.c.prefix == prefix))
    tx.execute(
        routes.insert().values(
            prefix=prefix,
            carrier_ids=_join_numbers(route.carrier_ids),
            weights=_join_numbers(route.weights) or None,
        )
    )
    return route


def remove_route(tx: Connection, prefix: str) -> str:
    """Removes the route of a prefix, and returns the prefix as it was stored. Raises NotFound, and
    InvalidRequest.
    """
    config.bump(tx)
    every = set(tx.execute(sa.select(routes.c.prefix)).scalars())
    prefix = stored_prefix(prefix, known=every)
    if prefix not in every:
        raise NotFound(f"There is no route for {quote_value(prefix)}.")
    tx.execute(sa.delete(routes).where(routes.c.prefix == prefix))
    return prefix


def stored_prefix(prefix: str, *, known: Container[str] = ()) -> str:
    """Returns a prefix as it is stored; "" is for all numbers that have no other. One of the
    `known` ones is meant as it stands, because earlier versions took those that begin with 0.
    Raises InvalidRequest for what no number begins with.
    """
    if not prefix or prefix in known:
        return prefix
    digits = read_prefix(prefix)
    if digits is None:
        raise invalid_field(
            "prefix", f'must be {FIRST_DIGITS}, or "" for all others; not {quote_value(prefix)}'
        )
    return digits


def _route_of_row(row: Any) -> Route:
    return Route(row.prefix, _split_numbers(row.carrier_ids), _split_numbers(row.weights))


def _join_numbers(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


@lru_cache(maxsize=1_024)  # hundreds of routes lead to the same few dozen carriers
def _split_numbers(joined: str | None) -> tuple[int, ...]:
    return tuple(map(int, joined.split(","))) if joined else ()
