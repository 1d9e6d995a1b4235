"""The sends of one transaction are decided one after the other, on the wallets that it has
locked, and laid out as columns.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import NamedTuple

from heliograph.accounts import AccountClosed, storage_of_keys
from heliograph.accounts.storage_of_sends import QuotaOwner, StorageRoom
from heliograph.base import ids, metrics
from heliograph.base.errors import Conflict, ServiceError
from heliograph.database.hot import HotTx
from heliograph.messages.accept.extension import BatchExtension
from heliograph.messages.accept.judge import AcceptedSend, AccountFacts, WalletState, judge
from heliograph.messages.accept.opted_out import NOBODY, OptedOut, phones_opted_out
from heliograph.messages.accept.read_sql import LockedWallet
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.response import Send, SendExceptions
from heliograph.messages.accept.store_sql import (
    BatchRows,
    MessageColumns,
    RunRow,
    SendRow,
    WalletRow,
)
from heliograph.messages.accept.tariff import Run, Tariff
from heliograph.messages.accept.unpaid_storage import unpaid_octets
from heliograph.messages.queue.rank import Ranks, rank_ahead
from heliograph.requests import ScopedKey, StoredKey, UsedKeys
from heliograph.wallet import Entry, Figures, Thresholds, alarm, ledger, low_balance
from heliograph.webhooks import Event, Listeners, emit, load_listeners


class SendResult(NamedTuple):
    """Holds a send that is stored (or, in a dry run, was only judged)."""

    send: Send
    replayed: bool = False


class SendBatch:
    """Decides the sends of one transaction one after the other, and then lays out their rows as
    columns.
    """

    def __init__(
        self,
        ranks: Ranks,
        locked: Sequence[LockedWallet],
        used_keys: UsedKeys[Send],
        stored: dict[str, Send],
        extensions: Mapping[str, BatchExtension],
        rooms: Mapping[QuotaOwner, StorageRoom] = MappingProxyType({}),
        opted_out: OptedOut = NOBODY,
    ) -> None:
        """Begins a batch. `rooms` says how many octets may still be stored for some owners; for
        others there is no limit. `opted_out` holds the recipients who have opted out.
        """
        # a series of ids, made under the locks: the ledger lists entries in the order in which
        # they were decided
        self._first_entry = ids.new_number()
        self.now_ms = ids.made_at_ms(self._first_entry)
        self.extensions = extensions
        self.accepted: list[AcceptedSend] = []
        self._ranks = ranks
        self._used_keys = used_keys
        self._stored = stored
        self._locked = {wallet.account_id: wallet for wallet in locked}
        self._wallets = {
            wallet.account_id: WalletState(
                wallet.sms_credits, wallet.spent_day, wallet.spent_credits
            )
            for wallet in locked
        }
        self._key_counts = {
            wallet.account_id: storage_of_keys.KeyCount(
                wallet.keys_day, wallet.keys_octets, wallet.sandbox_keys_octets
            )
            for wallet in locked
        }
        self._rooms = rooms
        self._opted_out = opted_out
        self.unpaid: dict[QuotaOwner, int] = {}  # octets that it stores and nobody pays for
        self._sends: list[Send] = []
        self._entries: list[Entry] = []

    def decide(
        self,
        request: SendRequest,
        facts: AccountFacts,
        tariff: Tariff,
        keys_quota: int | None = None,
    ) -> SendResult | ServiceError:
        """Replays a known key, finds what was stored already, or judges. `keys_quota` is the quota
        of the account whose Idempotency-Key the request has, as in AccountFacts.
        """
        send_id = ids.raw_of_number(request.number)
        if send_id in self._stored:
            return SendResult(self._stored[send_id])
        key = key_of(request)
        earlier = self._used_keys.replay(key, request.body_sha256)
        if earlier is not None:
            return replay_result(earlier)
        # the lock's own word: what is remembered of the account may be from before it was closed
        if self._locked[request.account_id].closed:
            return AccountClosed()
        if key is not None:
            octets = storage_of_keys.octets_of(request.path, request.idempotency_key)
            full = self._key_counts[request.key_account_id].refusal(
                octets, keys_quota, self.now_ms, sandbox=request.sandbox
            )
            if full is not None:
                return full
        wallet = self._wallets[request.account_id]
        before = copy(wallet) if self._rooms else wallet
        extension = self.extensions.get(request.type)
        refuses = phones_opted_out(request, self._opted_out)
        verdict = judge(
            request, facts, tariff, wallet, self.now_ms, extension=extension, refusing=refuses
        )
        if isinstance(verdict, ServiceError):
            return verdict
        send = send_of(verdict, send_id, self.now_ms)
        if request.dry_run:
            return SendResult(send)
        too_much = self._count_unpaid(request, send, facts)
        if too_much is not None:
            self._wallets[request.account_id] = before
            return too_much
        self.take(verdict, send)
        if verdict.credits_used:
            self.charge(
                request.account_id,
                verdict.credits_used,
                verdict.credits_remaining,
                send.message_count,
                ids.text_of_number("snd", request.number),
            )
        if extension is not None:
            extension.accepted(request, self.now_ms)
        if key is not None:
            self._used_keys.add(key, request.body_sha256, send)
            self._key_counts[request.key_account_id].add(
                octets, self.now_ms, sandbox=request.sandbox
            )
        return SendResult(send)

    def _count_unpaid(
        self, request: SendRequest, send: Send, facts: AccountFacts
    ) -> ServiceError | None:
        """Counts what this send stores, or says why it is not stored today."""
        octets = unpaid_octets(request, send)
        if not octets:
            return None
        owner = QuotaOwner(facts.partner_id or request.account_id, request.sandbox)
        taken, room = self.unpaid.get(owner, 0), self._rooms.get(owner)
        if room is not None:
            of_partner = facts.partner_id is not None
            full = room.refusal(taken, octets, self.now_ms, of_partner=of_partner)
            if full is not None:
                return full
        self.unpaid[owner] = taken + octets
        return None

    def take(self, accepted: AcceptedSend, send: Send) -> None:
        self.accepted.append(accepted)
        self._sends.append(send)

    def charge(
        self, account_id: str, credits: int, remaining: int, messages: int, reference: str
    ) -> None:
        """Adds one ledger entry. `reference` is the id, in text form, of what was sent."""
        wallet = self._locked[account_id]
        self._entries.append(
            Entry(
                ids.raw_of_number(self._first_entry + len(self._entries)),
                account_id,
                ledger.SALES_ID,
                type="sms_charge",
                currency=wallet.currency,
                amount_minor=0,
                credits=-credits,
                balance_after_minor=wallet.balance_minor,
                credits_after=remaining,
                description=f"SMS to {messages} recipient{'s' * (messages > 1)}",
                reference=reference,
                created_at_ms=self.now_ms,
            )
        )

    def wallet(self, account_id: str) -> WalletState:
        return self._wallets[account_id]

    async def emit_low_balance(self, tx: HotTx) -> None:
        """Emits events of the accounts whose low-balance alarm this batch fires."""
        low = [
            account_id
            for account_id, wallet in self._wallets.items()
            if wallet.charged and self._alarm(account_id).fires
        ]
        if low and (listeners := await load_listeners(tx, low)):
            await emit(
                tx,
                listeners,
                [
                    self._low_balance(listeners, account_id)
                    for account_id in low
                    if listeners.knows(account_id)
                ],
            )

    def _low_balance(self, listeners: Listeners, account_id: str) -> Event:
        locked, credits = self._locked[account_id], self._wallets[account_id].sms_credits
        return low_balance(
            listeners,
            account_id,
            "credits",
            after=Figures(locked.balance_minor, credits),
            currency=locked.currency,
            thresholds=Thresholds(locked.low_balance_credits, None),
            now_ms=self.now_ms,
        )

    def _alarm(self, account_id: str) -> alarm.Alarm:
        """Judges the alarm of a wallet that was charged."""
        locked = self._locked[account_id]
        return alarm.judge(
            is_armed=locked.credits_alarm_armed,
            before=locked.sms_credits,
            after=self._wallets[account_id].sms_credits,
            threshold=locked.low_balance_credits,
        )

    def count(self) -> None:
        """Counts what was stored, for /metrics."""
        for send in self._sends:
            metrics.count_accepted(send.message_count, sandbox=bool(send.sandbox))
        for extension in self.extensions.values():
            extension.stored()

    def rows(self) -> BatchRows:
        """Returns all accepted sends, as they are stored."""
        both = list(zip(self.accepted, self._sends, strict=True))
        return BatchRows(
            sends=[
                _send_row(place, accepted, send) for place, (accepted, send) in enumerate(both, 1)
            ],
            messages=self._message_columns(),
            runs=[
                self._run_row(place, accepted.request, run)
                for place, accepted in enumerate(self.accepted, 1)
                for run in accepted.priced.runs
            ],
            keys=[
                self._key_row(accepted.request, accepted.request.idempotency_key, send)
                for accepted, send in both
                if accepted.request.idempotency_key is not None
            ],
            entries=self._entries,
            wallets=[
                self._wallet_row(account_id)
                for account_id in sorted(self._wallets)
                if self._wallets[account_id].charged or self._key_counts[account_id].changed
            ],
        )

    def lay_out(self) -> BatchRows:
        """Returns the rows of the sends that were accepted since the last call."""
        rows = self.rows()
        self.accepted, self._sends, self._entries = [], [], []
        return rows

    def _run_row(self, place: int, request: SendRequest, run: Run) -> RunRow:
        return RunRow(
            run.carrier_id,
            self._rank_us(request, run),
            ids.raw_of_number(request.number + 1 + run.first),
            run.messages,
            place,
            run.prefix,
        )

    def _key_row(self, request: SendRequest, key: str, send: Send) -> StoredKey:
        return StoredKey(
            request.key_account_id,
            send.sandbox,
            request.path,
            key=key,
            body_sha256=request.body_sha256,
            created_at_ms=self.now_ms,
            send_id=send.id,
        )

    def _rank_us(self, request: SendRequest, run: Run) -> int:
        if request.type == "otp" or request.goes_ahead:
            return rank_ahead(self.now_ms)
        return self._ranks.rank_us(
            request.account_id, run.carrier_id, run.messages * request.segments, self.now_ms
        )

    def _message_columns(self) -> MessageColumns:
        columns = MessageColumns([], [], [], [], [], [])
        for place, accepted in enumerate(self.accepted, 1):
            first, count = accepted.request.number + 1, len(accepted.priced.recipients)
            columns.id.extend([f"{number:032x}" for number in range(first, first + count)])
            columns.place.extend([place] * count)
            columns.recipient.extend(accepted.priced.recipients)
            columns.country_code.extend(accepted.priced.countries)
            columns.carrier_id.extend(accepted.priced.carriers)
            columns.credits.extend(accepted.priced.credits)
        return columns

    def _wallet_row(self, account_id: str) -> WalletRow:
        """Returns a wallet's row. Credits and alarm stay as they are if nothing was taken from the
        wallet: in sandbox, or if a partner's key acts for a customer.
        """
        wallet, keys = self._wallets[account_id], self._key_counts[account_id]
        credits, armed = None, self._locked[account_id].credits_alarm_armed
        if wallet.charged:
            credits, armed = wallet.sms_credits, self._alarm(account_id).is_armed
        return WalletRow(
            account_id,
            credits,
            wallet.spent_day,
            spent_credits=wallet.spent_credits,
            armed=armed,
            keys_day=keys.day,
            keys_octets=keys.live,
            sandbox_keys_octets=keys.sandbox,
        )


def key_of(request: SendRequest) -> ScopedKey | None:
    """Returns the request's Idempotency-Key with its scope, or None without one. A dry run uses
    none.
    """
    return (
        None
        if request.idempotency_key is None or request.dry_run
        else ScopedKey(
            request.key_account_id, request.sandbox, request.path, request.idempotency_key
        )
    )


def replay_result(earlier: Send | Conflict) -> SendResult | Conflict:
    """Returns the answer to a request whose Idempotency-Key was used before, for that send."""
    return earlier if isinstance(earlier, Conflict) else SendResult(earlier, replayed=True)


def send_of(accepted: AcceptedSend, send_id: str, now_ms: int) -> Send:
    """Returns the record of a send that is accepted."""
    request = accepted.request
    return Send(
        send_id,
        request.account_id,
        request.sandbox,
        type=request.type,
        sender=accepted.sender,
        encoding=request.encoding,
        segments=request.segments,
        message_count=len(accepted.priced.recipients),
        reference=request.reference,
        credits_required=accepted.priced.credits_required,
        credits_used=accepted.credits_used,
        credits_remaining=accepted.credits_remaining,
        exceptions=SendExceptions(accepted.rejected, accepted.duplicates).stored(),
        created_at_ms=now_ms,
    )


def _send_row(place: int, accepted: AcceptedSend, send: Send) -> SendRow:
    request = accepted.request
    return SendRow(
        place,
        send.id,
        send.account_id,
        sandbox=send.sandbox,
        type=send.type,
        sender=send.sender,
        text=request.text,
        encoding=send.encoding,
        segments=send.segments,
        message_count=send.message_count,
        reference=send.reference,
        expires_at_ms=send.created_at_ms + request.validity_s * 1_000,
        credits_required=send.credits_required,
        credits_used=send.credits_used,
        credits_remaining=send.credits_remaining,
        exceptions=send.exceptions,
        created_at_ms=send.created_at_ms,
        group_id=request.group_id,
    )
