"""An account is closed for good only when nothing of it is owed any more, in either direction.

What is owed is told at once, each thing with the command that clears it, in the order in which the
commands are run. What pays credits back stands before the wallet is paid out, and the endpoints,
which are told of all that, stand last.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts, inbound, keys, wallet
from heliograph.accounts import Account, states, status_history, text_id
from heliograph.accounts.tables import accounts as accounts_table
from heliograph.base import ids
from heliograph.base.errors import Conflict
from heliograph.base.forms import quote_value
from heliograph.campaigns.states import PAUSED, SCHEDULED, SENDING
from heliograph.campaigns.tables import campaigns
from heliograph.carriers import all_carriers
from heliograph.database import config
from heliograph.database.reads import records_of
from heliograph.inbound.keywords import give_back_keywords
from heliograph.messages.queue import count_queued
from heliograph.messages.read import CAMPAIGN_PREFIX
from heliograph.messages.states import IN_DOUBT
from heliograph.messages.tables import inflight, messages
from heliograph.senders import documents
from heliograph.wallet import money
from heliograph.webhooks import backlogs, endpoints
from heliograph.webhooks.backlogs import WAITING_COUNTED_MAX
from heliograph.webhooks.tables import webhook_endpoints

# campaigns, endpoints or customers: more than anybody clears by hand; the next try tells the
# others
EACH_TOLD_MAX: Final = 20


class DebtKind(StrEnum):
    """Names what is owed, for a page that leads to where it is cleared."""

    CAMPAIGN = "campaign"
    CUSTOMER = "customer"
    DOUBT = "doubt"
    ENDPOINT = "endpoint"
    QUEUED = "queued"
    WALLET = "wallet"
    WIRE = "wire"  # nobody clears it: a carrier will answer


class Debt(NamedTuple):
    """Describes one thing that is owed, and the command that clears it. `account` is the text id of
    the account that owes it, or of the customer that is open; `record` is that of the campaign or
    the endpoint that it is about.
    """

    kind: DebtKind
    account: str
    what: str
    command: str
    record: str | None = None


class _Unanswered(NamedTuple):
    """Counts messages that a carrier was given and has not answered for. One whose segments differ
    is in both counts.
    """

    carrier_id: int
    in_doubt: int
    on_the_wire: int


class StillOwed(Conflict):
    """The account cannot be closed while anything is owed."""

    reason = "still_owed"

    def __init__(self, account: Account, owed: list[Debt]) -> None:
        lines = "".join(f"\n  {each.what}: heliograph {each.command}" for each in owed)
        super().__init__(
            f"The account {text_id(account)} cannot be closed yet. Do this first, in this"
            f" order:{lines}"
        )


def close(tx: Connection, account_id: str, reason: str | None, by: str, *, now_ms: int) -> Account:
    """Closes the account (raw id) if nothing is owed. Raises NotFound, AccountClosed, StillOwed,
    InvalidRequest for a reason of several lines.

    It looks twice: at first without holding anybody up, then under the lock of the wallet, past
    which no message of the account is accepted.
    """
    account = accounts.require_open(accounts.lock(tx, account_id))
    _require_nothing_owed(tx, account)
    config.bump(tx)
    wallet.lock_wallet(tx, account.id)
    _require_nothing_owed(tx, account)
    wallet.close(tx, account.id)
    closed = accounts.close(tx, account.id, now_ms=now_ms)
    keys.revoke_all(tx, account.id, now_ms=now_ms)
    documents.remove_all(tx, account.id)
    endpoints.disable_all(tx, account.id, now_ms=now_ms)
    inbound.give_back_numbers(tx, account.id, now_ms=now_ms)
    give_back_keywords(tx, account.id, now_ms=now_ms)
    status_history.record(
        tx, account.id, status_history.StatusChange(states.CLOSED, reason, by, now_ms)
    )
    return closed


def _require_nothing_owed(tx: Connection, account: Account) -> None:
    found = find_debts(tx, account)
    if found:
        raise StillOwed(account, found)


def find_debts(tx: Connection, account: Account) -> list[Debt]:
    """Returns all that is owed of an account and of its open customers, in the order in which it is
    to be cleared.
    """
    found: list[Debt] = []
    for customer in _open_customers(tx, account):
        its = f"its Connect customer {text_id(customer)} ({quote_value(customer.name)})"
        debts = find_debts(tx, customer)
        found += [each._replace(what=f"{its}: {each.what}") for each in debts]
        customer_id = text_id(customer)
        found.append(
            Debt(DebtKind.CUSTOMER, customer_id, f"{its} is open", f"account close {customer_id}")
        )
    unanswered = _unanswered(tx, account)
    moving = [
        *_campaigns(tx, account),
        *_in_doubt(tx, account, unanswered),
        *_queued(tx, account),
        *_on_the_wire(account, unanswered),
    ]
    found += [*moving, *_in_wallet(tx, account, more_to_come=bool(moving or found))]
    return [*found, *_undelivered(tx, account, more_to_come=bool(found))]


def _open_customers(tx: Connection, account: Account) -> list[Account]:
    query = sa.select(accounts_table.c.id).where(
        accounts_table.c.parent_id == account.id, accounts_table.c.closed_at_ms.is_(None)
    )
    found = tx.execute(query.order_by(accounts_table.c.id).limit(EACH_TOLD_MAX)).scalars().all()
    return [accounts.by_id(tx, customer_id) for customer_id in found]


def _campaigns(tx: Connection, account: Account) -> Iterator[Debt]:
    """Yields campaigns that are not over, a paused one too: it could go on. A draft has cost
    nothing, and cannot be launched any more.
    """
    columns = campaigns.c
    query = sa.select(columns.id, columns.name, columns.status).where(
        columns.account_id == account.id, columns.status.in_((SCHEDULED, SENDING, PAUSED))
    )
    for row in tx.execute(query.order_by(columns.id).limit(EACH_TOLD_MAX)):
        campaign = ids.text_of_raw(CAMPAIGN_PREFIX, row.id)
        yield Debt(
            DebtKind.CAMPAIGN,
            text_id(account),
            f"the campaign {campaign} ({quote_value(row.name)}) is {row.status}",
            f"campaign cancel {campaign}",
            campaign,
        )


def _unanswered(tx: Connection, account: Account) -> list[_Unanswered]:
    """Returns how many messages are with carriers that have not answered for all segments that they
    were given, by carrier. It looks up each message that is with a carrier, so it does it once.
    """
    columns = inflight.c
    counted = sa.func.count(columns.message_id.distinct())
    query = (
        sa.select(
            columns.carrier_id,
            counted.filter(columns.state == IN_DOUBT).label("in_doubt"),
            counted.filter(columns.state != IN_DOUBT).label("on_the_wire"),
        )
        .join_from(inflight, messages, messages.c.id == columns.message_id)
        .where(messages.c.account_id == account.id)
        .group_by(columns.carrier_id)
        .order_by(columns.carrier_id)
    )
    return records_of(_Unanswered, tx.execute(query))


def _in_doubt(
    tx: Connection, account: Account, unanswered: Sequence[_Unanswered]
) -> Iterator[Debt]:
    in_doubt = {each.carrier_id: each.in_doubt for each in unanswered if each.in_doubt}
    if not in_doubt:
        return
    names = {carrier.id: carrier.name for carrier in all_carriers(tx)}
    for carrier_id, count in in_doubt.items():
        carrier = names[carrier_id]
        yield Debt(
            DebtKind.DOUBT,
            text_id(account),
            f"{_messages(count)} in doubt with the carrier {carrier} (ask it; --as sent, delivered"
            " or undeliverable if it has them)",
            f"message settle --carrier {carrier} --account {text_id(account)} --as canceled"
            " --reason 'never sent'",
        )


def _queued(tx: Connection, account: Account) -> Iterator[Debt]:
    count = count_queued(tx, account.id)
    if count:
        yield Debt(
            DebtKind.QUEUED,
            text_id(account),
            f"{_messages(count)} queued (or wait until a carrier has them)",
            f"message cancel --account {text_id(account)}",
        )


def _on_the_wire(account: Account, unanswered: Sequence[_Unanswered]) -> Iterator[Debt]:
    count = sum(each.on_the_wire for each in unanswered)
    if count:
        yield Debt(
            DebtKind.WIRE,
            text_id(account),
            f"{_messages(count)} with a carrier that has not answered yet (wait until it has; then"
            " see what became of them)",
            f"message list --account {text_id(account)} --status queued",
        )


def _in_wallet(tx: Connection, account: Account, *, more_to_come: bool) -> Iterator[Debt]:
    """Yields what the wallet still holds. What sandbox customers are shown to hold is owed to
    nobody: no ledger knows of it.
    """
    own_wallet = wallet.wallet_of(tx, account.id)
    parts = [f"{own_wallet.sms_credits} SMS credits"] if own_wallet.sms_credits else []
    parts += (
        [money.to_text(own_wallet.balance_minor, own_wallet.currency)]
        if own_wallet.balance_minor
        else []
    )
    what = (
        f"its wallet holds {' and '.join(parts)}"
        if parts
        else "its wallet will hold what the commands above pay back"
    )
    if parts or (more_to_come and not (account.sandbox and account.parent_id)):
        yield Debt(
            DebtKind.WALLET,
            text_id(account),
            what,
            f"account pay-out {text_id(account)} --reason 'account closed'",
        )


def _undelivered(tx: Connection, account: Account, *, more_to_come: bool) -> Iterator[Debt]:
    """Yields endpoints that events wait for, or will: ends of messages are told to them. Those of a
    partner hear of its customers, and stay its own.
    """
    endpoint = webhook_endpoints.c
    query = sa.select(endpoint.id).where(
        endpoint.account_id == account.id,
        endpoint.disabled_at_ms.is_(None),
        endpoint.listens_until_ms.is_(None),
    )
    found = tx.execute(query.order_by(endpoint.id).limit(EACH_TOLD_MAX)).scalars().all()
    waiting = backlogs.waiting(tx, found)
    for endpoint_id in found:
        count = waiting[endpoint_id]
        if count or more_to_come:
            at_least = "at least " if count >= WAITING_COUNTED_MAX else ""
            reason = (
                f"has {at_least}{count} event{'s' * (count > 1)} waiting for it"
                if count
                else "will be told of the above"
            )
            yield Debt(
                DebtKind.ENDPOINT,
                text_id(account),
                f"the webhook endpoint {endpoints.text_id(endpoint_id)} {reason} (wait until it has"
                " them, or disable it)",
                f"webhook disable {endpoints.text_id(endpoint_id)}",
                endpoints.text_id(endpoint_id),
            )


def _messages(count: int) -> str:
    return f"{count} messages are" if count > 1 else "1 message is"
