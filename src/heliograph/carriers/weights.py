"""Shares what a route gets among its carriers, in proportion to their weights. It is pure: which
carrier gets a number or a run follows from its digits alone.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Final, NamedTuple

from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field

WEIGHT_MAX: Final = 100  # so that weights can be percent
_WEIGHT: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_MARK: Final = ":"  # between a carrier's name, which has none, and its weight


class Sharing(NamedTuple):
    """Holds carriers that share messages. `bounds` are their weights added up: the first carrier
    has the places below the first bound, the next one those up to the next bound.
    """

    carrier_ids: tuple[int, ...]
    bounds: tuple[int, ...]

    @property
    def weights(self) -> dict[int, int]:
        """Returns the weight of each carrier."""
        below = (0, *self.bounds)
        return {
            carrier_id: bound - least
            for carrier_id, bound, least in zip(self.carrier_ids, self.bounds, below, strict=False)
        }

    def carrier_of(self, number: int) -> int:
        """Returns the carrier that a number falls to. Of many numbers, however close they are to
        each other, each carrier has a part in proportion to its weight.
        """
        mixed = blake2b(b"%d" % number, digest_size=8).digest()
        place = int.from_bytes(mixed, "big") % self.bounds[-1]
        return self.carrier_ids[bisect_right(self.bounds, place)]


class NamedWeights(NamedTuple):
    """Holds the names of a route's carriers, and the weights of the first of them."""

    names: list[str]
    weights: tuple[int, ...]


def sharing_by_weights(carrier_ids: Iterable[int], weights: Iterable[int]) -> Sharing:
    """Returns how these carriers share by their weights."""
    return Sharing(tuple(carrier_ids), tuple(accumulate(weights)))


def read_weights(written: Sequence[str]) -> NamedWeights:
    """Reads carriers as people write them, such as "gh-main:70" or "gh-main". Raises
    InvalidRequest.
    """
    names: list[str] = []
    weights: list[int] = []
    for each in written:
        name, mark, weight = each.partition(_MARK)
        name, weight = name.strip(), weight.strip()
        if mark and not (_WEIGHT.fullmatch(weight) and 1 <= int(weight) <= WEIGHT_MAX):
            raise invalid_field(
                "carrier",
                f"must have a weight from 1 to {WEIGHT_MAX} behind the colon, as in gh-main:70;"
                f" not {quote_value(each)}",
            )
        if mark and len(weights) < len(names):
            raise invalid_field(
                "carrier",
                "must name the carriers with a weight first, and then those that stand by;"
                f" {quote_value(name)} has a weight and comes after {quote_value(names[-1])}",
            )
        names.append(name)
        weights += [int(weight)] if mark else []
    return NamedWeights(names, tuple(weights))


def write_weight(name: str, weight: int | None) -> str:
    """Returns a carrier as `read_weights` reads it."""
    return name if weight is None else f"{name}{_MARK}{weight}"
