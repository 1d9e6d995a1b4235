"""Says the details of an entry of the audit log in the language that is spoken. They are stored in
English, and files and pages in English have them as they are stored.

Words of ours are in the places that begin with `why`; what stands in the others is data.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from heliograph.accounts.audit_log import AuthorKind, StoredEntry
from heliograph.portal.languages import USUAL, formats, language, marked, translated
from heliograph.portal.languages.refusals import WORDS, pattern_of, translated_refusal

_WORD: Final = ("%(why)s",)
_ROLE: Final = ("%(given)s %(why_role)s",)
_CREDITS: Final = (marked("%(count)s credit"), marked("%(count)s credits"))
_CHANGES: Final = (
    marked("name: %(given_before)s → %(given_after)s"),
    marked("%(why_field)s: %(why_before)s → %(why_after)s"),
)
_VALUES: Final = (marked("%(why_field)s: %(why_value)s"),)
_FIGURES: Final = (marked("%(given)s SMS credits, %(money)s"),)
_NAMED: Final = (marked("%(name)s: %(why_state)s"),)
_SETTLED: Final = ("%(why_state)s, %(why_back)s",)
# what members and their programs did
OF_MEMBERS: Final[Mapping[str, Sequence[str]]] = {
    "contact.tag": (
        marked("%(name)s added to %(count)s contacts"),
        marked("%(name)s removed from %(count)s contacts"),
    ),
    "customer.credits": _CREDITS,
    "key.make": (marked("live: %(name)s"), marked("sandbox: %(name)s")),
    "low_balance.change": _CHANGES,
    "member.add": _ROLE,
    "member.invite": _ROLE,
    "member.join": _WORD,
    "member.role": _ROLE,
    "settings.change": _CHANGES,
    "webhook.add": _WORD,
}
# what the operator did
OF_OPERATORS: Final[Mapping[str, Sequence[str]]] = {
    "account.close": _WORD,
    "account.create": (marked("%(name)s, %(given)s, %(credits)s SMS credits, %(money)s"),),
    "account.go_live": _WORD,
    "account.limits": _VALUES,
    "account.quotas": _VALUES,
    "account.resume": _WORD,
    "account.suspend": _WORD,
    "campaign.cancel": _NAMED,
    "campaign.pause": _NAMED,
    "campaign.resume": _NAMED,
    "credits.adjust": _FIGURES,
    "credits.grant": _FIGURES,
    "inbound.read": _WORD,
    "key.revoke": _NAMED,
    "member.add": _ROLE,
    "member.role": _ROLE,
    "message.cancel": (
        marked("%(count)s queued message canceled, %(why_back)s"),
        marked("%(count)s queued messages canceled, %(why_back)s"),
        "%(why_state)s, %(why_back)s",
    ),
    "message.match": _SETTLED,
    "message.read": _WORD,
    "message.resend": _WORD,
    "message.settle": _SETTLED,
    "otp.block": _NAMED,
    "otp.unblock": _NAMED,
    "rate.set": _NAMED,
    "rate.sheet": (marked("%(count)s rate"), marked("%(count)s rates")),
    "sender.approve": _NAMED,
    "sender.reject": _NAMED,
    "sender.suspend": _NAMED,
    "wallet.adjust": _FIGURES,
    "wallet.pay_out": _FIGURES,
    "wallet.topup": _FIGURES,
    "webhook.disable": _WORD,
    "webhook.enable": _WORD,
}
# what stands in a place that begins with `why`, beside the words below
_IN_PLACES: Final = (
    marked("%(count)s credit back"),
    marked("%(count)s credits back"),
    marked("%(count)s credit a segment"),
    marked("%(count)s credits a segment"),
    marked("disabled: %(why)s"),
    marked("enabled: %(why)s"),
    marked("failed: %(why)s"),
    marked("paused (%(why)s)"),
)
# how fields are called, and what the log says of states; other words of pages are in `words.py`
AUDIT_WORDS: Final = (
    marked("country_code"),
    marked("time_zone"),
    marked("countries"),
    marked("daily_credits"),
    marked("low_balance_credits"),
    marked("low_balance_amount"),
    marked("max_tier"),
    marked("otp_unverified"),
    marked("transactional"),
    marked("logs"),
    marked("events"),
    marked("contacts"),
    marked("recipients"),
    marked("answers"),
    marked("keys"),
    marked("sends"),
    marked("yes"),
    marked("no"),
    marked("default"),
    marked("closed"),
    marked("refused"),
    marked("let through"),
    marked("queued again"),
    marked("its text was read"),
    marked("by hand"),
    marked("it fails"),
)
# an entry of these has several values or changes in one text
_LISTS: Final = ("account.limits", "account.quotas", "low_balance.change")
_BETWEEN: Final = re.compile(r"([;,] )(?=[a-z_]+: )")
# these have a sentence that other pages show, too
_SENTENCES: Final = ("contact.import", "credits.buy")


def detail_words(stored: StoredEntry) -> str:
    """Returns the details of an entry as its page shows them. They are empty if it has none."""
    detail, action = stored.entry.detail or "", stored.entry.action
    if language() == USUAL or not detail:
        return detail
    if action in _SENTENCES:
        return translated_refusal(detail, marks=False)
    is_operators = stored.author.kind is AuthorKind.OPERATOR
    forms = (OF_OPERATORS if is_operators else OF_MEMBERS).get(action, ())
    if action in _LISTS:
        return "".join(_words(part, forms) or part for part in _BETWEEN.split(detail))
    return _words(detail, forms) or detail


def _words(text: str, forms: Iterable[str]) -> str | None:
    """Returns the translation of a text that has one of these forms; None if it has none."""
    for form in forms:
        found = _pattern(form).fullmatch(text)
        if found is not None:
            values = {name: _value(name, value) for name, value in found.groupdict().items()}
            return translated(form) % values
    return None


def _value(place: str, value: str) -> str:
    if place.startswith(WORDS):
        return _words(value, _IN_PLACES) or translated(value)
    return formats.number_in(value) if place in ("count", "credits", "money") else value


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return pattern_of(form)
