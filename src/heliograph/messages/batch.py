"""One transaction's sends: decided one after the other, on the wallets that it has locked, and laid out as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from heliograph.accounts import AccountClosed, KeyCount, Stored, key_octets, refusal_of
from heliograph.base import ids, metrics
from heliograph.base.errors import Conflict, ServiceError
from heliograph.base.hot import HotTx
from heliograph.messages import accept_sql
from heliograph.messages.answer import Send, exceptions_of
from heliograph.messages.companion import Aboard
from heliograph.messages.fair import Places, rank_ahead
from heliograph.messages.judge import Accepted, AccountFacts, Run, Tariff, WalletState, judge
from heliograph.messages.request import SendRequest
from heliograph.messages.unpaid import Place, Room, unpaid_octets
from heliograph.wallet import Figures, Thresholds, low_balance
from heliograph.webhooks import Event, Listeners, emit, listeners

Key: TypeAlias = tuple[str, bool, str, str]  # of an Idempotency-Key: the account that used it, mode, path, key


class Outcome(NamedTuple):
    """A send that is stored (or, in a dry run, was only judged)."""

    send: Send
    replayed: bool = False


class Batch:
    """One transaction's sends: decided one after the other, then laid out as columns."""

    def __init__(self, places: Places, locked: Sequence[Any], known: dict[Key, tuple[bytes, Send]],
                 stored: dict[str, Send], aboard: Mapping[str, Aboard], rooms: Mapping[Place, Room] = MappingProxyType({})) -> None:
        """`rooms`: of places of which it is known; in others there is room for all."""
        self._first_entry = ids.new_number()  # a run, made under the locks: the ledger lists entries in the order in which they were decided
        self.now_ms = ids.made_at_ms(self._first_entry)
        self.aboard = aboard
        self.accepted: list[Accepted] = []
        self._places = places
        self._known = known
        self._stored = stored
        self._wallets = {row[0]: WalletState(row[1], row[2], row[3]) for row in locked}
        self._key_counts = {row[0]: KeyCount(row[9], row[10], row[11]) for row in locked}
        self._rows = {row[0]: row for row in locked}
        self._rooms = rooms
        self.unpaid: dict[Place, int] = {}  # octets that it stores and nobody pays for
        self._sends: list[Send] = []
        self._entries: list[tuple[Any, ...]] = []

    def decide(self, request: SendRequest, facts: AccountFacts, tariff: Tariff, keys_quota: int | None = None) -> Outcome | ServiceError:
        """Replays a known key, finds what was stored already, or judges. `keys_quota`: of whose Idempotency-Key it is, as in AccountFacts."""
        send_id = ids.raw_of_number(request.number)
        if send_id in self._stored:
            return Outcome(self._stored[send_id])
        key = key_of(request)
        if key is not None and key in self._known:
            return repeated(request, *self._known[key])
        if self._rows[request.account_id][12]:  # the lock's own word: what is remembered of the account may be from before it was closed
            return AccountClosed()
        if key is not None:
            octets = key_octets(request.path, request.idempotency_key)
            full = self._key_counts[request.key_account_id].refusal(octets, keys_quota, self.now_ms, sandbox=request.sandbox)
            if full is not None:
                return full
        wallet = self._wallets[request.account_id]
        before = replace(wallet) if self._rooms else wallet
        companion = self.aboard.get(request.type)
        verdict = judge(request, facts, tariff, wallet, self.now_ms, companion)
        if isinstance(verdict, ServiceError):
            return verdict
        send = send_of(verdict, send_id, self.now_ms)
        if request.dry_run:
            return Outcome(send)
        too_much = self._count_unpaid(request, send, facts)
        if too_much is not None:
            self._wallets[request.account_id] = before
            return too_much
        self.take(verdict, send)
        if verdict.credits_used:
            self.charge(request.account_id, verdict.credits_used, verdict.credits_remaining, send.message_count,
                        ids.text_of_number("snd", request.number))
        if companion is not None:
            companion.accepted(request, self.now_ms)
        if key is not None:
            self._known[key] = (request.body_sha256, send)
            self._key_counts[request.key_account_id].add(octets, self.now_ms, sandbox=request.sandbox)
        return Outcome(send)

    def _count_unpaid(self, request: SendRequest, send: Send, facts: AccountFacts) -> ServiceError | None:
        """Counts what this send stores, or says why it is not stored today."""
        octets = unpaid_octets(request, send)
        if not octets:
            return None
        place = Place(facts.partner_id or request.account_id, request.sandbox)
        taken, room = self.unpaid.get(place, 0), self._rooms.get(place)
        if room is not None:
            full = refusal_of(Stored.SENDS, room.used + taken, octets, room.quota, self.now_ms, of_partner=facts.partner_id is not None)
            if full is not None:
                return full
        self.unpaid[place] = taken + octets
        return None

    def take(self, accepted: Accepted, send: Send) -> None:
        self.accepted.append(accepted)
        self._sends.append(send)

    def charge(self, account_id: str, credits: int, remaining: int, messages: int, reference: str) -> None:
        """One ledger entry. `reference`: the id, in text form, of what was sent."""
        row = self._rows[account_id]
        self._entries.append((ids.raw_of_number(self._first_entry + len(self._entries)), account_id, row[5], -credits, row[4], remaining,
                              f"SMS to {messages} recipient{'s' * (messages > 1)}", reference, self.now_ms))

    def wallet(self, account_id: str) -> WalletState:
        return self._wallets[account_id]

    async def tell(self, tx: HotTx) -> None:
        """Of the accounts whose credits have just become low."""
        low = [account_id for account_id, wallet in self._wallets.items()
               if wallet.charged and not self._stays_armed(account_id) and self._rows[account_id][7]]
        if low and (heard_by := await listeners(tx, low)):
            await emit(tx, heard_by, [self._low_balance(heard_by, account_id) for account_id in low if heard_by.knows(account_id)])

    def _low_balance(self, heard_by: Listeners, account_id: str) -> Event:
        row, credits = self._rows[account_id], self._wallets[account_id].sms_credits
        return low_balance(heard_by, account_id, "credits", Figures(row[4], credits), row[5], Thresholds(row[6], None), self.now_ms)

    def _stays_armed(self, account_id: str) -> bool:
        threshold, is_armed = self._rows[account_id][6:8]
        return bool(is_armed) and (threshold is None or self._wallets[account_id].sms_credits >= threshold)

    def count(self) -> None:
        """What was stored, for /metrics."""
        for send in self._sends:
            metrics.accepted(send.message_count, sandbox=bool(send.sandbox))
        for companion in self.aboard.values():
            companion.stored()

    def columns(self) -> accept_sql.Columns:
        """All accepted sends, laid out for one statement."""
        return accept_sql.Columns(
            sends=_columns([_send_row(a, s) for a, s in zip(self.accepted, self._sends, strict=True)], 17),
            messages=self._message_columns(),
            runs=_columns([(run.carrier_id, self._rank_us(a.request, run), ids.raw_of_number(a.request.number + 1 + run.first), run.messages, place,
                            run.prefix) for place, a in enumerate(self.accepted, 1) for run in a.runs], 6),
            keys=_columns([(a.request.key_account_id, s.sandbox, a.request.path, a.request.idempotency_key, a.request.body_sha256, s.id, self.now_ms)
                           for a, s in zip(self.accepted, self._sends, strict=True) if a.request.idempotency_key is not None], 7),
            entries=_columns(self._entries, 9),
            wallets=_columns([self._wallet_row(account_id) for account_id in sorted(self._wallets)
                              if self._wallets[account_id].charged or self._key_counts[account_id].changed], 8))

    def lay_out(self) -> accept_sql.Columns:
        """The columns of what was accepted since the last time."""
        columns = self.columns()
        self.accepted, self._sends, self._entries = [], [], []
        return columns

    def _rank_us(self, request: SendRequest, run: Run) -> int:
        if request.type == "otp":
            return rank_ahead(self.now_ms)
        return self._places.rank_us(request.account_id, run.carrier_id, run.messages * request.segments, self.now_ms)

    def _message_columns(self) -> tuple[list[Any], ...]:
        columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
        for place, accepted in enumerate(self.accepted, 1):
            first, count = accepted.request.number + 1, len(accepted.recipients)
            columns[0].extend([f"{number:032x}" for number in range(first, first + count)])
            columns[1].extend([place] * count)
            columns[2].extend(accepted.recipients)
            columns[3].extend(accepted.countries)
            columns[4].extend(accepted.carriers)
            columns[5].extend(accepted.credits)
        return columns

    def _wallet_row(self, account_id: str) -> tuple[Any, ...]:
        """Of one that nothing was taken from (in sandbox, or a partner's whose key acts for a customer) credits and alarm stay as they are."""
        wallet, keys = self._wallets[account_id], self._key_counts[account_id]
        credits, armed = (wallet.sms_credits, self._stays_armed(account_id)) if wallet.charged else (None, bool(self._rows[account_id][7]))
        return account_id, credits, wallet.spent_day, wallet.spent_credits, armed, keys.day, keys.live, keys.sandbox


