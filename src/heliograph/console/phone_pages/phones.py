"""Shows what the service has of a phone that an operator may see: who may not text it, what was
sent to it, and what came from it.

To look for a phone in 10,000 accounts takes 30 ms each time. So the page itself looks for opt-outs
of one mode, and the browser takes the messages and the texts from their own pages.
"""

from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import contacts, opt_outs, otp
from heliograph.accounts import Account
from heliograph.console.asked_mode import SANDBOX, mode_asked
from heliograph.console.named_account import OwnerOfRow, owners_of_rows
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.phone_pages.asked_phone import mode_of, read_asked
from heliograph.console.rendering import page
from heliograph.contacts import Changer, ChangerKind, ContactOwner
from heliograph.opt_outs import OptOutSource, Suppression
from heliograph.otp import BlockedRange
from heliograph.portal.page_request import PageRequest
from heliograph.text import Phone

OPT_OUTS_SHOWN_MAX: Final = 50
BLOCKED_SHOWN_MAX: Final = 1_000  # accounts; there are no more unless very many are pumped
# how an opt-out came about
SOURCES: Final = {
    OptOutSource.KEYWORD: "the phone texted a keyword such as STOP",
    OptOutSource.API: "a program of the account",
    OptOutSource.PORTAL: "somebody of the account",
    OptOutSource.IMPORT: "a file of contacts",
    OptOutSource.CARRIER: "the carrier",
    OptOutSource.OPERATOR: "an operator",
}


class NamedOptOut(NamedTuple):
    """Holds an opt-out, and names whose it is. `mode` is "live" or "sandbox"."""

    owner: OwnerOfRow
    mode: str
    opt_out: Suppression

    @property
    def made_by(self) -> str:
        return SOURCES[self.opt_out.source]


class OptOutStep(NamedTuple):
    """Tells that a contact with this phone was opted out, or in again."""

    opted_out: bool
    by: str
    at_ms: int


class BlockedFor(NamedTuple):
    """Says for which account one-time passwords to the phone are refused, as the guard has it."""

    owner: OwnerOfRow
    blocked: BlockedRange


class KnownOfPhone(NamedTuple):
    """Holds what is known of a phone in a mode, the newest first. `history` is that of the
    account's contact, if one account is asked about.
    """

    digits: str
    country: str | None
    opt_outs: list[NamedOptOut]
    has_more_opt_outs: bool
    history: list[OptOutStep]
    blocked: list[BlockedFor]


def show_phone(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows what is known of the phone that the query names: in all accounts, or in one."""
    asked_fields = dict(request.sent.query)
    asked = read_asked(tx, asked_fields)
    known, mode = None, mode_asked(asked_fields)
    if asked.phone is not None and not asked.errors:
        known = _known(
            tx, asked.phone, asked.account, sandbox=mode == SANDBOX, now_ms=request.now_ms
        )
    return page(
        "phones.html",
        request,
        visit,
        status=400 if asked.errors else 200,
        known=known,
        mode=mode,
        account=asked.account and owners_of_rows(tx, [asked.account.id])[asked.account.id],
        opt_outs_shown_max=OPT_OUTS_SHOWN_MAX,
        typed=asked_fields,
        errors={error.field: error.message for error in asked.errors},
    )


def _known(
    tx: Connection, phone: Phone, account: Account | None, *, sandbox: bool, now_ms: int
) -> KnownOfPhone:
    account_id = account and account.id
    stored = opt_outs.opt_outs_everywhere(
        tx, phone.digits, sandbox=sandbox, account_id=account_id, limit=OPT_OUTS_SHOWN_MAX + 1
    )
    owner = account_id and ContactOwner(account_id, sandbox)
    return KnownOfPhone(
        phone.digits,
        phone.country_code,
        named_opt_outs(tx, stored[:OPT_OUTS_SHOWN_MAX]),
        len(stored) > OPT_OUTS_SHOWN_MAX,
        _history(tx, owner, phone.digits) if owner else [],
        _blocked(tx, phone.digits, account_id, now_ms),
    )


def named_opt_outs(tx: Connection, found: list[opt_outs.OwnedOptOut]) -> list[NamedOptOut]:
    """Returns opt-outs with the names of their accounts."""
    owners = owners_of_rows(tx, {each.owner.account_id for each in found})
    return [
        NamedOptOut(owners[each.owner.account_id], mode_of(each.owner), each.opt_out)
        for each in found
    ]


def _history(tx: Connection, owner: ContactOwner, digits: str) -> list[OptOutStep]:
    """Returns when the contact with this phone was opted out and in, newest first."""
    contact = contacts.by_phone(tx, owner, digits)
    if contact is None:
        return []
    return [
        OptOutStep(change.opted_out, _who(change.by), change.at_ms)
        for change in contacts.opt_out_history(tx, contact)
    ]


def _who(by: Changer) -> str:
    kinds = {ChangerKind.OPERATOR: "an operator", ChangerKind.KEY: f"the API key {by.name}"}
    who = kinds.get(by.kind, by.name or "somebody")
    return f"a file, imported by {who}" if by.is_import else who


def _blocked(tx: Connection, digits: str, account_id: str | None, now_ms: int) -> list[BlockedFor]:
    """Returns for which accounts the guard refuses the range of this phone now."""
    found = otp.find_blocked(
        tx, now_ms, limit=BLOCKED_SHOWN_MAX, account_id=account_id, phone=digits
    )
    owners = owners_of_rows(tx, {each.account_id for each in found})
    return [BlockedFor(owners[each.account_id], each) for each in found]
