"""Decides which unknown fields of a body are refused rather than ignored: those whose being ignored
could cost the client something (docs/api.md, "Unknown fields").

A name that is one edit away from a known one is a slip. A name that asks for another time, price or
effect asks for what would not happen. This is called for bodies with unknown fields only, and takes
about a microsecond for each of them, however many there are.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_LONGER_MAX: Final = 1  # characters that a near name is longer
# between the words of a name: dryRun and dry-run are dry_run
_IGNORED: Final = str.maketrans("", "", "_-")


class CostlyNames(NamedTuple):
    """Explains unknown field names that ask for the same thing. `names` are in lower case without
    `_`. The refusal suggests the first of `instead` that the endpoint has, or says `but` if it has
    none.
    """

    but: str
    names: frozenset[str]
    instead: tuple[str, ...] = ()


def _costly(
    but: str, names: str, *instead: str, joined: frozenset[str] = frozenset()
) -> CostlyNames:
    return CostlyNames(but, joined.union(names.split()), instead)


def _combinations(firsts: str, lasts: str) -> frozenset[str]:
    """Returns each of the `firsts` followed by each of the `lasts`: `send` and `at` make
    `sendat`.
    """
    return frozenset(first + last for first in firsts.split() for last in lasts.split())


_TIMES: Final = "at on in by for after before until later next time date datetime timestamp"
_SPANS: Final = "s sec secs second seconds m min mins minute minutes h hour hours d day days ms"

TIME: Final = _costly(
    "a message is sent at once",
    """
    schedule scheduled scheduling deliver publish release start begin delay delays delayed defer
    deferred postpone date time datetime when later after before notbefore notafter timetosend
    timestamp""",
    joined=_combinations(
        "send sending sendschedule schedule scheduled sched deliver delivery publish release start"
        " begin scheduledsend",
        _TIMES,
    )
    | _combinations("delay delayed defer postpone", f"{_TIMES} {_SPANS}"),
)
VALIDITY: Final = _costly(
    "the validity cannot be chosen here",
    "validity ttl expiry expire expires expiration lifetime timeout deadline maxage timetolive"
    " validityperiod",
    "validity_s",
    joined=_combinations(
        "validity valid ttl expiry expire expires expiration lifetime timeout maxage",
        f"{_TIMES} {_SPANS}",
    ),
)
TEST: Final = _costly(
    "this request cannot be tried out",
    "test testing istest sandbox issandbox dry simulate simulation preview validate validateonly"
    " checkonly nosend mode draft",
    "dry_run",
    joined=_combinations("test sandbox dry simulation", "mode run"),
)
COUNTRY: Final = _costly(
    "the country cannot be chosen here",
    "country countryiso countryprefix defaultcountry dialingcode diallingcode region",
    "countryCode",
    "country_code",
)
PRICE: Final = _costly(
    "the price cannot be limited here",
    "parts price cost budget",
    "max_segments",
    joined=_combinations("max", "parts price cost credits segments amount spend")
    | _combinations("price cost credit spend", "limit cap max"),
)
PAYER: Final = _costly(
    "the request cannot be made for a customer",
    "customer customerref externalref onbehalfof subaccount",
    "customer_id",
)
EFFECT: Final = _costly(
    "the service has nothing of this kind",
    """
    flash isflash channel gateway route carrier voice media mediaurl mediaurls attachment
    attachments mms template templateid variables placeholders substitutions personalization
    personalisation personalize personalise params parameters merge mergefields cc bcc repeat
    repeats""",
)
ONCE: Final = _costly(
    "send it as the header Idempotency-Key", "idempotencykey idempotency idempotencytoken"
)
CODE: Final = _costly(
    "the code and its form cannot be chosen",
    "code otp otpcode pin pincode length otplength codelength pinlength digits otptype lang"
    " language locale",
)
TEXT: Final = _costly("the text cannot be chosen here", "text content msg", "message")
SENDER: Final = _costly(
    "the sender cannot be chosen here", "senderid sendername source originator", "sender"
)
OPT_OUT_SCOPE: Final = _costly(
    "an opt-out is of all texts of the account, or of those of one sender",
    "scope from number senderid sendername senders source originator shortcode",
    "sender",
)
FIGURES: Final = _costly(
    "credits and money cannot be set here",
    "credit credits smscredits amount balance wallet walletbalance topup money",
    "initial_sms_credits",
    "initial_wallet_balance",
    "credits",
    joined=_combinations("initial starting opening", "credits balance amount"),
)

SITE: Final = _costly(
    "the site cannot be chosen here", "url site website domain homeurl siteaddress", "site_url"
)

SENDING: Final = (TIME, VALIDITY, TEST, COUNTRY, PRICE, PAYER, EFFECT, ONCE)


def refusals(
    unknown: Iterable[str], known: tuple[str, ...], costly_names: tuple[CostlyNames, ...]
) -> Iterator[tuple[str, str]]:
    """Yields those of the `unknown` names that could cost, each with what is wrong with it. `known`
    are the names that the body may have, in order.
    """
    near = _nearness(known)
    longest = max(map(len, known), default=0) + _LONGER_MAX
    by_name = {name: costly for costly in reversed(costly_names) for name in costly.names}
    for name in unknown:
        if len(name) > 2 * longest:  # not looked at further: a megabyte of one name costs nothing
            continue
        folded = _fold(name)
        if (suggestion := near.find(folded)) is not None:
            yield name, f"is unknown here; did you mean {suggestion}?"
        elif (costly := by_name.get(folded)) is not None:
            suggestion = next((instead for instead in costly.instead if instead in known), None)
            yield (
                name,
                (
                    f"is unknown here; did you mean {suggestion}?"
                    if suggestion
                    else f"is unknown here: {costly.but}"
                ),
            )


def nearest(name: str, known: tuple[str, ...]) -> str | None:
    """Returns the known name that this one is, or is one edit away from, or None."""
    return _nearness(known).find(_fold(name))


class _Nearness:
    """Holds the known names by what is left of each when it loses a character. Two names that are
    one edit apart have such a rest in common.
    """

    def __init__(self, known: tuple[str, ...]) -> None:
        self._whole = {_fold(name): name for name in reversed(known)}
        self._longest = max(map(len, self._whole), default=0) + _LONGER_MAX
        self._rests: dict[str, list[str]] = {}
        for folded in self._whole:
            for rest in {folded, *_shortened(folded)}:
                self._rests.setdefault(rest, []).append(folded)

    def find(self, folded: str) -> str | None:
        """Returns the known name that this one is, or is one edit from: a character more, less, or
        another, or two neighbours swapped.
        """
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


def _fold(name: str) -> str:
    return name.lower().translate(_IGNORED)


def _shortened(name: str) -> list[str]:
    return [name[:place] + name[place + 1 :] for place in range(len(name))]


def _is_one_edit(one: str, other: str) -> bool:
    start = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (len(a) > 1 and a[1::-1] + a[2:] == b)
