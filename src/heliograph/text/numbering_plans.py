"""A numbering plan is the metadata of the phonenumbers library as tables that can be asked in a
microsecond.

The library takes 16 µs and more for a number, because it looks up and compiles everything each
time. What is read from it once per calling code stands here: which lengths are possible, how a
trunk prefix is told and dropped, and which country a number of a shared calling code (+1, +44 …)
belongs to. A plan is read when its first number comes (0.2 ms; 10 ms for +1): reading all of them
would add 0.1 s to every start.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from phonenumbers import PhoneMetadata, PhoneNumberDesc

# docs/api.md, "Phone numbers"; what is shorter is a short code, and no address from abroad
NUMBER_DIGITS_MIN: Final = 7
NUMBER_DIGITS_MAX: Final = 15  # ITU-T E.164, 6.2.1

_NOTHING: Final = r"(?!)"  # a pattern that matches nowhere: for a plan without a trunk prefix, say


class NumberingPlan:
    """Says how numbers are dialled in one region: it holds the rules by which a national number is
    read.
    """

    __slots__ = (
        "_assigned_by_length",
        "_general",
        "_metadata",
        "_transform",
        "abroad",
        "calling_code",
        "lengths",
        "longest",
        "trunk",
    )

    def __init__(self, metadata: "PhoneMetadata") -> None:
        general = metadata.general_desc
        if general is None:
            raise ValueError(f"the numbering plan {metadata.id} has no general description")
        self.calling_code = str(metadata.country_code)
        self.lengths = frozenset(general.possible_length)
        self.longest = max(self.lengths)
        self.trunk = re.compile(metadata.national_prefix_for_parsing or _NOTHING)
        idd = metadata.international_prefix
        self.abroad = re.compile(idd) if idd and idd != "00" else None  # 00 is read as + everywhere
        self._general = re.compile(general.national_number_pattern or _NOTHING)
        self._transform = metadata.national_prefix_transform_rule or None
        self._metadata = metadata
        self._assigned_by_length: dict[int, re.Pattern[str]] = {}

    def describes(self, national: str) -> bool:
        """Returns whether the whole of `national` looks like a number of this plan. This is
        stricter than its length alone.
        """
        return self._general.fullmatch(national) is not None

    def assigns(self, national: str) -> bool:
        """Returns whether `national` lies in a range that is assigned to a type of number (the
        library calls it valid). This is stricter still.
        """
        pattern = self._assigned_by_length.get(len(national))
        if pattern is None:
            pattern = self._assigned_by_length[len(national)] = re.compile(
                _assigned_pattern(self._metadata, len(national))
            )
        return pattern.match(national) is not None

    def without_trunk(self, national: str) -> str:
        """Returns `national` without its trunk prefix (0 in most countries) and carrier code. Some
        plans also rewrite the rest: Argentina turns `0 11 15 …` into `9 11 …`, and Guernsey puts
        1481 before a local number.

        A number that fits the plan as it stands, and would not fit it without the prefix, is
        returned as it is.
        """
        found = self.trunk.match(national)
        if found is None:
            return national
        rest = national[found.end() :]
        if self._transform and found.re.groups and found[found.re.groups] is not None:
            rest = found.expand(self._transform) + rest
        return national if self.describes(national) and not self.describes(rest) else rest

    def significant(self, national: str) -> str:
        """Returns the national significant number: as `without_trunk`, but only when what
        remains is long enough to be one.
        """
        rest = self.without_trunk(national)
        return rest if len(rest) in self.lengths or len(rest) > self.longest else national


class CallingCode:
    """Knows the numbers under one country calling code: which are possible, and which country each
    belongs to.
    """

    __slots__ = (
        "_country",
        "_members",
        "_members_by_length",
        "digits",
        "lengths",
        "national_at",
        "plan",
        "trunk",
    )

    def __init__(self, digits: str) -> None:
        regions = _regions()[digits]
        # A shared calling code is judged by its main region (US for +1), which lists the lengths of
        # all of them.
        self.plan = plans[regions[0]] or NumberingPlan(_metadata(regions[0], int(digits)))
        self.digits = digits
        self.national_at = len(self.digits)
        totals = (self.national_at + length for length in self.plan.lengths)
        self.lengths = frozenset(
            total for total in totals if NUMBER_DIGITS_MIN <= total <= NUMBER_DIGITS_MAX
        )
        self.trunk: Callable[[str, int], object] = self.plan.trunk.match
        self._country = None if regions[0] == _NO_COUNTRY else regions[0]
        self._members = tuple(regions) if len(regions) > 1 else ()
        self._members_by_length: dict[int, re.Pattern[str]] = {}

    def country_of(self, number: str) -> str | None:
        """Returns the country of a whole number (calling code included), or None when it belongs
        to none, such as +800 or an unassigned area of +1.
        """
        if not self._members:
            return self._country
        pattern = self._members_by_length.get(len(number))
        if pattern is None:
            pattern = self._members_by_length[len(number)] = _members_pattern(
                self._members, len(number) - self.national_at
            )
        found = pattern.match(number, self.national_at)
        return found.lastgroup if found else None


class _Plans(dict[str, NumberingPlan | None]):
    """Holds the plans by country, and None for a country without one. A plan is loaded when it is
    first asked for.
    """

    def __missing__(self, country: str) -> NumberingPlan | None:
        code = calling_code_of(country)
        if code is None:
            return None  # not kept, so that the table cannot outgrow the countries
        self[country] = NumberingPlan(_metadata(country, code))
        return self[country]


class _CallingCodes(dict[str, CallingCode | None]):
    """Holds calling codes by the first three digits of a number: none is longer, and none is the
    beginning of another.

    It is filled as numbers come; it cannot outgrow the 1,111 strings of at most three digits.
    """

    def __missing__(self, first_three: str) -> CallingCode | None:
        known = (
            first_three[:end]
            for end in range(1, len(first_three) + 1)
            if first_three[:end] in _regions()
        )
        code = next(known, None)
        if code is None or code == first_three:
            self[first_three] = None if code is None else CallingCode(code)
        else:
            self[first_three] = self[code]  # one object for all numbers of a short code
        return self[first_three]


plans: Final = _Plans()
calling_codes: Final = _CallingCodes()

# what the library calls the region of a calling code that is no country's
_NO_COUNTRY: Final = "001"


@cache
def _regions() -> dict[str, tuple[str, ...]]:
    """Returns the regions of each calling code, the main one first. The first call loads the
    library, which most commands do without.
    """
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

    return {str(code): regions for code, regions in COUNTRY_CODE_TO_REGION_CODE.items()}


@cache
def _calling_code_of_region() -> dict[str, int]:
    return {
        region: int(digits)
        for digits, regions in _regions().items()
        for region in regions
        if region != _NO_COUNTRY
    }


def calling_codes_as_digits() -> tuple[str, ...]:
    """Returns all calling codes."""
    return tuple(_regions())


def load() -> None:
    """Loads the library now. A process that answers the API does so as it starts, so that the first
    request with a number does not wait for it.
    """
    _regions()


def calling_code_of(country: str) -> int | None:
    """Returns the calling code of a country (233 for GH), or None where nobody has a telephone,
    as in AQ, or for what is not a country.
    """
    return _calling_code_of_region().get(country)


def _metadata(region: str, code: int) -> "PhoneMetadata":
    from phonenumbers import PhoneMetadata

    metadata = PhoneMetadata.metadata_for_region_or_calling_code(code, region)
    if metadata is None:
        raise ValueError(
            f"the phonenumbers library lists +{code} for {region}, and has no metadata for it"
        )
    return metadata


def _members_pattern(regions: Iterable[str], length: int) -> re.Pattern[str]:
    """Returns one pattern with a group for each region, tried in the library's order. The name
    of the group that matches is the country.
    """
    groups = []
    for region in regions:
        metadata = _metadata(region, _calling_code_of_region()[region])
        pattern = (
            metadata.leading_digits
            if metadata.leading_digits is not None
            else _assigned_pattern(metadata, length)
        )
        groups.append(f"(?P<{region}>{pattern})")
    return re.compile("|".join(groups))


def _assigned_pattern(metadata: "PhoneMetadata", length: int) -> str:
    """Returns a pattern for the national numbers of `length` digits that are assigned in a region,
    to whatever type.
    """
    general = _pattern_if_possible(metadata.general_desc, length)
    types = (
        metadata.fixed_line,
        metadata.mobile,
        metadata.toll_free,
        metadata.premium_rate,
        metadata.shared_cost,
        metadata.voip,
        metadata.personal_number,
        metadata.pager,
        metadata.uan,
        metadata.voicemail,
    )
    patterns = [pattern for kind in types if (pattern := _pattern_if_possible(kind, length))]
    if general is None or not patterns:
        return _NOTHING
    return rf"(?=(?:{general})\Z)(?:{'|'.join(patterns)})\Z"


def _pattern_if_possible(kind: "PhoneNumberDesc | None", length: int) -> str | None:
    """Returns the pattern of a type of number, or None when the region has no such numbers of
    that length.
    """
    if kind is None or not kind.national_number_pattern:
        return None
    if kind.possible_length and length not in kind.possible_length:
        return None
    return kind.national_number_pattern
