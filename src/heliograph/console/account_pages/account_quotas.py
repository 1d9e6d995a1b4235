"""Shows how much an account may store in a day, and sets it, as the command does."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.accounts import Account, quota_sizes, quotas
from heliograph.accounts.quotas import QuotaUsage, StoredKind
from heliograph.base.errors import FieldError
from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import OperatorRight
from heliograph.wallet import quota_usage

KINDS: Final = {
    StoredKind.LOGS: "Logs of site plugins",
    StoredKind.EVENTS: "Events of site plugins",
    StoredKind.CONTACTS: "Contacts",
    StoredKind.RECIPIENTS: "Recipients of campaigns",
    StoredKind.ANSWERS: "Answers that are kept for programs",
    StoredKind.KEYS: "Idempotency-Keys of sends",
    StoredKind.SENDS: "Sends of the sandbox, and refused recipients",
}


def show_quotas(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the quotas and what was stored today, and the form to those who may use it. Raises
    NotFound.
    """
    account = accounts.with_text_id(tx, request.path["account"])
    used = quota_usage.used_quotas(tx, account, request.now_ms)
    own = [each.quota for each in used if each.holder.id == account.id]
    return page(
        "account_quotas.html",
        request,
        visit,
        status=400 if errors else 200,
        account=account,
        text_id=accounts.text_id(account),
        partner=next(
            (
                (accounts.text_id(each.holder), each.holder.name)
                for each in used
                if each.holder.id != account.id
            ),
            None,
        ),
        used=used,
        own=[quota.kind for quota in own],
        kinds=KINDS,
        defaults={
            kind: quota_sizes.size_in_words(measure.octets_a_day)
            for kind, measure in quotas.MEASURES.items()
        },
        may_change=visit.may(OperatorRight.ACCOUNTS) and account.closed_at_ms is None,
        shown=_exact(own),
        typed=request.sent.form or {quota.kind.value: _typed(quota) for quota in own},
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets the quotas. A field that is left empty means what every account has. Raises NotFound,
    AccountClosed, and InvalidRequest, also when what the page showed is not what there is now.
    """
    body = body_of(request)
    reason = reason_of(request)
    wanted = {kind: _read(kind, body.get(kind.value, "")) for kind in StoredKind}
    found = accounts.with_text_id(tx, request.path["account"])
    account = accounts.lock(tx, found.id)  # nobody else changes it between the two
    before = _own(tx, account, request.now_ms)
    if body.get("shown", "") != _exact(before):
        raise invalid_field(
            "shown",
            "are not what there is now: somebody set them after you had opened this page. They are"
            f" now {_in_words(before)}. Look at them, then set yours",
        )
    changed = {kind: wanted[kind] for kind in _changed_kinds(before, wanted)}
    sizes = {kind: size for kind, size in changed.items() if not isinstance(size, str)}
    quotas.set_quotas(tx, account.id, sizes)
    quotas.reset_quotas(tx, account.id, [kind for kind in changed if kind not in sizes])
    if changed:
        after = _own(tx, account, request.now_ms)
        visit.audit(
            tx,
            account.id,
            "account.quotas",
            accounts.text_id(account),
            before=_in_words([quota for quota in before if quota.kind in changed]),
            after=_in_words([quota for quota in after if quota.kind in changed]),
            reason=reason,
        )
    return redirect(f"{ACCOUNTS}/{accounts.text_id(account)}/quotas", DoneNotice.SAVED)


def _own(tx: Connection, account: Account, now_ms: int) -> list[QuotaUsage]:
    """Returns the quotas that are the account's own; a Connect customer has one."""
    used = quota_usage.used_quotas(tx, account, now_ms)
    return [each.quota for each in used if each.holder.id == account.id]


def _changed_kinds(
    before: Sequence[QuotaUsage], wanted: dict[StoredKind, int | str | None]
) -> list[StoredKind]:
    """Returns the kinds of which something else is wanted than there is. What is wanted of a kind
    that is not the account's own is refused by who sets it.
    """
    as_typed = {quota.kind: _read(quota.kind, _typed(quota)) for quota in before}
    return [
        kind for kind, size in wanted.items() if as_typed.get(kind, quota_sizes.DEFAULT) != size
    ]


def _read(kind: StoredKind, text: str) -> int | str | None:
    try:
        return quota_sizes.read_size(text or quota_sizes.DEFAULT)
    except ValueError as error:
        raise invalid_field(
            kind.value, f"must be a size such as {quota_sizes.SIZES}, not {quote_value(text)}"
        ) from error


def _typed(quota: QuotaUsage) -> str:
    """Returns a quota as it is typed; nothing for what every account has."""
    return "" if quota.is_default else quota_sizes.size_in_words(quota.octets_a_day)


def _exact(own: Sequence[QuotaUsage]) -> str:
    """Returns the quotas as the form says that it has shown them."""
    return ";".join(f"{quota.kind}={_typed(quota)}" for quota in own)


def _in_words(own: Sequence[QuotaUsage]) -> str:
    """Returns quotas as the log holds them, such as `logs: 200MB, contacts: default`."""
    return ", ".join(f"{quota.kind}: {_typed(quota) or quota_sizes.DEFAULT}" for quota in own)