def key_of(request: SendRequest) -> Key | None:
    """What its Idempotency-Key is known by; None without one. A dry run uses none."""
    return None if request.idempotency_key is None or request.dry_run else (
        request.key_account_id, request.sandbox, request.path, request.idempotency_key)


def repeated(request: SendRequest, body_sha256: bytes, send: Send) -> Outcome | Conflict:
    """The answer to a request whose Idempotency-Key was used before, with that body, for that send."""
    return Outcome(send, replayed=True) if body_sha256 == request.body_sha256 else Conflict()


def _columns(rows: list[tuple[Any, ...]], width: int) -> tuple[list[Any], ...]:
    return tuple(map(list, zip(*rows, strict=True))) if rows else tuple([] for _ in range(width))


def send_of(accepted: Accepted, send_id: str, now_ms: int) -> Send:
    request = accepted.request
    return Send(send_id, request.account_id, request.sandbox, request.type, accepted.sender, request.encoding,
                request.segments, len(accepted.recipients), request.reference, accepted.credits_required, accepted.credits_used,
                accepted.credits_remaining, exceptions_of(accepted.rejected, accepted.duplicates), now_ms)


def _send_row(accepted: Accepted, send: Send) -> tuple[Any, ...]:
    request = accepted.request
    return (send.id, send.account_id, send.sandbox, send.type, send.sender, request.text, send.encoding, send.segments, send.message_count,
            send.reference, send.created_at_ms + request.validity_s * 1_000, send.credits_required, send.credits_used, send.credits_remaining,
            send.exceptions, send.created_at_ms, request.group_id)
