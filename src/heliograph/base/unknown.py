"""Which unknown fields of a body are refused rather than ignored: those that could cost (contract section 2).

A name that is one edit away from a known one is a slip, and one that asks for another time, price or effect asks for what would not happen.
It is called for bodies with unknown fields only, and takes about a microsecond for each of them, however many there are.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_LONGER_MAX: Final = 1  # characters that a near name is longer
_IGNORED: Final = str.maketrans("", "", "_-")  # between the words of a name: dryRun and dry-run are dry_run


class Wish(NamedTuple):
    """What some names ask for: `names` are in lower case without `_`; the first of `instead` that an endpoint knows is what it has for them."""

    asks_for: str
    names: frozenset[str]
    instead: tuple[str, ...] = ()


def _wish(asks_for: str, names: str, *instead: str) -> Wish:
    return Wish(asks_for, frozenset(names.split()), instead)


TIME: Final = _wish("another time", """
    sendat sendtime sendon senddate sendafter scheduledat schedule scheduled scheduleat scheduledfor scheduletime scheduledtime scheduledate
    scheduleddate schedtime deliverat deliverytime deliveryat delay delays startat starttime date time datetime when""")
VALIDITY: Final = _wish("another validity", """
    validity validityperiod validitytime validityminutes validfor validuntil ttl expiry expires expiresat expiresin expiration expire deadline
    validitys lifetime timeout""", "validity_s")
TEST: Final = _wish("a test", "test testing testmode istest sandbox simulate simulation preview dryrun validateonly checkonly mode draft", "dry_run")
COUNTRY: Final = _wish(
    "another country", "country countryiso countryprefix defaultcountry dialingcode diallingcode region", "countryCode", "country_code")
PRICE: Final = _wish("another price", """
    maxparts maxprice maxcost maxcredits maxsegments parts price cost budget""", "max_segments")
PAYER: Final = _wish("another account", "customer onbehalfof subaccount", "customer_id")
EFFECT: Final = _wish("another effect", """
    flash isflash channel gateway route carrier voice media mediaurl mediaurls attachment attachments mms template templateid variables placeholders
    substitutions personalization""")
CODE: Final = _wish("another code", "code otp otpcode pin length otplength codelength digits otptype")
FIGURES: Final = _wish("other figures", """
    credits smscredits initialcredits amount balance walletbalance initialbalance""",
    "initial_sms_credits", "initial_wallet_balance", "credits")

SENDING: Final = (TIME, VALIDITY, TEST, COUNTRY, PRICE, PAYER, EFFECT)


def refusals(unknown: Iterable[str], known: tuple[str, ...], wishes: tuple[Wish, ...]) -> Iterator[tuple[str, str]]:
    """Those of the `unknown` names that could cost, each with what is wrong with it. `known`: the names that the body may have, in order."""
    near = _nearness(known)
    longest = max(map(len, known), default=0) + _LONGER_MAX
    wished = {name: wish for wish in reversed(wishes) for name in wish.names}
    for name in unknown:
        if len(name) > 2 * longest:  # not looked at further: a megabyte of one name costs nothing
            continue
        folded = _folded(name)
        if (meant := near.find(folded)) is not None:
            yield name, f"is unknown here; did you mean {meant}?"
        elif (wish := wished.get(folded)) is not None:
            meant = next((instead for instead in wish.instead if instead in known), None)
            yield name, f"is unknown here; did you mean {meant}?" if meant else f"is unknown here: it asks for {wish.asks_for}, which there is not"


class _Nearness:
    """The known names, by what is left of each when it loses a character: two names that are one edit apart have such a rest in common."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self._whole = {_folded(name): name for name in reversed(known)}
        self._longest = max(map(len, self._whole), default=0) + _LONGER_MAX
        self._rests: dict[str, list[str]] = {}
        for folded in self._whole:
            for rest in {folded, *_shortened(folded)}:
                self._rests.setdefault(rest, []).append(folded)

    def find(self, folded: str) -> str | None:
        """The known name that this one is, or is one edit from: a character more, less, or another, or two neighbours swapped."""
        if folded in self._whole:
            return self._whole[folded]
        if len(folded) > self._longest:
            return None
        for rest in (folded, *_shortened(folded)):
            for candidate in self._rests.get(rest, ()):
                if _is_one_edit(folded, candidate):
                    return self._whole[candidate]
        return None


@lru_cache(maxsize=64)  # forms have always the same names: as many entries as there are forms
def _nearness(known: tuple[str, ...]) -> _Nearness:
    return _Nearness(known)


def _folded(name: str) -> str:
    return name.lower().translate(_IGNORED)


def _shortened(name: str) -> list[str]:
    return [name[:place] + name[place + 1 :] for place in range(len(name))]


def _is_one_edit(one: str, other: str) -> bool:
    start = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (len(a) > 1 and a[1::-1] + a[2:] == b)
